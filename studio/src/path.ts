// The form of a path, and the scenario's text that says the same: a dumbbell with one bottleneck and flows over it.
import { parse, stringify } from "smol-toml";

export interface FormFlow { controller: string; count: number; start_s: number }
export interface Path {
  rate_mbps: number; rtt_ms: number; loss_percent: number; limit_packets: number; queue: string;
  duration_s: number; seed: number; profile: string; flows: FormFlow[];
}

/** What the engine takes where a text names no stack. */
const DEFAULT_PROFILE = "linux-6.x";

export const FIRST: Path = {
  rate_mbps: 20, rtt_ms: 40, loss_percent: 0, limit_packets: 67, queue: "drop_tail", duration_s: 60, seed: 1,
  profile: DEFAULT_PROFILE,
  flows: [{ controller: "cubic", count: 1, start_s: 0 }, { controller: "bbr", count: 1, start_s: 10 }],
};

/** Of the round trip, the access links at both ends have this much each way. */
const ACCESS_MS = 1;
const ACCESS_MBPS = 1000;
const PACKET_KBIT = 12; // 1500 octets

const short = (value: number): number => Number(value.toPrecision(6));

export const rateText = (mbps: number): string => (mbps >= 1 ? `${short(mbps)} Mbit/s` : `${short(mbps * 1000)} kbit/s`);
export const timeText = (ms: number): string => (ms >= 1 ? `${short(ms)} ms` : `${short(ms * 1000)} us`);
/** The delay of the bottleneck, one way, of a round trip. */
export const delayText = (rtt_ms: number): string => timeText(Math.max(rtt_ms / 2 - 2 * ACCESS_MS, 0.001));

export function toText(path: Path): string {
  const bottleneck: Record<string, unknown> = {
    rate: rateText(path.rate_mbps),
    delay: delayText(path.rtt_ms),
    queue: { kind: path.queue, limit: `${Math.round(path.limit_packets)} packets` },
  };
  if (path.loss_percent > 0) bottleneck.loss = { kind: "random", p: short(path.loss_percent / 100) };
  const scenario: Record<string, unknown> = { duration: `${short(path.duration_s)} s`, seed: path.seed };
  scenario.tcp = { profile: path.profile };
  scenario.topology = {
    kind: "dumbbell",
    access: { rate: rateText(Math.max(ACCESS_MBPS, 10 * path.rate_mbps)), delay: timeText(ACCESS_MS) },
    bottleneck,
  };
  scenario.flow = path.flows.map((flow, index) => ({
    name: `${flow.controller} ${index + 1}`,
    controller: flow.controller,
    ...(flow.count > 1 ? { count: flow.count } : {}),
    ...(flow.start_s > 0 ? { start: `${short(flow.start_s)} s` } : {}),
  }));
  return stringify(scenario) + "\n";
}

const UNITS: Record<string, number> = {
  "bit/s": 1e-6, "kbit/s": 1e-3, "Mbit/s": 1, "Gbit/s": 1e3, "Tbit/s": 1e6, ns: 1e-6, us: 1e-3, ms: 1, s: 1e3, min: 6e4, h: 3.6e6,
};

/** A quantity with its unit: Mbit/s or ms. */
function quantity(text: unknown): number | null {
  const found = typeof text === "string" ? /^\s*([0-9._]+)\s*([a-zA-Z/]+)\s*$/.exec(text) : null;
  const unit = found && UNITS[found[2]!];
  return unit ? Number(found[1]!.replaceAll("_", "")) * unit : null;
}

const onlyHas = (table: any, names: string[]): boolean =>
  table && typeof table === "object" && Object.keys(table).every((name) => names.includes(name));

/** The form that says what a text says; nothing where the form cannot say it. */
export function fromText(text: string): Path | null {
  let tree: any;
  try {
    tree = parse(text);
  } catch {
    return null;
  }
  const { topology, flow, tcp } = tree;
  const link = topology?.bottleneck;
  const isSimple = onlyHas(tree, ["name", "duration", "seed", "tcp", "topology", "flow", "change"])
    && topology?.kind === "dumbbell" && onlyHas(topology, ["kind", "access", "bottleneck"])
    && onlyHas(topology.access, ["rate", "delay"]) && onlyHas(link, ["rate", "delay", "queue", "loss"])
    && onlyHas(link.queue, ["kind", "limit"]) && (!tcp || onlyHas(tcp, ["profile"])) && Array.isArray(flow)
    && (!link.loss || link.loss.kind === "random");
  if (!isSimple) return null;
  const [rate, delay, access, duration] = [link.rate, link.delay, topology.access.delay, tree.duration].map(quantity);
  const limit = /^\s*([0-9.]+)\s*(packets?|bdp)\s*$/.exec(link.queue.limit ?? "");
  const flows = flow.map(fromFlow);
  if (rate === null || delay === null || access === null || duration === null || !limit || flows.includes(null)) return null;
  const rtt_ms = 2 * delay! + 4 * access!;
  const packets = (limit[2] === "bdp" ? (rate! * rtt_ms) / PACKET_KBIT : 1) * Number(limit[1]);
  return {
    rate_mbps: rate!, rtt_ms, loss_percent: 100 * Number(link.loss?.p ?? 0),
    limit_packets: Math.max(Math.round(packets), 1), queue: link.queue.kind, duration_s: duration! / 1000, seed: Number(tree.seed ?? 1),
    profile: tcp?.profile ?? DEFAULT_PROFILE, flows: flows as FormFlow[],
  };
}

function fromFlow(flow: any): FormFlow | null {
  const controller = onlyHas(flow?.controller, ["kind"]) ? flow.controller.kind : flow?.controller;
  if (!onlyHas(flow, ["name", "controller", "count", "start"]) || typeof controller !== "string") return null;
  const start = flow.start === undefined ? 0 : quantity(flow.start);
  return start === null ? null : { controller, count: Number(flow.count ?? 1), start_s: start / 1000 };
}
