// Segments of flows over time, as rows of a CSV: each worked by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Kind } from "../src/events";
import { Sequence } from "../src/sequence";

const event = (time_s: number, kind: number, flow: number, a: number, b: number, c = 0) => [time_s, kind, flow, a, b, c];
const rows = (sequence: Sequence) => sequence.csv(3, [0, 3]).trim().split("\r\n").slice(1);

test("each flow has its own segments, also when it is chosen after the run", () => {
  const sequence = new Sequence(null as never);
  sequence.begin(2);
  sequence.add(new Float64Array([...event(1, Kind.Segment, 0, 0, 1000), ...event(1.5, Kind.Segment, 1, 5000, 1000), ...event(2, Kind.Segment, 0, 0, 1000, 1)]));
  assert.deepEqual(rows(sequence), ["1,data,0,1000", "2,retransmitted,0,1000"]);
  sequence.flow = 1;
  assert.deepEqual(rows(sequence), ["1.5,data,5000,6000"]);
  sequence.begin(1);
  assert.deepEqual(rows(sequence), []);
});

test("a flow that sends much leaves another's events alone", () => {
  const sequence = new Sequence(null as never);
  sequence.begin(2);
  sequence.add(new Float64Array(event(0, Kind.Ack, 1, 77, 0)));
  for (let part = 0; part < 5; part++) sequence.add(new Float64Array(Array.from({ length: 100_000 }, (_, at) => event(1 + at * 1e-5, Kind.Segment, 0, 0, 1)).flat()));
  assert.equal(rows(sequence).length, 300_000); // a half of 600 000
  sequence.flow = 1;
  assert.deepEqual(rows(sequence), ["0,acknowledged,,77"]);
});
