// A network node by node, as a person draws it: what an edit changes in the scenario's text, whose topology is explicit. All else of
// the text stays as it was written. Each edit returns the new text, or nothing where the text is written so that it cannot be.
import { parse } from "@decimalturn/toml-patch";
import { freeName, kindOf, patched, says } from "./path";

export interface DrawnNode { name: string; isHost: boolean }
export interface DrawnLink { from: string; to: string; rate: string | null; delay: string | null; queue: string; limit: string | null }
export interface DrawnFlow { name: string; controller: string; from: string | null; to: string | null; start: string }
export interface Drawn { nodes: DrawnNode[]; links: DrawnLink[]; flows: DrawnFlow[] }

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** The network of a text whose topology is explicit; nothing of any other. */
export function drawn(text: string): Drawn | null {
  const tree = explicit(text);
  if (!tree) return null;
  const { node, link } = tree.topology;
  return {
    nodes: node.map(({ name, kind }: any) => ({ name: String(name), isHost: (kind ?? "host") === "host" })),
    links: link.map(({ from, to, rate, delay, queue }: any) => ({
      from: String(from), to: String(to), rate: textOf(rate), delay: textOf(delay), queue: kindOf(queue, "drop_tail") ?? "", limit: textOf(queue?.limit),
    })),
    flows: tree.flow.map((flow: any) => ({
      name: String(flow.name ?? ""), controller: kindOf(flow.controller, "cubic") ?? "", from: textOf(flow.from), to: textOf(flow.to), start: textOf(flow.start) ?? "0 s",
    })),
  };
}

/** The tree of a text, with lists where the scenario may leave them out. */
function explicit(text: string): any {
  try {
    const tree: any = parse(text);
    const lists = [tree.topology?.node ?? [], tree.topology?.link ?? [], tree.flow ?? []];
    if (tree.topology?.kind !== "explicit" || !lists.every((list) => Array.isArray(list))) return null;
    [tree.topology.node, tree.topology.link, tree.flow] = lists;
    return tree;
  } catch {
    return null;
  }
}

function edited(text: string, change: (tree: any) => void): string | null {
  const tree = explicit(text);
  if (!tree) return null;
  change(tree);
  return patched(text, withoutEmpty(tree));
}

function withoutEmpty(tree: any): any {
  for (const [of, list] of [[tree.topology, "node"], [tree.topology, "link"], [tree, "flow"]] as const) if (of[list].length === 0) delete of[list];
  return tree;
}

/** The text with an entry more in one of its lists; the first entry of a list stands at the end of the text. */
function added(text: string, list: "topology.node" | "topology.link" | "flow", entry: (tree: any) => object): string | null {
  const tree = explicit(text);
  if (!tree) return null;
  const of: any[] = list === "flow" ? tree.flow : tree.topology[list.slice("topology.".length)];
  of.push(entry(tree));
  const isFirst = of.length === 1;
  withoutEmpty(tree);
  const after = `${text.trimEnd()}\n\n[[${list}]]\n${table(of[0])}`;
  return isFirst && says(after, tree) ? after : patched(text, tree);
}

/** The first of "H1", "H2", ... that no node has. */
function freeNode(tree: any, sign: string): string {
  const names = new Set(tree.topology.node.map((node: any) => node.name));
  for (let number = 1; ; number++) if (!names.has(`${sign}${number}`)) return `${sign}${number}`;
}

const ACCESS = { rate: "1 Gbit/s", delay: "1 ms" };
const BETWEEN = { rate: "20 Mbit/s", delay: "10 ms", queue: { kind: "drop_tail", limit: "67 packets" } };
const router = (name: string) => ({ name, kind: "router" });

export const addNode = (text: string, isHost: boolean): string | null => added(text, "topology.node", (tree) => (
  isHost ? { name: freeNode(tree, "H") } : router(freeNode(tree, "R"))
));

/** A link between two hosts or routers; one between routers is a bottleneck to begin with. */
export function addLink(text: string, from: string, to: string): string | null {
  const { nodes, links } = drawn(text) ?? { nodes: [], links: [] };
  const areRouters = [from, to].every((name) => nodes.some((node) => node.name === name && !node.isHost));
  const { queue, ...plain } = areRouters ? BETWEEN : { ...ACCESS, queue: null };
  const linked = added(text, "topology.link", () => ({ from, to, ...plain }));
  // A table within one that is new would become a section of its own.
  return linked !== null && queue ? editLink(linked, links.length, { limit: queue.limit }) : linked;
}

export const addFlow = (text: string, from: string, to: string): string | null => added(text, "flow", (tree) => (
  { name: freeName("cubic", tree, tree.flow.length + 1), controller: "cubic", from, to }
));

/** A node goes with its links and the flows from and to it. */
export const removeNode = (text: string, name: string): string | null => edited(text, (tree) => {
  const isWithout = ({ from, to }: any) => from !== name && to !== name;
  tree.topology.node = tree.topology.node.filter((node: any) => node.name !== name);
  tree.topology.link = tree.topology.link.filter(isWithout);
  tree.flow = tree.flow.filter(isWithout);
});

export const removeLink = (text: string, at: number): string | null => edited(text, (tree) => { tree.topology.link.splice(at, 1); });
export const removeFlow = (text: string, at: number): string | null => edited(text, (tree) => { tree.flow.splice(at, 1); });

export const editLink = (text: string, at: number, part: Partial<Pick<DrawnLink, "rate" | "delay" | "queue" | "limit">>): string | null => edited(text, (tree) => {
  const { queue, limit, ...rest } = part;
  const link = Object.assign(tree.topology.link[at], rest);
  const before = typeof link.queue === "string" ? { kind: link.queue } : link.queue;
  // The parameters of another discipline are none of this one; how much may wait is every discipline's.
  if (queue !== undefined) link.queue = { kind: queue, ...(before?.limit === undefined ? {} : { limit: before.limit }) };
  if (limit) link.queue = { kind: "drop_tail", ...before, limit };
});

export const editFlow = (text: string, at: number, part: Partial<DrawnFlow>): string | null => edited(text, (tree) => { Object.assign(tree.flow[at], part); });

// ---- to begin with --------------------------------------------------------------------------------------------------

/** A value in one line. */
const inline = (value: unknown): string => (value !== null && typeof value === "object"
  ? `{ ${Object.entries(value).map(([key, part]) => `${key} = ${inline(part)}`).join(", ")} }` : JSON.stringify(value));
const table = (of: object): string => Object.entries(of).map(([key, value]) => `${key} = ${inline(value)}\n`).join("");

function scenario(name: string, nodes: string[], links: [string, string, object][], flow: object[]): string {
  const kinds = nodes.map((node) => (node.startsWith("H") ? { name: node } : router(node)));
  const lists = [...kinds.map((node): [string, object] => ["topology.node", node]), ...links.map(([from, to, part]): [string, object] => ["topology.link", { from, to, ...part }]),
    ...flow.map((one): [string, object] => ["flow", one])];
  return `${table({ name, duration: "30 s", seed: 1 })}\n[topology]\nkind = "explicit"\n${lists.map(([list, of]) => `\n[[${list}]]\n${table(of)}`).join("")}`;
}

const access = (host: string, at: string): [string, string, object] => [host, at, ACCESS];
const between = (from: string, to: string, rate = BETWEEN.rate): [string, string, object] => [from, to, { ...BETWEEN, rate }];

/** Networks to begin with, as scenarios. */
export const STARTS: Record<string, string> = {
  dumbbell: scenario("dumbbell", ["H1", "H2", "R1", "R2", "H3", "H4"],
    [access("H1", "R1"), access("H2", "R1"), between("R1", "R2"), access("H3", "R2"), access("H4", "R2")],
    [{ name: "cubic 1", controller: "cubic", from: "H1", to: "H3" }, { name: "bbr3 2", controller: "bbr3", from: "H2", to: "H4" }]),
  "parking lot": scenario("parking lot", ["H1", "H2", "H3", "H4", "R1", "R2", "R3", "R4"],
    [between("R1", "R2"), between("R2", "R3"), between("R3", "R4"), ...["1", "2", "3", "4"].map((at) => access(`H${at}`, `R${at}`))],
    [{ name: "long", controller: "cubic", from: "H1", to: "H4" }, ...["1", "2", "3"].map((at) => ({ name: `hop ${at}`, controller: "cubic", from: `H${at}`, to: `H${Number(at) + 1}` }))]),
  star: scenario("star", ["R1", "H1", "H2", "H3", "H4"],
    ["1", "2", "3", "4"].map((at) => [`H${at}`, "R1", { ...BETWEEN, rate: "100 Mbit/s", delay: "1 ms" }] as [string, string, object]),
    ["2", "3", "4"].map((at) => ({ name: `cubic ${Number(at) - 1}`, controller: "cubic", from: `H${at}`, to: "H1" }))),
  "two bottlenecks": scenario("two bottlenecks", ["H1", "H2", "R1", "R2", "R3", "H3", "H4"],
    [access("H1", "R1"), access("H2", "R2"), between("R1", "R2"), between("R2", "R3", "15 Mbit/s"), access("H3", "R3"), access("H4", "R3")],
    [{ name: "both", controller: "cubic", from: "H1", to: "H3" }, { name: "second", controller: "bbr3", from: "H2", to: "H4" }]),
};
