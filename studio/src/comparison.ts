// Runs that are kept, to be drawn behind the next one and compared with it.
import type { ScenarioInfo } from "./messages";
import type { Column, Series } from "./series";

/** What `summary.json` says that is compared (docs/reference/results.md). */
export interface Results {
  jain_index: number | null;
  flows: { name: string; goodput_bps: number; retransmitted_segments: number; rtt_ms: { mean: number } | null }[];
  links: { name: string; utilization: number; drops: number; queueing_delay_ms: { mean: number } | null }[];
}
export interface KeptRun {
  name: string; dash: number[]; now_s: number; time: number[]; results: Results;
  flows: { name: string; cwnd: Column; goodput: Column; srtt: Column }[];
  queues: Record<string, Column>;
}

/** More cannot be told apart behind each other. */
export const MOST_KEPT = 4;
const DASHES = [[6, 4], [2, 3], [10, 3, 2, 3], [14, 5]];

export class Kept {
  runs: KeptRun[] = [];

  /** Keeps a copy of what has come so far; nothing where as many are kept as can be told apart. */
  keep(name: string, now_s: number, scenario: ScenarioInfo, series: Series, results: Results): KeptRun | null {
    const dash = DASHES.find((dash) => this.runs.every((run) => run.dash !== dash));
    if (!dash || this.runs.length >= MOST_KEPT) return null;
    const run: KeptRun = {
      name: this.freeName(name), dash, now_s, results, time: [...series.time],
      flows: series.flows.map(({ cwnd, goodput, srtt }, index) => ({ name: scenario.flows[index]!.name, cwnd: [...cwnd], goodput: [...goodput], srtt: [...srtt] })),
      queues: Object.fromEntries(series.queues.map((queue, index) => [scenario.links[index]!.name, [...queue]])),
    };
    this.runs.push(run);
    return run;
  }

  remove(run: KeptRun): void {
    this.runs = this.runs.filter((one) => one !== run);
  }

  private freeName(name: string): string {
    const names = new Set(this.runs.map((run) => run.name));
    for (let number = 1; ; number++) {
      const free = number === 1 ? name : `${name} (${number})`;
      if (!names.has(free)) return free;
    }
  }
}

/** A number of the table: of this run, then of each kept one, with how much more this run has. */
export interface Compared { what: string; values: (number | null)[]; names: (string | null)[]; digits: number }

/** Rows of the table that compares; flows are compared by their place, links by name. */
export function compared(now: Results, kept: Results[], link: string): Compared[] {
  const runs = [now, ...kept];
  const row = (what: string, digits: number, pick: (run: Results) => number | null | undefined, nameOf: (run: Results) => string | null = () => null): Compared => {
    const name = nameOf(now);
    return { what, digits, values: runs.map((run) => pick(run) ?? null), names: runs.map((run) => (nameOf(run) === name ? null : nameOf(run))) };
  };
  const most = Math.max(...runs.map((run) => run.flows.length));
  const ofFlow = (index: number): Compared[] => {
    const name = runs.map((run) => run.flows[index]?.name).find((one) => one !== undefined)!;
    const nameOf = (run: Results) => run.flows[index]?.name ?? null;
    return [
      row(`${name}: goodput, Mbit/s`, 2, (run) => scaled(run.flows[index]?.goodput_bps, 1e-6), nameOf),
      row(`${name}: mean round trip, ms`, 1, (run) => run.flows[index]?.rtt_ms?.mean, nameOf),
      row(`${name}: retransmitted segments`, 0, (run) => run.flows[index]?.retransmitted_segments, nameOf),
    ];
  };
  const ofLink = (run: Results) => run.links.find(({ name }) => name === link);
  return [
    row("Jain's fairness index", 3, (run) => run.jain_index),
    ...Array.from({ length: Math.min(most, MOST_FLOWS) }, (_, index) => ofFlow(index)).flat(),
    row(`${link}: utilization, %`, 1, (run) => scaled(ofLink(run)?.utilization, 100)),
    row(`${link}: mean queueing delay, ms`, 1, (run) => ofLink(run)?.queueing_delay_ms?.mean),
    row(`${link}: drops, packets`, 0, (run) => ofLink(run)?.drops),
  ];
}

const MOST_FLOWS = 16;
const scaled = (value: number | undefined, by: number): number | null => (value === undefined ? null : value * by);

/** A difference with its sign. */
export function difference(now: number | null, before: number | null, digits: number): string {
  if (now === null || before === null) return "–";
  const told = (now - before).toFixed(digits);
  return Number(told) === 0 ? (0).toFixed(digits) : told.startsWith("-") ? `−${told.slice(1)}` : `+${told}`;
}
