// Plots as files. Ticks, rows and coordinates are worked by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Picture, csv, fileName, svg, ticks } from "../src/picture";

const PICTURE: Picture = {
  title: "<mine> & yours", unit: "packets", range: [0, 10], colors: ["#0072b2", "#d55e00"],
  lines: [
    { run: 'old, "slow"', name: "bottleneck", color: 0, dash: [6, 4], time: [0, 5, 20], values: [1, 50, 99] },
    { run: "this run", name: "bottleneck", color: 0, dash: [], time: [0, 10, 11], values: [0, null, 7] },
  ],
};

test("ticks are round numbers within the axis", () => {
  assert.deepEqual(ticks([0, 60]), [0, 10, 20, 30, 40, 50, 60]);
  assert.deepEqual(ticks([0, 1]), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(ticks([23.8, 24.05]), [23.8, 23.85, 23.9, 23.95, 24, 24.05]);
  assert.deepEqual(ticks([0, 0.003]), [0, 0.0005, 0.001, 0.0015, 0.002, 0.0025, 0.003]);
});

test("a picture has what is shown, scaled, dashed and named", () => {
  const drawn = svg(PICTURE);
  assert.ok(drawn.includes("<title>&#60;mine&#62; &#38; yours</title>"));
  // From 78 to 746 for 10 s; of 292 in height 54 is the most, 1.08 times 50; the first row of names ends above 64.
  assert.ok(drawn.includes('d="M78 350.6L412 85.6L1414 '), drawn);
  assert.match(drawn, /stroke-dasharray="6 4"[^>]*d="M78/);
  assert.ok(drawn.includes(">bottleneck (old, &#34;slow&#34;)<") && drawn.includes(">bottleneck (this run)<"));
  assert.ok(!drawn.includes("NaN"));
});

test("a picture of one run has the names alone; one of nothing is a picture", () => {
  assert.ok(svg({ ...PICTURE, lines: PICTURE.lines.slice(1) }).includes(">bottleneck<"));
  assert.ok(!svg({ ...PICTURE, lines: [] }).includes("NaN"));
});

test("rows of what is shown, quoted by RFC 4180", () => {
  assert.equal(csv(PICTURE), 'run,name,time_s,packets\r\n"old, ""slow""",bottleneck,0,1\r\n"old, ""slow""",bottleneck,5,50\r\nthis run,bottleneck,0,0\r\n');
});

test("names of files", () => {
  assert.equal(fileName("Two: algorithms/é", "cwnd", "svg"), "two-algorithms-e-cwnd.svg");
  assert.equal(fileName("..", "queue", "csv"), "scenario-queue.csv");
});
