// Four sliders of one link: its rate, the round trip over it, its loss, and how much may wait before it.
import { narrowest, packetsOfLimit } from "./links";
import type { Change, FlowInfo, LinkInfo } from "./messages";
import { delayText, rateText, timeText, type Path } from "./path";

export type Knob = "rate" | "rtt" | "loss" | "limit";

interface Scale { from: number; to: number; hasZero?: boolean; text: (value: number) => string }

// Logarithmic, as what matters of each is how many times more.
const SCALES: Record<Knob, Scale> = {
  rate: { from: 0.1, to: 1000, text: rateText },
  rtt: { from: 1, to: 1000, text: timeText },
  loss: { from: 0.001, to: 20, hasZero: true, text: (percent) => (percent === 0 ? "none" : `${Number(percent.toPrecision(4))} %`) },
  limit: { from: 2, to: 5000, text: (packets) => `${Math.round(packets)} packets` },
};
const STEPS = 1000;

const rounded = (value: number): number => Number(value.toPrecision(value >= 100 ? 3 : 2));

function valueAt(scale: Scale, position: number): number {
  if (scale.hasZero && position === 0) return 0;
  return rounded(scale.from * (scale.to / scale.from) ** (position / STEPS));
}

function positionOf(scale: Scale, value: number): number {
  if (value <= 0) return 0;
  return Math.min(Math.max(Math.round((STEPS * Math.log(value / scale.from)) / Math.log(scale.to / scale.from)), scale.hasZero ? 1 : 0), STEPS);
}

const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

/** The name that a dumbbell's link of the form has. */
const FORMED = "bottleneck";

export class Knobs {
  /** The link that they are of. */
  link = 0;
  onLink: () => void = () => {};
  private values: Record<Knob, number> = { rate: 20, rtt: 40, loss: 0, limit: 67 };
  private links: LinkInfo[] = [];
  /** One that is being dragged is where it is. */
  private held: Knob | null = null;

  private isPointed = false;

  /** `changed` says whether a change was taken; `path` is what it is of the form, or nothing where the form has another link.
   * `released` says that a finger or mouse let go; of keys there is no end but that no more come. */
  constructor(private readonly changed: (knob: Knob, path: Partial<Path> | null) => boolean, released: () => void) {
    for (const knob of Object.keys(SCALES) as Knob[]) {
      element(knob).addEventListener("input", () => this.dragTo(knob, Number(element<HTMLInputElement>(knob).value)));
      element(knob).addEventListener("pointerdown", () => { this.isPointed = true; });
      element(knob).addEventListener("change", () => {
        this.held = null;
        if (this.isPointed) released();
        this.isPointed = false;
      });
    }
    element("link").addEventListener("change", () => {
      this.link = element<HTMLSelectElement>("link").selectedIndex;
      this.show();
      this.onLink();
    });
  }

  private dragTo(knob: Knob, position: number): void {
    this.held = knob;
    this.values[knob] = valueAt(SCALES[knob], position);
    this.write(knob);
    const { rate, rtt, loss, limit } = this.values;
    const path = { rate: { rate_mbps: rate }, rtt: { rtt_ms: rtt }, loss: { loss_percent: loss }, limit: { limit_packets: Math.round(limit) } }[knob];
    const isTaken = this.changed(knob, this.links[this.link]?.name === FORMED ? path : null);
    element("liveNote").textContent = isTaken
      ? "Drag while it runs: each drag becomes a change in the scenario."
      : "While it does not run, change this in the scenario's text.";
  }

  /** A scenario was loaded: the slowest link that carries data is chosen, unless another of this name was before. */
  begin(links: LinkInfo[], flows: FlowInfo[]): void {
    const chosen = element<HTMLSelectElement>("link").value;
    const names = links.map((link) => link.name);
    this.link = names.includes(chosen) ? names.indexOf(chosen) : narrowest(links, flows);
    this.links = links;
    element("link").replaceChildren(...names.map((name, index) => new Option(name, name, false, index === this.link)));
    this.show();
  }

  /** No link is shown. */
  clear(): void {
    this.links = [];
    element("link").replaceChildren();
    for (const knob of Object.keys(SCALES) as Knob[]) document.querySelector(`output[for=${knob}]`)!.textContent = "";
  }

  /** Links as they are now: a change that the text has moves the sliders. */
  follow(links: LinkInfo[]): void {
    const isSame = JSON.stringify(links) === JSON.stringify(this.links);
    this.links = links;
    if (!isSame) this.show();
  }

  private show(): void {
    const link = this.links[this.link];
    if (!link) return;
    const packets = packetsOfLimit(link.limit);
    const now = { rate: link.rate_bps / 1e6, rtt: this.roundTrip(), loss: 100 * (link.loss ?? 0), limit: packets ?? SCALES.limit.to };
    const isPackets = /^\d+ packets?$/.test(link.limit ?? "");
    const told: Partial<Record<Knob, string>> = {
      ...(link.loss === null ? { loss: "as written" } : {}), ...(isPackets ? {} : { limit: link.limit ?? "no limit" }),
    };
    for (const knob of Object.keys(SCALES) as Knob[]) {
      if (knob === this.held) continue;
      this.values[knob] = now[knob];
      element<HTMLInputElement>(knob).value = String(positionOf(SCALES[knob], now[knob]));
      this.write(knob, told[knob]);
    }
  }

  /** Of the links at both ends, of the first flow over them; of a dumbbell that is every flow's that has no `rtt` of its own. */
  private access_ms(): number {
    const link = this.links[this.link]!;
    return 1e3 * (this.links.find((other) => other.from !== link.to && other.to === link.from)?.delay_s ?? 0);
  }

  private roundTrip(): number {
    return 2e3 * this.links[this.link]!.delay_s + 4 * this.access_ms();
  }

  private write(knob: Knob, told?: string): void {
    document.querySelector(`output[for=${knob}]`)!.textContent = told ?? SCALES[knob].text(this.values[knob]);
  }

  /** What a slider asks of the links while it runs: a round trip is one of both directions. */
  changes(knob: Knob): Change[] {
    const link = this.links[this.link]!;
    switch (knob) {
      case "rate": return [{ link: link.name, rate: rateText(this.values.rate) }];
      case "loss": return [{ link: link.name, loss: Number((this.values.loss / 100).toPrecision(3)) }];
      case "limit": return [{ link: link.name, limit: `${Math.round(this.values.limit)} packets` }];
      case "rtt": {
        const others = this.links.filter((other) => other.from === link.to && other.to === link.from);
        return [link, ...others].map(({ name }) => ({ link: name, delay: delayText(this.values.rtt, this.access_ms()) }));
      }
    }
  }
}
