// The network, drawn with a mouse, a finger or keys: nodes are moved and joined, links and flows are set. What is drawn is the text of
// the scenario (topology.ts); where nodes stand is known to this page alone.
import { type Point, fromCanvas, layout, onCanvas } from "./layout";
import { colorOf } from "./plots";
import { type Drawn, STARTS, addFlow, addLink, addNode, drawn, editFlow, editLink, removeFlow, removeLink, removeNode } from "./topology";

type Chosen = { kind: "node"; name: string } | { kind: "link" | "flow"; at: number } | null;
/** What the next node that is chosen becomes the other end of. */
type Joining = { kind: "link" | "flow"; from: string | null } | null;

const SVG = "http://www.w3.org/2000/svg";
const KEY_STEP = 0.03; // of the picture, for one press of an arrow key

export interface Surroundings {
  text: () => string;
  write: (text: string) => void;
  begin: (text: string) => void;
  notice: (message: string) => void;
  moved: () => void;
}

function make<T extends Element = SVGElement>(name: string, attributes: Record<string, string | number>, ...children: (Node | string)[]): T {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made as unknown as T;
}

export class Editor {
  /** Where nodes stand that were moved or drawn here, by name. */
  readonly places = new Map<string, Point>();
  isOpen = false;
  private chosen: Chosen = null;
  private joining: Joining = null;
  private network: Drawn | null = null;
  private controllers: string[] = [];
  private queues: string[] = [];
  private readonly board: SVGSVGElement;
  private readonly bar: HTMLElement;
  private readonly properties: HTMLElement;

  constructor(private readonly place: HTMLElement, private readonly around: Surroundings) {
    this.board = make<SVGSVGElement>("svg", { id: "board", role: "group", "aria-label": "The network: nodes and links" });
    this.bar = Object.assign(document.createElement("div"), { className: "bar" });
    this.properties = Object.assign(document.createElement("div"), { className: "bar", id: "properties" });
    place.append(this.bar, this.board, this.properties);
    place.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => { if (this.isOpen) this.draw(); }).observe(this.board);
  }

  begin(controllers: string[], queues: string[]): void {
    [this.controllers, this.queues] = [controllers, queues];
  }

  open(isOpen: boolean): void {
    [this.isOpen, this.chosen, this.joining] = [isOpen, null, null];
    this.place.hidden = !isOpen;
    this.show();
  }

  /** The text is another one now. */
  show(): void {
    if (!this.isOpen) return;
    this.network = drawn(this.around.text());
    this.settle();
    const { chosen, network } = this;
    const isThere = chosen && network && (chosen.kind === "node" ? network.nodes.some(({ name }) => name === chosen.name)
      : chosen.at < (chosen.kind === "link" ? network.links : network.flows).length);
    if (!isThere) this.chosen = null;
    const from = this.joining?.from ?? null;
    if (from !== null && !network?.nodes.some(({ name }) => name === from)) this.joining = null;
    this.draw();
  }

  /** Every node has a place, and one that is new stands where there is room. */
  private settle(): void {
    const { nodes = [], links = [], flows = [] } = this.network ?? {};
    const numberOf = new Map(nodes.map(({ name }, index) => [name, index]));
    const numbered = (ends: { from: string | null; to: string | null }[]) => ends.flatMap(({ from, to }) => {
      const [a, b] = [numberOf.get(from ?? ""), numberOf.get(to ?? "")];
      return a === undefined || b === undefined ? [] : [{ from: a, to: b }];
    });
    const areNew = nodes.filter(({ name }) => !this.places.has(name));
    if (areNew.length === nodes.length) {
      layout({ nodes, links: numbered(links), flows: numbered(flows) }).forEach((place, index) => this.places.set(nodes[index]!.name, place));
      return;
    }
    for (const { name } of areNew) {
      const taken = nodes.flatMap((node) => this.places.get(node.name) ?? []);
      const free = Array.from({ length: 99 }, (_, index): Point => ({ x: 0.05 + 0.09 * (index % 11), y: 0.05 + 0.11 * Math.floor(index / 11) }));
      const room = ({ x, y }: Point) => Math.min(...taken.map((other) => Math.hypot(2 * (other.x - x), other.y - y)));
      this.places.set(name, free.reduce((best, one) => (room(one) > room(best) ? one : best)));
    }
  }

  // ---- edits --------------------------------------------------------------------------------------------------------

  private write(after: string | null): boolean {
    if (after === null) this.around.notice("The text is written so that this cannot be drawn into it: change it there.");
    else this.around.write(after);
    return after !== null;
  }

  private choose(chosen: Chosen): void {
    this.chosen = chosen;
    this.draw();
  }

  private chooseNode(name: string): void {
    const { joining } = this;
    if (!joining) return this.choose({ kind: "node", name });
    if (joining.from === null || joining.from === name) {
      this.joining = { ...joining, from: name };
      return this.draw();
    }
    this.join(joining.kind, joining.from, name);
  }

  private join(kind: "link" | "flow", from: string, to: string): void {
    this.joining = null;
    const { links, flows } = this.network!;
    const isThere = kind === "link" && links.some((link) => (link.from === from && link.to === to) || (link.from === to && link.to === from));
    if (isThere) {
      this.around.notice(`${from} and ${to} are linked: choose their link to change it.`);
      return this.draw();
    }
    this.chosen = { kind, at: (kind === "link" ? links : flows).length };
    if (!this.write((kind === "link" ? addLink : addFlow)(this.around.text(), from, to))) this.choose(null);
  }

  private startJoining(kind: "link" | "flow"): void {
    const isSame = this.joining?.kind === kind;
    this.chosen = null;
    this.joining = isSame ? null : { kind, from: null };
    this.draw();
  }

  private remove(): void {
    const { chosen } = this;
    if (!chosen) return;
    const text = this.around.text();
    const { nodes, links, flows } = this.network!;
    const at = chosen.kind === "node" ? nodes.findIndex(({ name }) => name === chosen.name) : chosen.at;
    const left = { node: nodes, link: links, flow: flows }[chosen.kind].length - 1;
    [this.chosen, this.joining] = [null, null];
    if (chosen.kind === "node") this.places.delete(chosen.name);
    const isDone = this.write(chosen.kind === "node" ? removeNode(text, chosen.name) : chosen.kind === "link" ? removeLink(text, chosen.at) : removeFlow(text, chosen.at));
    if (!isDone) this.draw();
    // The focus goes to the next of its kind, and where there is none to the bar.
    const all = { node: "#board [data-node]", link: "#board [data-link]", flow: "#properties .chip" }[chosen.kind];
    const next = this.place.querySelectorAll<HTMLElement>(all)[Math.min(at, left - 1)];
    (next ?? this.bar.querySelector<HTMLElement>("#addHost"))?.focus();
  }

  private add(isHost: boolean): void {
    const before = new Set(this.network?.nodes.map(({ name }) => name));
    if (!this.write(addNode(this.around.text(), isHost))) return;
    const name = this.network?.nodes.map((node) => node.name).find((one) => !before.has(one));
    if (name) this.choose({ kind: "node", name });
  }

  private onKey(event: KeyboardEvent): void {
    const target = (event.target as Element).closest<SVGGElement>("[data-node], [data-link]");
    const node = target?.dataset.node;
    const by = ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -2], ArrowDown: [0, 2] } as Record<string, [number, number]>)[event.key];
    if (event.key === "Escape") { this.joining = null; this.choose(null); }
    else if (target && (event.key === "Delete" || event.key === "Backspace")) {
      if (node !== undefined) this.chosen = { kind: "node", name: node };
      else this.chosen = { kind: "link", at: Number(target.dataset.link) };
      this.remove();
    } else if (target && (event.key === "Enter" || event.key === " ")) {
      if (node !== undefined) this.chooseNode(node); else this.choose({ kind: "link", at: Number(target.dataset.link) });
    } else if (node !== undefined && by) {
      const { x, y } = this.places.get(node)!;
      this.move(node, { x: x + by[0] * KEY_STEP, y: y + by[1] * KEY_STEP });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private move(name: string, { x, y }: Point): void {
    const within = (part: number) => Math.min(Math.max(part, 0), 1);
    this.places.set(name, { x: within(x), y: within(y) });
    this.around.moved();
    this.draw();
  }

  /** A press on a node: a drag moves it, or draws a link from it to another; anything less chooses it. */
  private press(name: string, event: PointerEvent): void {
    if (event.button !== 0) return;
    event.preventDefault();
    const { left, top, width, height } = this.board.getBoundingClientRect();
    const begin = { x: event.clientX, y: event.clientY };
    let isDrag = false;
    const rubber = make("path", { class: "rubber" });
    const onMove = (to: PointerEvent): void => {
      isDrag ||= Math.hypot(to.clientX - begin.x, to.clientY - begin.y) > 5;
      if (!isDrag) return;
      const [x, y] = [to.clientX - left, to.clientY - top];
      if (!this.joining) return this.move(name, fromCanvas({ x, y }, width, height));
      const from = onCanvas(this.places.get(name)!, width, height);
      rubber.setAttribute("d", `M${from.x} ${from.y}L${x} ${y}`);
      if (!rubber.isConnected) this.board.prepend(rubber);
    };
    const onUp = (up: PointerEvent): void => {
      removeEventListener("pointermove", onMove);
      removeEventListener("pointerup", onUp);
      removeEventListener("pointercancel", onUp);
      rubber.remove();
      if (up.type === "pointercancel") return;
      if (!isDrag) return this.chooseNode(name);
      const other = document.elementFromPoint(up.clientX, up.clientY)?.closest<SVGGElement>("[data-node]")?.dataset.node;
      if (this.joining && other !== undefined && other !== name) this.join(this.joining.kind, name, other);
    };
    addEventListener("pointermove", onMove);
    addEventListener("pointerup", onUp);
    addEventListener("pointercancel", onUp);
  }

  // ---- what is seen -------------------------------------------------------------------------------------------------

  private draw(): void {
    const focused = document.activeElement?.closest<SVGGElement>("#board [data-node], #board [data-link]");
    const again = focused && (focused.dataset.node !== undefined ? `[data-node="${CSS.escape(focused.dataset.node)}"]` : `[data-link="${focused.dataset.link}"]`);
    this.drawBar();
    this.drawBoard();
    this.drawProperties();
    if (again) this.board.querySelector<SVGGElement>(again)?.focus();
  }

  private drawBar(): void {
    const { joining, chosen, network } = this;
    const starts = Object.assign(document.createElement("select"), { id: "beginWith", title: "A network to begin with, in place of this scenario" });
    starts.setAttribute("aria-label", "Begin with");
    starts.append(new Option("Begin with", ""), ...Object.keys(STARTS).map((name) => new Option(name, name)));
    starts.addEventListener("change", () => {
      const text = STARTS[starts.value];
      if (!text) return;
      this.places.clear();
      [this.chosen, this.joining] = [null, null];
      this.around.begin(text);
    });
    const button = (id: string, label: string, act: () => void, isOn: boolean, isPressed?: boolean) => {
      const made = Object.assign(document.createElement("button"), { id, textContent: label, disabled: !isOn });
      if (isPressed !== undefined) made.setAttribute("aria-pressed", String(isPressed));
      made.addEventListener("click", act);
      return made;
    };
    const isThere = network !== null;
    const hint = !isThere ? "Begin with one of these networks: this scenario's is not drawn node by node."
      : joining ? `Choose the ${joining.from === null ? "first node" : `node that ${joining.from} ${joining.kind === "link" ? "is linked to" : "sends to"}`}, or drag from one to the other.`
        : "Drag nodes; choose a node, a link or a flow to change it.";
    const had = this.bar.contains(document.activeElement) ? document.activeElement!.id : "";
    this.bar.replaceChildren(starts, button("addHost", "Add host", () => this.add(true), isThere), button("addRouter", "Add router", () => this.add(false), isThere),
      button("joinLink", "Link", () => this.startJoining("link"), isThere, joining?.kind === "link"),
      button("joinFlow", "Flow", () => this.startJoining("flow"), isThere, joining?.kind === "flow"),
      button("removeChosen", "Remove", () => this.remove(), chosen !== null), Object.assign(document.createElement("p"), { textContent: hint }));
    this.bar.querySelector("p")!.setAttribute("role", "status");
    if (had) document.getElementById(had)?.focus();
  }

  private drawBoard(): void {
    const { clientWidth: width, clientHeight: height } = this.board;
    const { nodes = [], links = [], flows = [] } = this.network ?? {};
    const at = (name: string) => { const place = this.places.get(name); return place && onCanvas(place, width, height); };
    const drawnLinks = links.flatMap(({ from, to, rate, delay, queue, limit }, index) => {
      const [a, b] = [at(from), at(to)];
      if (!a || !b) return [];
      const isChosen = this.chosen?.kind === "link" && this.chosen.at === index;
      const told = [rate ?? "a rate of its own", delay ?? "a delay of its own"].join(", ");
      const path = `M${a.x} ${a.y}L${b.x} ${b.y}`;
      const group = make<SVGGElement>("g", { "data-link": index, tabindex: 0, role: "button", "aria-pressed": String(isChosen), "aria-label": `Link ${from} to ${to}: ${told}, ${queue} ${limit ?? ""}` },
        make("path", { d: path, class: "hit" }), make("path", { d: path, class: isChosen ? "link chosen" : "link" }));
      const [across, down] = [Math.abs(b.x - a.x), Math.abs(b.y - a.y)];
      if (across > 90) {
        group.append(make("text", { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 - 7, "text-anchor": "middle" }, rate ?? ""), make("text", { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 + 15, "text-anchor": "middle" }, delay ?? ""));
      } else if (down > 60 && across < 20) {
        group.append(make("text", { x: (a.x + b.x) / 2 + 8, y: (a.y + b.y) / 2 + 2 }, told));
      }
      group.addEventListener("click", () => this.choose({ kind: "link", at: index }));
      return [group];
    });
    const drawnNodes = nodes.map(({ name, isHost }) => {
      const { x, y } = at(name)!;
      const isChosen = (this.chosen?.kind === "node" && this.chosen.name === name) || this.joining?.from === name;
      const flow = flows.findIndex(({ from, to }) => from === name || to === name);
      const shape = isHost ? make("circle", { cx: x, cy: y, r: 9, fill: flow >= 0 ? colorOf(flow) : "var(--faint)" }) : make("rect", { x: x - 9, y: y - 9, width: 18, height: 18, rx: 3, fill: "var(--faint)" });
      const group = make<SVGGElement>("g", { "data-node": name, tabindex: 0, role: "button", "aria-pressed": String(isChosen), "aria-label": `${isHost ? "Host" : "Router"} ${name}`, class: isChosen ? "chosen" : "" },
        make("circle", { cx: x, cy: y, r: 18, class: "hit" }), shape, make("text", { x, y: y + 24, "text-anchor": "middle" }, name));
      group.addEventListener("pointerdown", (event) => this.press(name, event));
      return group;
    });
    this.board.replaceChildren(...drawnLinks, ...drawnNodes);
  }

  private drawProperties(): void {
    const { chosen, network } = this;
    if (!network) return this.properties.replaceChildren();
    const flows = network.flows.map(({ name, from, to }, at) => {
      const isChosen = chosen?.kind === "flow" && chosen.at === at;
      const button = Object.assign(document.createElement("button"), { textContent: `${name}${from && to ? `: ${from} → ${to}` : ""}`, className: "chip" });
      const mark = document.createElement("i");
      mark.style.background = colorOf(at);
      button.prepend(mark);
      button.setAttribute("aria-pressed", String(isChosen));
      button.addEventListener("click", () => this.choose(isChosen ? null : { kind: "flow", at }));
      return button;
    });
    this.properties.replaceChildren(...flows, ...this.fields());
  }

  private fields(): HTMLElement[] {
    const { chosen, network } = this;
    const field = (label: string, control: HTMLInputElement | HTMLSelectElement, take: (value: string) => string | null) => {
      control.addEventListener("change", () => { if (!this.write(take(control.value.trim()))) this.draw(); });
      const of = document.createElement("label");
      of.append(`${label} `, control);
      return of;
    };
    const input = (value: string | null) => Object.assign(document.createElement("input"), { type: "text", size: 11, value: value ?? "", disabled: value === null, title: value === null ? "Written in the text, in a way of its own" : "" });
    const list = (values: string[], value: string | null) => {
      const made = document.createElement("select");
      made.append(...[...new Set([...values, ...(value ? [value] : [])])].map((one) => new Option(one, one)));
      made.value = value ?? "";
      return made;
    };
    const text = () => this.around.text();
    if (chosen?.kind === "link") {
      const link = network!.links[chosen.at]!;
      const head = Object.assign(document.createElement("strong"), { textContent: `${link.from} – ${link.to}` });
      return [head, field("Rate", input(link.rate), (rate) => editLink(text(), chosen.at, { rate })), field("Delay", input(link.delay), (delay) => editLink(text(), chosen.at, { delay })),
        field("Queue", list(this.queues, link.queue), (queue) => editLink(text(), chosen.at, { queue })),
        field("Limit", Object.assign(input(link.limit ?? ""), { placeholder: "default" }), (limit) => editLink(text(), chosen.at, { limit }))];
    }
    if (chosen?.kind === "flow") {
      const flow = network!.flows[chosen.at]!;
      const hosts = network!.nodes.filter(({ isHost }) => isHost).map(({ name }) => name);
      return [field("Controller", list(this.controllers, flow.controller), (controller) => editFlow(text(), chosen.at, { controller })),
        field("From", list(hosts, flow.from), (from) => editFlow(text(), chosen.at, { from })), field("To", list(hosts, flow.to), (to) => editFlow(text(), chosen.at, { to })),
        field("Start", input(flow.start), (start) => editFlow(text(), chosen.at, { start }))];
    }
    return [];
  }
}
