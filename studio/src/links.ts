// Links as they are at a time: as they begin, and what has been changed of them since.
import type { FlowInfo, LinkInfo, ScenarioInfo } from "./messages";

export function linksAt({ links, changes }: ScenarioInfo, now_s: number): LinkInfo[] {
  const now = links.map((link) => ({ ...link }));
  for (const { at_s, link, ...values } of changes) {
    if (at_s > now_s) break;
    for (const [name, value] of Object.entries(values)) if (value !== null) (now[link] as any)[name] = value;
  }
  return now;
}

/** The slowest link over which a flow sends data, by a route of as few links as there can be; of all links where there is none. */
export function narrowest(links: LinkInfo[], flows: Pick<FlowInfo, "from" | "to">[]): number {
  const carrying = new Set(flows.flatMap(({ from, to }) => routeOf(links, from, to)));
  const among = links.map((_, index) => index).filter((index) => carrying.size === 0 || carrying.has(index));
  return among.reduce((least, index) => (links[index]!.rate_bps < links[least]!.rate_bps ? index : least), among[0] ?? 0);
}

function routeOf(links: LinkInfo[], from: number, to: number): number[] {
  const routes = new Map<number, number[]>([[from, []]]);
  for (const [node, route] of routes) { // those that are added meanwhile come last
    if (node === to) return route;
    links.forEach((link, index) => { if (link.from === node && !routes.has(link.to)) routes.set(link.to, [...route, index]); });
  }
  return [];
}

const OCTETS: Record<string, number> = { B: 1, byte: 1, bytes: 1, kB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** How many packets of 1500 octets may wait; nothing where that is no number of packets or octets. */
export function packetsOfLimit(limit: string | null): number | null {
  const found = /^([0-9.]+) ?([a-zA-Z]+)$/.exec(limit ?? "");
  if (!found) return null;
  if (found[2]!.startsWith("packet")) return Number(found[1]);
  const unit = OCTETS[found[2]!];
  return unit === undefined ? null : (Number(found[1]) * unit) / 1500;
}
