// The form of a path, and the scenario's text that says the same: a dumbbell with one bottleneck and flows over it.
//
// A form shows a part of what a text can say. An edit changes that part in the text as it stands: comments, names, changes on the
// way, and all else that the form does not show are left as they were written.
import { parse, patch, stringify } from "@decimalturn/toml-patch";

/** A flow of the form; `place` is its place among the flows of the text, which a new one does not have. */
export interface FormFlow { controller: string; count: number | null; start_s: number | null; place?: number }
/** What a form shows of a text; null of what is written in a way that it cannot show. */
export interface Path {
  rate_mbps: number | null; rtt_ms: number | null; loss_percent: number | null; limit_packets: number | null; queue: string;
  duration_s: number | null; seed: number | bigint; profile: string; flows: FormFlow[];
}

/** What the engine takes where a text names none. */
const DEFAULT_PROFILE = "linux-6.x";
const DEFAULT_CONTROLLER = "cubic";
const DEFAULT_QUEUE = "drop_tail";
const DEFAULT_LIMIT = "1 bdp";

/** The studio's own scenario. */
export const FIRST = stringify({
  duration: "60 s",
  seed: 1,
  tcp: { profile: DEFAULT_PROFILE },
  topology: {
    kind: "dumbbell",
    access: { rate: "1 Gbit/s", delay: "1 ms" },
    bottleneck: { rate: "20 Mbit/s", delay: "18 ms", queue: { kind: DEFAULT_QUEUE, limit: "67 packets" } },
  },
  flow: [{ name: "cubic 1", controller: "cubic" }, { name: "bbr3 2", controller: "bbr3", start: "10 s" }],
});

const PACKET_KBIT = 12; // 1500 octets
const LEAST_DELAY_MS = 0.001;

const short = (value: number): number => Number(value.toPrecision(6));

export const rateText = (mbps: number): string => (mbps >= 1 ? `${short(mbps)} Mbit/s` : `${short(mbps * 1000)} kbit/s`);
export const timeText = (ms: number): string => (ms >= 1 ? `${short(ms)} ms` : `${short(ms * 1000)} us`);
/** The delay of the bottleneck, one way, of a round trip over links at both ends that have the rest of it. */
export const delayText = (rtt_ms: number, access_ms: number): string => timeText(Math.max(rtt_ms / 2 - 2 * access_ms, LEAST_DELAY_MS));

const UNITS: Record<string, number> = {
  "bit/s": 1e-6, "kbit/s": 1e-3, "Mbit/s": 1, "Gbit/s": 1e3, "Tbit/s": 1e6, ns: 1e-6, us: 1e-3, ms: 1, s: 1e3, min: 6e4, h: 3.6e6,
};

/** A quantity with its unit: Mbit/s or ms. */
function quantity(text: unknown): number | null {
  const found = typeof text === "string" ? /^\s*([0-9._]+)\s*([a-zA-Z/]+)\s*$/.exec(text) : null;
  const unit = found && UNITS[found[2]!];
  return unit ? Number(found[1]!.replaceAll("_", "")) * unit : null;
}

const isTable = (value: any): boolean => value !== null && typeof value === "object" && !Array.isArray(value);
export const kindOf = (part: any, otherwise: string): string | null => {
  const kind = isTable(part) ? (part.kind ?? otherwise) : (part ?? otherwise);
  return typeof kind === "string" ? kind : null;
};

/** The form that says what a text says; nothing where the form cannot say it. */
export function fromText(text: string): Path | null {
  const tree = treeOf(text);
  const { topology, flow, tcp } = tree ?? {};
  const link = topology?.bottleneck;
  const flows: (FormFlow | null)[] = Array.isArray(flow) ? flow.map(fromFlow) : [];
  const queue = kindOf(link?.queue, DEFAULT_QUEUE);
  if (topology?.kind !== "dumbbell" || !isTable(link) || queue === null || flows.length === 0 || flows.includes(null)) return null;
  if (tcp !== undefined && !isTable(tcp)) return null;
  const [rate, delay, access, duration] = [link.rate, link.delay, topology.access?.delay, tree.duration].map(quantity);
  const rtt_ms = delay === null || access === null ? null : 2 * delay! + 4 * access!;
  return {
    rate_mbps: rate!, rtt_ms, loss_percent: lossOf(link.loss), limit_packets: packetsOf(link.queue, rate!, rtt_ms), queue,
    duration_s: duration === null ? null : duration! / 1000, seed: tree.seed ?? 1,
    profile: tcp?.profile ?? DEFAULT_PROFILE, flows: flows as FormFlow[],
  };
}

/** The name of a run of this text: its queue and controllers, where a form can show them. */
export function nameOfRun(text: string, otherwise: string): string {
  const path = fromText(text);
  if (!path) return otherwise;
  return `${path.queue}: ${[...new Set(path.flows.map((flow) => flow.controller))].slice(0, 3).join(" + ")}`;
}

function treeOf(text: string): any {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

function lossOf(loss: any): number | null {
  if (loss === undefined) return 0;
  return loss?.kind === "random" && typeof loss.p === "number" ? short(100 * loss.p) : null;
}

function packetsOf(queue: any, rate_mbps: number | null, rtt_ms: number | null): number | null {
  const ofKind = kindOf(queue, DEFAULT_QUEUE) === DEFAULT_QUEUE ? DEFAULT_LIMIT : "";
  const limit = /^\s*([0-9.]+)\s*(packets?|bdp)\s*$/.exec((isTable(queue) ? queue.limit : undefined) ?? ofKind);
  if (!limit) return null;
  if (limit[2] !== "bdp") return Number(limit[1]);
  return rate_mbps === null || rtt_ms === null ? null : Math.max(Math.round((Number(limit[1]) * rate_mbps * rtt_ms) / PACKET_KBIT), 1);
}

function fromFlow(flow: any, place: number): FormFlow | null {
  const controller = kindOf(flow?.controller, DEFAULT_CONTROLLER);
  if (!isTable(flow) || controller === null) return null;
  const start = flow.start === undefined ? 0 : quantity(flow.start);
  const count = flow.count === undefined || typeof flow.count === "number" ? (flow.count ?? 1) : null;
  return { controller, count, start_s: start === null ? null : start / 1000, place };
}

/** The text with what is given of a form changed, and nothing else; nothing where the text is written so that it cannot be. */
export function edit(text: string, given: Partial<Path>): string | null {
  const [shown, tree] = [fromText(text), treeOf(text)];
  if (!shown) return null;
  const changed = (Object.keys(given) as (keyof Path)[]).filter((name) => given[name] !== shown[name] && given[name] !== null);
  for (const name of changed) WRITERS[name](tree, given as Path);
  return patched(text, tree);
}

/** The text that says this tree, its comments kept; nothing where that cannot be written. */
export function patched(text: string, tree: any): string | null {
  try {
    const after = patch(text, tree);
    return says(after, tree) ? after : null;
  } catch {
    return null;
  }
}

/** Whether a text says this tree. */
export function says(text: string, tree: unknown): boolean {
  try {
    return inOrder(parse(text)) === inOrder(tree);
  } catch {
    return false;
  }
}

/** The changes on the way that a text has. */
export function changesIn(text: string): { at: string; link: string }[] {
  const changes = treeOf(text)?.change;
  return Array.isArray(changes) ? changes.map(({ at, link }) => ({ at, link })) : [];
}

export const isAmong = (change: { at: string; link: string }, changes: { at: string; link: string }[]): boolean =>
  changes.some(({ at, link }) => at === change.at && link === change.link);

/** How often something was changed: a round trip is a change of two links at one time. */
export const timesOf = (changes: { at: string }[]): number => new Set(changes.map(({ at }) => at)).size;

/** The text without some of its changes; nothing where the text is written so that they cannot be taken out. */
export function withoutChanges(text: string, changes: { at: string; link: string }[]): string | null {
  const tree = treeOf(text);
  if (!Array.isArray(tree?.change)) return null;
  tree.change = tree.change.filter((change: any) => !isAmong(change, changes));
  if (tree.change.length === 0) delete tree.change;
  return patched(text, tree);
}

/** The number that a text says: a double does not hold every seed. */
export function seedOf(text: string): number | bigint {
  return /^\s*\d{16,}\s*$/.test(text) ? BigInt(text) : Number(text);
}

/** A value as text that does not depend on the order of keys. */
function inOrder(value: unknown): string {
  return JSON.stringify(value, (_, part) => {
    if (typeof part === "bigint") return `${part}n`;
    return isTable(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part;
  });
}

const WRITERS: Record<keyof Path, (tree: any, path: Path) => void> = {
  rate_mbps: ({ topology }, path) => { topology.bottleneck.rate = rateText(path.rate_mbps!); },
  rtt_ms: ({ topology }, path) => { topology.bottleneck.delay = delayText(path.rtt_ms!, quantity(topology.access.delay)!); },
  loss_percent: ({ topology: { bottleneck } }, { loss_percent }) => {
    if (loss_percent === 0) delete bottleneck.loss;
    else bottleneck.loss = { ...bottleneck.loss, kind: "random", p: short(loss_percent! / 100) };
  },
  limit_packets: ({ topology: { bottleneck } }, { limit_packets }) => {
    const queue = isTable(bottleneck.queue) ? bottleneck.queue : { kind: bottleneck.queue ?? DEFAULT_QUEUE };
    bottleneck.queue = { ...queue, limit: `${Math.round(limit_packets!)} packets` };
  },
  // The parameters of another discipline or controller are none of this one; how much may wait is every discipline's.
  queue: ({ topology: { bottleneck } }, { queue }) => {
    const limit = isTable(bottleneck.queue) ? bottleneck.queue.limit : undefined;
    bottleneck.queue = { kind: queue, ...(limit === undefined ? {} : { limit }) };
  },
  duration_s: (tree, path) => { tree.duration = `${short(path.duration_s!)} s`; },
  seed: (tree, path) => { tree.seed = path.seed; },
  profile: (tree, path) => { tree.tcp = { ...tree.tcp, profile: path.profile }; },
  flows: (tree, path) => {
    const before: any[] = tree.flow;
    tree.flow = path.flows.map((flow) => (flow.place === undefined ? newFlow(flow, tree) : changedFlow(before[flow.place], flow, tree)));
  },
};

/** A name that no flow has: its controller's with the first number that is free. */
export function freeName(controller: string, tree: any, first: number): string {
  const names = new Set(tree.flow.map((flow: any) => flow.name));
  for (let number = first; ; number++) if (!names.has(`${controller} ${number}`)) return `${controller} ${number}`;
}

function newFlow(flow: FormFlow, tree: any): any {
  const { controller } = flow;
  return withTimes({ name: freeName(controller, tree, tree.flow.length + 1), controller }, flow);
}

function changedFlow(before: any, flow: FormFlow, tree: any): any {
  const old = kindOf(before.controller, DEFAULT_CONTROLLER)!;
  const after = withTimes({ ...before }, flow);
  if (old === flow.controller) return after;
  after.controller = flow.controller;
  // A name that the form gave says the controller; one that something else asks for stays.
  const [number] = typeof before.name === "string" && before.name.startsWith(`${old} `) ? (/\d+$/.exec(before.name) ?? []) : [];
  if (before.name === `${old} ${number}` && timesIn(tree, before.name) === 1) after.name = freeName(flow.controller, tree, Number(number));
  return after;
}

/** Count and start as the form has them, unless they say what they said. */
function withTimes(after: any, { count, start_s }: FormFlow): any {
  const { count: countBefore, start_s: startBefore } = fromFlow(after, 0)!;
  if (count !== null && count !== countBefore) after.count = count;
  if (start_s !== null && start_s !== startBefore) after.start = `${short(start_s)} s`;
  return after;
}

function timesIn(value: unknown, text: string): number {
  if (value === text) return 1;
  return value !== null && typeof value === "object" ? Object.values(value).reduce((sum: number, part) => sum + timesIn(part, text), 0) : 0;
}
