// The network as a picture: nodes from left to right by how far they are from where flows begin, packets on the links, queues
// before them, and drops that fall out of them.
import { fit } from "./canvas";
import { Kind, each } from "./events";
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
  private spots: { x: number; y: number }[] = [];
  private wires: OnWire[] = [];
  private drops: Drop[] = [];

  constructor(private readonly canvas: HTMLCanvasElement) {}

  begin(scenario: ScenarioInfo): void {
    this.scenario = scenario;
    this.links = scenario.links;
    this.spots = layout(scenario);
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
    const at = (node: number) => ({ x: 46 + this.spots[node]!.x * (width - 92), y: 24 + this.spots[node]!.y * (height - 58) });
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
    this.drawNodes(context, at, ink);
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

  private drawNodes(context: CanvasRenderingContext2D, at: (node: number) => Point, ink: string): void {
    const { nodes, flows } = this.scenario!;
    context.font = "11px system-ui";
    context.textAlign = "center";
    const areFew = nodes.length <= 16;
    nodes.forEach((name, index) => {
      const { x, y } = at(index);
      const flow = flows.findIndex((flow) => flow.from === index || flow.to === index);
      context.fillStyle = flow >= 0 ? colorOf(flow) : ink;
      dot(context, x, y, areFew ? 6 : 3);
      context.fillStyle = ink;
      if (areFew) context.fillText(name.length > 14 ? name.slice(0, 13) + "…" : name, x, y + 19);
    });
  }
}

interface Point { x: number; y: number }

/** Two directions of a cable lie beside each other. */
function besides(from: Point, to: Point): { from: Point; to: Point } {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const [x, y] = [(-(to.y - from.y) / length) * 3.5, ((to.x - from.x) / length) * 3.5];
  return { from: { x: from.x - x, y: from.y - y }, to: { x: to.x - x, y: to.y - y } };
}

/** How far a node is from where flows begin says its place from left to right. */
function layout({ nodes, links, flows }: ScenarioInfo): Point[] {
  const far: number[] = nodes.map(() => -1);
  let front = [...new Set(flows.map((flow) => flow.from))];
  if (front.length === 0 && nodes.length > 0) front = [0];
  front.forEach((node) => { far[node] = 0; });
  for (let distance = 1; front.length > 0; distance++) {
    const next = links.filter((link) => front.includes(link.from) && far[link.to]! < 0).map((link) => link.to);
    next.forEach((node) => { far[node] = distance; });
    front = [...new Set(next)];
  }
  const most = Math.max(1, ...far);
  return nodes.map((_, node) => {
    const beside = nodes.map((_, other) => other).filter((other) => far[other] === far[node]);
    return { x: Math.max(far[node]!, 0) / most, y: (beside.indexOf(node) + 0.5) / beside.length };
  });
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
