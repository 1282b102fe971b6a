// The form: flows with their controllers, the kind of queue, the stack, duration and seed.
import { type FormFlow, type Path, seedOf } from "./path";
import { colorOf } from "./plots";

const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
/** Those that need a file or a program beside the scenario. */
const NOT_HERE = new Set(["policy", "python", "external"]);

export class Form {
  private path: Path | null = null;
  controllers: string[] = [];
  queues: string[] = [];

  /** `changed` takes what was changed; `refused` is told why a value was not taken. */
  constructor(private readonly changed: (path: Path) => void, private readonly refused: (why: string) => void) {
    const change = (id: string, take: (path: Path, value: string) => Path) => element<HTMLInputElement>(id).addEventListener("change", (event) => {
      const control = event.target as HTMLInputElement;
      if (this.path && this.isTaken(control, control.closest("label")!.firstChild!.textContent!.trim())) this.changed(take(this.path, control.value));
    });
    change("queueKind", (path, queue) => ({ ...path, queue }));
    change("profile", (path, profile) => ({ ...path, profile }));
    change("duration", (path, value) => ({ ...path, duration_s: Number(value) }));
    change("seed", (path, value) => ({ ...path, seed: seedOf(value) }));
    element("addFlow").addEventListener("click", () => {
      if (this.path) this.changeFlows([...this.path.flows, { controller: "cubic", count: 1, start_s: 0 }]);
    });
  }

  begin(catalogue: any): void {
    const names = (list: any[]): string[] => list.map((entry) => entry.name);
    this.controllers = names(catalogue.controllers).filter((name) => !NOT_HERE.has(name));
    const hasLimit = (queue: any) => queue.parameters?.some((parameter: any) => parameter.name === "limit");
    this.queues = names(catalogue.queues.filter(hasLimit));
    fill(element("queueKind"), this.queues);
    fill(element("profile"), names(catalogue.profiles));
  }

  /** What the text says; nothing where it says more than a form can. */
  show(path: Path | null): void {
    this.path = path;
    element("formNote").hidden = path !== null;
    for (const control of element("form").querySelectorAll<HTMLInputElement>("input, select, button")) control.disabled = path === null;
    if (!path) return this.clear();
    choose(element("queueKind"), path.queue);
    choose(element("profile"), path.profile);
    showNumber(element<HTMLInputElement>("duration"), path.duration_s);
    const seed = element<HTMLInputElement>("seed");
    seed.value = seed.defaultValue = String(path.seed);
    const heads = document.createElement("div");
    heads.className = "flow heads";
    heads.append(...["", "controller", "count", "start, s", ""].map((word) => Object.assign(document.createElement("span"), { textContent: word })));
    element("flows").replaceChildren(heads, ...path.flows.map((flow, index) => this.row(flow, index)));
  }

  /** Values of a scenario that was shown before are none of this one. */
  private clear(): void {
    for (const id of ["queueKind", "profile"]) element<HTMLSelectElement>(id).selectedIndex = -1;
    for (const id of ["duration", "seed"]) element<HTMLInputElement>(id).value = "";
    element("flows").replaceChildren();
  }

  private changeFlows(flows: FormFlow[]): void {
    this.changed({ ...this.path!, flows });
  }

  /** Whether a value can be written; what was there before is shown again where it cannot. */
  private isTaken(control: HTMLInputElement, label: string): boolean {
    const why = control.type === "number" ? refusal(label, control) : null;
    if (why === null) return true;
    control.value = control.defaultValue;
    this.refused(why);
    return false;
  }

  private row(flow: FormFlow, index: number): HTMLElement {
    const row = document.createElement("div");
    row.className = "flow";
    const mark = document.createElement("i");
    mark.style.background = colorOf(index);
    const controller = document.createElement("select");
    controller.setAttribute("aria-label", `Controller of flow ${index + 1}`);
    fill(controller, this.controllers.includes(flow.controller) ? this.controllers : [...this.controllers, flow.controller]);
    controller.value = flow.controller;
    const change = (part: Partial<FormFlow>) => this.changeFlows(this.path!.flows.map((old, at) => (at === index ? { ...old, ...part } : old)));
    controller.addEventListener("change", () => change({ controller: controller.value }));
    const number = (label: string, value: number | null, step: string, take: (value: number) => Partial<FormFlow>) => {
      const input = Object.assign(document.createElement("input"), { type: "number", min: step === "1" ? "1" : "0", step });
      showNumber(input, value);
      input.setAttribute("aria-label", `${label} of flow ${index + 1}`);
      input.addEventListener("change", () => { if (this.isTaken(input, `${label} of flow ${index + 1}`)) change(take(Number(input.value))); });
      return input;
    };
    const remove = Object.assign(document.createElement("button"), { textContent: "×", title: "Take this flow away" });
    remove.setAttribute("aria-label", `Take flow ${index + 1} away`);
    remove.disabled = this.path!.flows.length === 1;
    remove.addEventListener("click", () => this.changeFlows(this.path!.flows.filter((_, at) => at !== index)));
    row.append(mark, controller, number("Count", flow.count, "1", (count) => ({ count })), number("Start", flow.start_s, "any", (start_s) => ({ start_s })), remove);
    return row;
  }
}

const LEAST = 1e-6; // what is less is written with an exponent

/** Why a number cannot be written into the text; null where it can. A field of numbers has no value where it holds anything else. */
export function refusal(label: string, { value, min, step }: { value: string; min: string; step: string }): string | null {
  const number = Number(value);
  const isWhole = step === "1";
  const isRight = value.trim() !== "" && number >= Number(min) && (isWhole ? /^\d+$/.test(value.trim()) : number === 0 || (number >= LEAST && number < 1e9));
  return isRight ? null : `${label}: must be a ${isWhole ? "whole number" : "number"} of at least ${min}${isWhole ? "" : " and less than 1000000000"}; the value before is back.`;
}

/** A value that is not on the list is one of the text's, and is added. */
function choose(select: HTMLSelectElement, value: string): void {
  if (![...select.options].some((option) => option.value === value)) select.append(new Option(value, value));
  select.value = value;
}

/** A number, or that the text says it in a way of its own. */
function showNumber(input: HTMLInputElement, value: number | null): void {
  input.value = input.defaultValue = value === null ? "" : String(value);
  input.disabled = value === null;
  input.title = value === null ? "Written in the text, in a way that the form does not have" : "";
}

function fill(of: HTMLSelectElement, values: string[]): void {
  of.replaceChildren(...values.map((value) => new Option(value, value)));
}
