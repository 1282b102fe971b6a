// Four sliders of one link: its rate, the round trip over it, its loss, and how much may wait before it.
import type { Change, ScenarioInfo } from "./messages";
import { delayText, rateText, timeText, type Path } from "./path";

export type Knob = "rate" | "rtt" | "loss" | "limit";

interface Scale { from: number; to: number; hasZero?: boolean; text: (value: number) => string }

// Logarithmic, as what matters of each is how many times more.
const SCALES: Record<Knob, Scale> = {
  rate: { from: 0.1, to: 1000, text: rateText },
  rtt: { from: 1, to: 1000, text: timeText },
  loss: { from: 0.001, to: 20, hasZero: true, text: (percent) => (percent === 0 ? "none" : `${percent} %`) },
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

export class Knobs {
  /** The link that they are of. */
  link = 0;
  onLink: (link: number) => void = () => {};
  private values: Record<Knob, number> = { rate: 20, rtt: 40, loss: 0, limit: 67 };
  private scenario: ScenarioInfo | null = null;

  /** `changed` says whether a change was taken; it is told of the form's part of it, too. */
  constructor(private readonly changed: (knob: Knob, path: Partial<Path>) => boolean) {
    for (const knob of Object.keys(SCALES) as Knob[]) {
      element(knob).addEventListener("input", () => {
        this.values[knob] = valueAt(SCALES[knob], Number(element<HTMLInputElement>(knob).value));
        this.write(knob);
        const { rate, rtt, loss, limit } = this.values;
        const isTaken = this.changed(knob, { rate_mbps: rate, rtt_ms: rtt, loss_percent: loss, limit_packets: Math.round(limit) });
        element("liveNote").textContent = isTaken
          ? "Drag while it runs: each change becomes a part of the scenario."
          : "Before it runs, change this scenario in its text.";
      });
    }
    element("link").addEventListener("change", () => {
      this.link = element<HTMLSelectElement>("link").selectedIndex;
      this.ofLink();
      this.onLink(this.link);
    });
  }

  /** A scenario was loaded: the slowest link is chosen, unless another of this name was before. */
  begin(scenario: ScenarioInfo, path: Path | null): void {
    const chosen = element<HTMLSelectElement>("link").value;
    this.scenario = scenario;
    const names = scenario.links.map((link) => link.name);
    const slowest = scenario.links.reduce((least, link, index) => (link.rate_bps < scenario.links[least]!.rate_bps ? index : least), 0);
    this.link = names.includes(chosen) ? names.indexOf(chosen) : slowest;
    element("link").replaceChildren(...names.map((name, index) => new Option(name, name, false, index === this.link)));
    this.ofLink();
    if (path && this.link === slowest) {
      this.values.loss = path.loss_percent;
      this.write("loss", true);
    }
  }

  private ofLink(): void {
    const link = this.scenario?.links[this.link];
    if (!link) return;
    const limit = /^(\d+) packets/.exec(link.limit ?? "");
    this.values = { rate: link.rate_bps / 1e6, rtt: this.roundTrip(), loss: 0, limit: limit ? Number(limit[1]) : this.values.limit };
    for (const knob of Object.keys(SCALES) as Knob[]) this.write(knob, true);
  }

  /** Of the first flow over an empty path of as many links as it takes; of a dumbbell that is every flow's. */
  private roundTrip(): number {
    const { links } = this.scenario!;
    const link = links[this.link]!;
    const access = links.filter((other, index) => index !== this.link && other.from !== link.to && other.to === link.from)[0]?.delay_s ?? 0;
    return 1e3 * (2 * link.delay_s + 4 * access);
  }

  private write(knob: Knob, moves = false): void {
    const value = this.values[knob];
    // One that is being dragged is where it is.
    if (moves && document.activeElement !== element(knob)) element<HTMLInputElement>(knob).value = String(positionOf(SCALES[knob], value));
    document.querySelector(`output[for=${knob}]`)!.textContent = SCALES[knob].text(value);
  }

  /** What a slider asks of the links while it runs: a round trip is one of both directions. */
  changes(knob: Knob, scenario: ScenarioInfo): Change[] {
    const link = scenario.links[this.link]!;
    switch (knob) {
      case "rate": return [{ link: link.name, rate: rateText(this.values.rate) }];
      case "loss": return [{ link: link.name, loss: this.values.loss / 100 }];
      case "limit": return [{ link: link.name, limit: `${Math.round(this.values.limit)} packets` }];
      case "rtt": {
        const others = scenario.links.filter((other) => other.from === link.to && other.to === link.from);
        return [link, ...others].map(({ name }) => ({ link: name, delay: delayText(this.values.rtt) }));
      }
    }
  }
}
