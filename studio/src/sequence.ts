// Time and sequence of one flow, as tcptrace draws it: each segment a stroke over what it carries, what was acknowledged a line of
// steps below, retransmissions in another colour. Of many segments that fall into one column of the screen each is drawn once.
import { fit } from "./canvas";
import { Kind, each } from "./events";
import { frame } from "./picture";
import { look } from "./plots";

const MOST = 600_000; // events that are kept, the newest of each flow; flows have equal shares
const WINDOW_S = 2;

/** What a path of a canvas and one of an SVG picture both take. */
interface Pen { moveTo(x: number, y: number): void; lineTo(x: number, y: number): void }
const STROKES = [["sacked", 1], ["ack", 1], ["data", 2], ["lost", 1], ["again", 3]] as const;
type Stroke = (typeof STROKES)[number][0];
interface Box { left: number; right: number; top: number; bottom: number }

class SvgPath implements Pen {
  d = "";
  moveTo(x: number, y: number): void { this.d += `M${x.toFixed(1)} ${y.toFixed(1)}`; }
  lineTo(x: number, y: number): void { this.d += `L${x.toFixed(1)} ${y.toFixed(1)}`; }
}

// As on the page in light colours: pictures stand on white.
const ON_WHITE: Record<Stroke, string> = { data: "#2f6fbd", again: "#d1480c", ack: "#2d8a4e", lost: "#b3261e", sacked: "#8a4fbf" };
const WORDS: Record<Stroke, string> = { data: "data", again: "retransmitted", ack: "acknowledged", sacked: "SACKed", lost: "deemed lost" };

export class Sequence {
  /** The flow that is drawn, by its place in the scenario. */
  flow = 0;
  private eventsOf: number[][] = []; // by flow; four each: time, kind, a, b

  constructor(private readonly canvas: HTMLCanvasElement) {}

  begin(flows: number): void {
    this.eventsOf = Array.from({ length: flows }, () => []);
  }

  private get events(): number[] {
    return this.eventsOf[this.flow] ?? [];
  }

  add(numbers: Float64Array): void {
    for (const { time_s, kind, place, a, b, c } of each(numbers)) {
      if (kind < Kind.Segment) continue;
      this.eventsOf[place]?.push(time_s, kind === Kind.Segment && c === 1 ? -1 : kind, a, b);
    }
    const share = 4 * Math.floor(MOST / Math.max(this.eventsOf.length, 1));
    // Seldom and many at once: each removal moves all that stay.
    for (const events of this.eventsOf) if (events.length > 1.25 * share) events.splice(0, events.length - share);
  }

  draw(now_s: number, window: [number, number] | null, isWatched: boolean): void {
    const { context, width, height } = fit(this.canvas);
    const { ink, grid } = look();
    context.font = "11px system-ui";
    context.fillStyle = ink;
    if (this.events.length === 0) {
      context.textAlign = "left";
      context.fillText(isWatched ? "no segment yet" : "turn on Packets to see segments", 60, height / 2);
      return;
    }
    const [from, to] = shown(now_s, window);
    const first = this.firstAt(from);
    const [low, high] = this.span(first, to);
    const box = { left: 58, right: width - 8, top: 8, bottom: height - 22 };
    const x = (time: number) => box.left + ((time - from) / (to - from)) * (box.right - box.left);
    const y = (offset: number) => box.bottom - ((offset - low) / (high - low)) * (box.bottom - box.top);
    axes(context, box, [from, to], [low, high], ink, grid);
    context.save();
    context.beginPath();
    context.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
    context.clip();
    const paths = this.strokes(() => new Path2D(), first, to, x, y, box);
    const style = getComputedStyle(document.documentElement);
    for (const [name, width] of STROKES) {
      context.strokeStyle = style.getPropertyValue(`--${name}`);
      context.lineWidth = width;
      context.stroke(paths[name]);
    }
    context.restore();
  }

  /** The same as a picture that stands alone, for papers and slides. */
  svg(title: string, now_s: number, window: [number, number] | null): string {
    const range = shown(now_s, window);
    const first = this.firstAt(range[0]);
    const [low, high] = this.span(first, range[1]);
    return frame(title, "sequence number (MB)", range, [low / 1e6, high / 1e6], Object.entries(WORDS).map(([name, word]) => ({ word, color: ON_WHITE[name as Stroke] })), (box, across, up) => {
      const paths = this.strokes(() => new SvgPath(), first, range[1], across, (octets) => up(octets / 1e6), box);
      return STROKES.map(([name, width]) => `<path d="${paths[name].d}" stroke="${ON_WHITE[name]}" stroke-width="${width}"/>`);
    });
  }

  /** A row for each event that is shown: octets from and to, by sequence number. */
  csv(now_s: number, window: [number, number] | null): string {
    const [from, to] = shown(now_s, window);
    const rows = ["time_s,event,from_byte,to_byte"];
    for (let at = this.firstAt(from); at < this.events.length && this.events[at]! <= to; at += 4) {
      const [time, kind, a, b] = this.events.slice(at, at + 4) as [number, number, number, number];
      const stroke = strokeOf(kind);
      const bytes = stroke === "lost" ? "," : stroke === "ack" ? `,${a}` : `${a},${stroke === "sacked" ? b : a + b}`;
      rows.push(`${Number(time.toFixed(9))},${WORDS[stroke]},${bytes}`);
    }
    return rows.join("\r\n") + "\r\n";
  }

  private strokes<P extends Pen>(path: () => P, first: number, to: number, x: (t: number) => number, y: (o: number) => number, box: Box): Record<Stroke, P> {
    const paths = { data: path(), again: path(), ack: path(), sacked: path(), lost: path() };
    let acknowledged: number | null = null;
    for (let at = first; at < this.events.length && this.events[at]! <= to; at += 4) {
      const [time, kind, a, b] = [x(this.events[at]!), this.events[at + 1]!, this.events[at + 2]!, this.events[at + 3]!];
      if (kind === Kind.Segment || kind === -1) {
        const path = kind === -1 ? paths.again : paths.data;
        path.moveTo(time, y(a));
        path.lineTo(time, Math.min(y(a + b), y(a) - 1.5));
      } else if (kind === Kind.Ack) {
        if (acknowledged === null) paths.ack.moveTo(box.left, y(a));
        else paths.ack.lineTo(time, y(acknowledged));
        paths.ack.lineTo(time, y(a));
        acknowledged = a;
      } else if (kind === Kind.Sacked) {
        paths.sacked.moveTo(time, y(a));
        paths.sacked.lineTo(time, Math.min(y(b), y(a) - 1.5));
      } else {
        paths.lost.moveTo(time, box.top);
        paths.lost.lineTo(time, box.top + (kind === Kind.TimedOut ? box.bottom - box.top : 9));
      }
    }
    return paths;
  }

  /** Where the first event at or after a time is. */
  private firstAt(time: number): number {
    let [low, high] = [0, this.events.length / 4];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.events[4 * middle]! < time) low = middle + 1; else high = middle;
    }
    return 4 * low;
  }

  private span(first: number, to: number): [number, number] {
    let [low, high] = [Infinity, -Infinity];
    for (let at = first; at < this.events.length && this.events[at]! <= to; at += 4) {
      const kind = this.events[at + 1]!;
      if (kind > Kind.Ack) continue;
      low = Math.min(low, this.events[at + 2]!);
      high = Math.max(high, this.events[at + 2]! + (kind === Kind.Ack ? 0 : this.events[at + 3]!));
    }
    return low < high ? [low, high] : [0, 1];
  }
}

/** The part of the time that is drawn: the newest, unless one was chosen. */
const shown = (now_s: number, window: [number, number] | null): [number, number] => window ?? [Math.max(0, now_s - WINDOW_S), Math.max(now_s, WINDOW_S)];

function strokeOf(kind: number): Stroke {
  if (kind === -1) return "again";
  return kind === Kind.Segment ? "data" : kind === Kind.Ack ? "ack" : kind === Kind.Sacked ? "sacked" : "lost";
}

function axes(context: CanvasRenderingContext2D, box: Box,
  [from, to]: [number, number], [low, high]: [number, number], ink: string, grid: string): void {
  context.strokeStyle = grid;
  context.fillStyle = ink;
  context.lineWidth = 1;
  for (let tick = 0; tick <= 4; tick++) {
    const across = box.left + (tick / 4) * (box.right - box.left);
    const up = box.bottom - (tick / 4) * (box.bottom - box.top);
    context.beginPath();
    context.moveTo(across, box.top);
    context.lineTo(across, box.bottom);
    context.moveTo(box.left, up);
    context.lineTo(box.right, up);
    context.stroke();
    context.textAlign = tick === 0 ? "left" : tick === 4 ? "right" : "center";
    context.fillText(`${(from + (tick / 4) * (to - from)).toFixed(to - from < 1 ? 3 : 2)} s`, across, box.bottom + 15);
    context.textAlign = "right";
    context.fillText(amount(low + (tick / 4) * (high - low)), box.left - 5, up + 4);
  }
}

const amount = (octets: number): string =>
  octets >= 1e8 ? `${(octets / 1e6).toFixed(0)} MB` : octets >= 1e6 ? `${(octets / 1e6).toFixed(2)} MB` : `${(octets / 1e3).toFixed(0)} kB`;
