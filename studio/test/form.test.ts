// Numbers that the form takes, and those that it refuses.
import assert from "node:assert/strict";
import { test } from "node:test";
import { refusal } from "../src/form";

const duration = (value: string) => refusal("Duration, s", { value, min: "0.001", step: "any" });
const start = (value: string) => refusal("Start of flow 1", { value, min: "0", step: "any" });
const count = (value: string) => refusal("Count of flow 1", { value, min: "1", step: "1" });

test("numbers in range are taken", () => {
  for (const value of ["0.001", "60", "1e3", " 5 "]) assert.equal(duration(value), null, value);
  for (const value of ["0", "0.5", "0.000001"]) assert.equal(start(value), null, value);
  for (const value of ["1", "64", "18446744073709551615"]) assert.equal(count(value), null, value);
});

test("a value out of range, of another kind or none is refused with what is right", () => {
  for (const value of ["-5", "", "0", "0.0001", "1e9", "abc"]) assert.equal(duration(value), "Duration, s: must be a number of at least 0.001 and less than 1000000000; the value before is back.", value);
  for (const value of ["-1", "", "0.0000001"]) assert.ok(start(value), value);
  for (const value of ["0", "1.5", "-1", "", "1e3"]) assert.equal(count(value), "Count of flow 1: must be a whole number of at least 1; the value before is back.", value);
});
