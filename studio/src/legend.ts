// The legend of all plots: a colour for each flow, a stroke for each run that is kept.
import type { KeptRun } from "./comparison";
import { colorOf } from "./plots";

export class Legend {
  constructor(private readonly place: HTMLElement, private readonly renamed: () => void, private readonly removed: (run: KeptRun) => void) {}

  show(flows: { name: string; controller: string }[], kept: KeptRun[]): void {
    const ofFlows = flows.map(({ name, controller }, index) => {
      const item = document.createElement("span");
      item.append(colored(index), name);
      if (controller && !name.includes(controller)) item.append(Object.assign(document.createElement("small"), { textContent: controller }));
      return item;
    });
    const ofRuns = kept.length === 0 ? [] : [this.now(), ...kept.map((run) => this.run(run, flows))];
    this.place.replaceChildren(...ofFlows, ...ofRuns);
    this.place.hidden = ofFlows.length + ofRuns.length === 0;
  }

  private now(): HTMLElement {
    const item = document.createElement("span");
    item.className = "kept";
    item.append(stroke([]), "this run");
    return item;
  }

  /** A kept run, with those of its flows that are called otherwise in this run, or are not in it. */
  private run(run: KeptRun, flows: { name: string }[]): HTMLElement {
    const item = document.createElement("span");
    item.className = "kept";
    const name = Object.assign(document.createElement("input"), { value: run.name, maxLength: 60, size: Math.min(Math.max(run.name.length, 8), 26) });
    name.setAttribute("aria-label", "Name of this kept run");
    name.addEventListener("change", () => { run.name = name.value.trim() || run.name; name.value = run.name; this.renamed(); });
    const remove = Object.assign(document.createElement("button"), { textContent: "×", title: "Remove this kept run" });
    remove.setAttribute("aria-label", `Remove the kept run ${run.name}`);
    remove.addEventListener("click", () => {
      const removers = (): HTMLElement[] => [...this.place.querySelectorAll<HTMLElement>("button")];
      const at = removers().indexOf(remove);
      this.removed(run);
      (removers()[at] ?? removers().at(-1) ?? document.getElementById("keep"))?.focus();
    });
    const others = run.flows.flatMap((flow, index) => {
      if (flow.name === flows[index]?.name) return [];
      const other = document.createElement("span");
      other.append(colored(index), Object.assign(document.createElement("small"), { textContent: flow.name }));
      return [other];
    });
    item.append(stroke(run.dash), name, remove, ...others.slice(0, MOST_OTHERS));
    return item;
  }
}

const MOST_OTHERS = 8;

function colored(index: number): HTMLElement {
  const mark = document.createElement("i");
  mark.style.background = colorOf(index);
  return mark;
}

function stroke(dash: number[]): SVGElement {
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("viewBox", "0 0 30 8");
  picture.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", "M0 4H30");
  line.setAttribute("stroke-dasharray", dash.join(" "));
  picture.append(line);
  return picture;
}
