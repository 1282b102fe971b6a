// The network as a picture: nodes (layout.ts), packets on the links, queues before them, and drops that fall out of them.
import { fit } from "./canvas";
import { Kind, each } from "./events";
import { type Point, layout, onCanvas } from "./layout";
import { packetsOfLimit } from "./links";
import type { LinkInfo, ScenarioInfo } from "./messages";
import { colorOf, look } from "./plots";
import type { Series } from "./series";

interface OnWire { link: number; from_s: number; to_s: number; flow: number; isData: boolean }
interface Drop { link: number; flow: number; wall_ms: number; isLoss: boolean }

const MOST_ON_WIRES = 6000; // more cannot be told apart
const FALL_MS = 700;

export class Network {
  private scenario: ScenarioInfo | null = null;
  private links: LinkInfo[] = [];
  private spots: Point[] = [];
  private moved: Map<string, Point> = new Map();
  private wires: OnWire[] = [];
  private drops: Drop[] = [];

  constructor(private readonly canvas: HTMLCanvasElement) {}

  begin(scenario: ScenarioInfo): void {
    this.scenario = scenario;
    this.links = scenario.links;
    this.place(this.moved);
    this.forget();
  }

  /** Nodes stand where a person put them, and else where the layout does. */
  place(moved: Map<string, Point>): void {
    this.moved = moved;
    if (!this.scenario) return;
    const places = layout(this.scenario);
    this.spots = this.scenario.nodes.map((name, index) => moved.get(name) ?? places[index]!);
  }

  /** No scenario is shown. */
  clear(): void {
    this.scenario = null;
    this.forget();
  }

  /** Links as they are now; packets that are under way stay where they are. */
  follow(links: LinkInfo[]): void {
    this.links = links;
  }

  forget(): void {
    this.wires = [];
    this.drops = [];
  }

  add(numbers: Float64Array, now_s: number): void {
    const { links } = this;
    for (const { time_s, kind, place, a, b, c } of each(numbers)) {
      const link = links[place];
      if (!link) continue;
      if (kind === Kind.Sent) {
        const to_s = time_s + (Math.abs(b) * 8) / Math.max(link.rate_bps, 1) + link.delay_s;
        if (to_s > now_s) this.wires.push({ link: place, from_s: time_s, to_s, flow: a, isData: b > 0 });
      } else if (kind === Kind.Dropped) {
        this.drops.push({ link: place, flow: a, wall_ms: performance.now(), isLoss: c === 2 });
      }
    }
    this.wires = this.wires.filter((packet) => packet.to_s > now_s).slice(-MOST_ON_WIRES);
    this.drops = this.drops.slice(-200);
  }

  draw(now_s: number, series: Series): void {
    const { context, width, height } = fit(this.canvas);
    if (!this.scenario) return;
    const { ink } = look();
    const at = (node: number) => onCanvas(this.spots[node]!, width, height);
    const ends = this.links.map(({ from, to }) => besides(at(from), at(to)));
    context.lineWidth = 1;
    context.strokeStyle = context.fillStyle = ink;
    for (const { from, to } of ends) line(context, from, to);
    this.drawQueues(context, ends, series);
    for (const { link, from_s, to_s, flow, isData } of this.wires) {
      if (from_s > now_s || to_s <= now_s) continue;
      const { from, to } = ends[link]!;
      const part = (now_s - from_s) / (to_s - from_s);
      context.fillStyle = colorOf(flow);
      dot(context, from.x + part * (to.x - from.x), from.y + part * (to.y - from.y), isData ? 3.2 : 1.6);
    }
    this.drawDrops(context, ends);
    this.drawNodes(context, at, ink, width);
  }

  private drawQueues(context: CanvasRenderingContext2D, ends: { from: Point; to: Point }[], series: Series): void {
    this.links.forEach((link, index) => {
      const waiting = series.links[index]?.[0] ?? 0;
      if (waiting === 0) return;
      const full = packetsOfLimit(link.limit) ?? 100;
      const { from, to } = ends[index]!;
      const isUp = to.x >= from.x;
      const length = Math.min(waiting / Math.max(full, 1), 1) * 46;
      context.fillStyle = colorOf(index % 2);
      context.globalAlpha = 0.75;
      context.fillRect(from.x + (isUp ? 8 : -20), from.y + (isUp ? -8 - length : 8), 12, length);
      context.globalAlpha = 1;
      context.fillStyle = look().ink;
      context.font = "11px system-ui";
      context.textAlign = "left";
      context.fillText(String(Math.round(waiting)), from.x + (isUp ? 23 : -5), from.y + (isUp ? -10 : 20));
    });
  }

  private drawDrops(context: CanvasRenderingContext2D, ends: { from: Point; to: Point }[]): void {
    const wall_ms = performance.now();
    this.drops = this.drops.filter((drop) => wall_ms - drop.wall_ms < FALL_MS);
    for (const { link, flow, wall_ms: since, isLoss } of this.drops) {
      const { from, to } = ends[link]!;
      const part = (wall_ms - since) / FALL_MS;
      const along = isLoss ? 0.5 : 0.03;
      context.globalAlpha = 1 - part;
      context.strokeStyle = colorOf(flow);
      context.lineWidth = 2;
      cross(context, from.x + along * (to.x - from.x), from.y + along * (to.y - from.y) + 60 * part, 4);
    }
    context.globalAlpha = 1;
  }

  private drawNodes(context: CanvasRenderingContext2D, at: (node: number) => Point, ink: string, width: number): void {
    const { nodes, flows } = this.scenario!;
    context.font = "11px system-ui";
    context.textAlign = "center";
    context.lineJoin = "round";
    const areFew = nodes.length <= 24;
    nodes.forEach((name, index) => {
      const { x, y } = at(index);
      const flow = flows.findIndex((flow) => flow.from === index || flow.to === index);
      context.fillStyle = flow >= 0 ? colorOf(flow) : ink;
      dot(context, x, y, areFew ? 6 : 3);
      if (!areFew) return;
      // Under the node, unless a link leaves it that way.
      const isUnder = !this.links.some(({ from, to }) => from === index && at(to).y > y + 1 && Math.abs(at(to).x - x) < at(to).y - y);
      const short = fitted(context, name, width / Math.min(nodes.length, 6));
      const place: [number, number] = [Math.min(Math.max(x, 4 + context.measureText(short).width / 2), width - 4 - context.measureText(short).width / 2), isUnder ? y + 19 : y - 11];
      context.fillStyle = ink;
      context.strokeStyle = look().panel;
      context.lineWidth = 3;
      context.strokeText(short, ...place);
      context.fillText(short, ...place);
    });
  }
}

/** A name that is no wider than this. */
function fitted(context: CanvasRenderingContext2D, name: string, width: number): string {
  let short = name;
  while (short.length > 4 && context.measureText(short).width > width) short = `${short.replace("…", "").slice(0, -1)}…`;
  return short;
}

/** Two directions of a cable lie beside each other. */
function besides(from: Point, to: Point): { from: Point; to: Point } {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const [x, y] = [(-(to.y - from.y) / length) * 3.5, ((to.x - from.x) / length) * 3.5];
  return { from: { x: from.x - x, y: from.y - y }, to: { x: to.x - x, y: to.y - y } };
}

function line(context: CanvasRenderingContext2D, from: Point, to: Point): void {
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.lineTo(to.x, to.y);
  context.stroke();
}

function dot(context: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function cross(context: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  line(context, { x: x - size, y: y - size }, { x: x + size, y: y + size });
  line(context, { x: x - size, y: y + size }, { x: x + size, y: y - size });
}
