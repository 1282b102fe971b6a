// Links over time: as they begin, then as changes left them. Worked by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { linksAt, narrowest, packetsOfLimit } from "../src/links";
import type { ScenarioInfo } from "../src/messages";

const nothing = { rate_bps: null, delay_s: null, loss: null, limit: null };
const SCENARIO = {
  links: [
    { name: "bottleneck", from: 0, to: 1, rate_bps: 10e6, delay_s: 0.02, loss: 0, limit: "50 packets" },
    { name: "bottleneck.reverse", from: 1, to: 0, rate_bps: 10e6, delay_s: 0.02, loss: null, limit: null },
  ],
  changes: [
    { ...nothing, at_s: 2, link: 0, rate_bps: 3e6 }, { ...nothing, at_s: 5, link: 0, rate_bps: 8e6, limit: "9 packets" },
    { ...nothing, at_s: 5, link: 1, loss: 0.5 },
  ],
} as unknown as ScenarioInfo;

test("a link is as it begins until it is changed", () => {
  const rates = [0, 1.99, 2, 4.99, 5, 60].map((now_s) => linksAt(SCENARIO, now_s)[0]!.rate_bps);
  assert.deepEqual(rates, [10e6, 10e6, 3e6, 3e6, 8e6, 8e6]);
  assert.deepEqual(linksAt(SCENARIO, 5)[0], { ...SCENARIO.links[0], rate_bps: 8e6, limit: "9 packets" });
  assert.equal(linksAt(SCENARIO, 5)[1]!.loss, 0.5);
  assert.equal(SCENARIO.links[0]!.rate_bps, 10e6, "the beginning stays what it was");
});

test("limits in packets of 1500 octets", () => {
  const limits = ["1 packet", "67 packets", "1500 B", "75 kB", "3 MB", "20 ms", "unlimited", null];
  assert.deepEqual(limits.map(packetsOfLimit), [1, 67, 1, 50, 2000, null, null, null]);
});

test("the link to begin with is the slowest that carries data", () => {
  const link = (from: number, to: number, rate_bps: number) => ({ ...SCENARIO.links[0]!, from, to, rate_bps });
  // A server, two routers, a client: the way back is slower, and so is a link that no flow takes.
  const links = [link(0, 1, 1e9), link(1, 0, 1e9), link(1, 2, 6e6), link(2, 1, 2e6), link(2, 3, 1e9), link(3, 2, 1e9), link(2, 4, 1e3)];
  assert.equal(narrowest(links, [{ from: 0, to: 3 }]), 2);
  assert.equal(narrowest(links, [{ from: 0, to: 3 }, { from: 3, to: 0 }]), 3);
  assert.equal(narrowest(links, []), 6);
  assert.equal(narrowest([], [{ from: 0, to: 1 }]), 0);
});
