// Runs that are kept: how many, under which names, and what is compared. Worked by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Kept, MOST_KEPT, type Results, compared, difference } from "../src/comparison";
import { greatest, thinned } from "../src/lines";
import type { ScenarioInfo } from "../src/messages";
import { Series } from "../src/series";

const results = (goodputs: number[], delay_ms: number, name = "cubic 1"): Results => ({
  jain_index: 0.5,
  flows: goodputs.map((goodput_bps, index) => ({ name: index === 0 ? name : `bbr3 ${index + 1}`, goodput_bps, retransmitted_segments: 7, rtt_ms: { mean: 50 } })),
  links: [{ name: "bottleneck", utilization: 0.987, drops: 12, queueing_delay_ms: { mean: delay_ms } }],
});

test("a difference is this run's less that of the one kept", () => {
  const rows = compared(results([4e6, 15e6], 5), [results([9.5e6, 9.5e6], 25.04)], "bottleneck");
  const of = (what: string) => rows.find((row) => row.what === what)!;
  assert.deepEqual(of("cubic 1: goodput, Mbit/s").values, [4, 9.5]);
  const delay = of("bottleneck: mean queueing delay, ms");
  assert.equal(difference(delay.values[0]!, delay.values[1]!, delay.digits), "−20.0");
  assert.equal(difference(9.5, 4, 2), "+5.50");
  assert.equal(difference(1, 1.0004, 2), "0.00");
  assert.equal(difference(null, 1, 2), "–");
});

test("a flow of another name or none, and a link that another run lacks, are told", () => {
  const [now, before] = [results([4e6, 15e6], 5, "vegas 1"), { ...results([9e6], 25), links: [] }];
  const rows = compared(now, [before], "bottleneck");
  const of = (what: string) => rows.find((row) => row.what === what)!;
  assert.deepEqual(of("vegas 1: goodput, Mbit/s").names, [null, "cubic 1"]);
  assert.deepEqual(of("bbr3 2: goodput, Mbit/s").values, [15, null]);
  assert.deepEqual(of("bottleneck: drops, packets").values, [12, null]);
});

test("so many are kept and no more, each under a name and stroke of its own, as they were", () => {
  const scenario = { flows: [{ name: "one", mss_bytes: 1000, start_s: 0 }], links: [{ name: "bottleneck" }] } as unknown as ScenarioInfo;
  const series = new Series();
  series.begin(scenario, { numbers: 1 + 7 + 5, flows: 1, links: 1 });
  series.add(new Float64Array([0, 10_000, NaN, 0, 0.05, 0.05, 1e6, 0, 3, 4500, 1e6, 0, 0]));
  const kept = new Kept();
  for (let run = 0; run < MOST_KEPT; run++) assert.ok(kept.keep("mine", 1, scenario, series, results([1], 1)));
  assert.equal(kept.keep("mine", 1, scenario, series, results([1], 1)), null);
  assert.deepEqual(kept.runs.map(({ name }) => name), ["mine", "mine (2)", "mine (3)", "mine (4)"]);
  assert.equal(new Set(kept.runs.map(({ dash }) => dash.join())).size, MOST_KEPT);
  series.clear();
  assert.deepEqual(kept.runs[0]!.flows[0]!.cwnd, [10]); // 10 000 octets in segments of 1 000
  assert.deepEqual(kept.runs[0]!.queues, { bottleneck: [3] });
  kept.remove(kept.runs[1]!);
  assert.equal(kept.keep("mine", 1, scenario, series, results([1], 1))!.name, "mine (2)");
});

test("of a column the first, least, greatest and last are drawn, and nothing over a gap", () => {
  const time = [0, 1, 2, 3, 4, 5, 6, 7], values = [1, 5, 2, 0, 3, null, 4, 6];
  assert.deepEqual(thinned(time, values, [0, 8], 1), [[[0, 1], [1, 5], [3, 0], [4, 3]], [[6, 4], [7, 6]]]);
  assert.deepEqual(thinned(time, values, [2.5, 3.5], 100), [[[2, 2], [3, 0], [4, 3]]]); // one beyond at either side
  assert.deepEqual(thinned([], [], [0, 1], 9), []);
});

test("the greatest value is of what is shown", () => {
  const line = { run: "", name: "", color: 0, dash: [], time: [0, 1, 2, 3], values: [9, 4, null, 7] };
  assert.deepEqual([greatest([line], [0, 3]), greatest([line], [0.5, 2.5]), greatest([], [0, 1])], [9, 4, 0]);
});
