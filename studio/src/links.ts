// Links as they are at a time: as they begin, and what has been changed of them since.
import type { LinkInfo, ScenarioInfo } from "./messages";

export function linksAt({ links, changes }: ScenarioInfo, now_s: number): LinkInfo[] {
  const now = links.map((link) => ({ ...link }));
  for (const { at_s, link, ...values } of changes) {
    if (at_s > now_s) break;
    for (const [name, value] of Object.entries(values)) if (value !== null) (now[link] as any)[name] = value;
  }
  return now;
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
