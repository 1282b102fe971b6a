// What a scenario that a program wrote as JSON is in TOML. Each expected text is written by hand (RFC 8259, toml.io).
import assert from "node:assert/strict";
import { test } from "node:test";
import { readable, withoutScenario } from "../src/share";

const CASES: [string, string, string][] = [
  ["a seed of 64 bits keeps its digits", `{"seed":18446744073709551615}`, "seed = 18446744073709551615\n"],
  ["as does one next to the largest whole number of a double", `{"seed":9007199254740993}`, "seed = 9007199254740993\n"],
  ["digits in a text, and after a point, are left", `{"name":"12345678901234567890","x":0.25}`, `name = "12345678901234567890"\nx = 0.25\n`],
  ["a key that is null is none", `{"seed":1,"name":null}`, "seed = 1\n"],
  ["a list with null is for the engine to refuse", `{"flow":[null]}`, `{"flow":[null]}`],
  ["so is what is no JSON", `{"seed":1,}`, `{"seed":1,}`],
  ["TOML is what it is", "seed = 1\n", "seed = 1\n"],
];

for (const [name, given, wanted] of CASES) test(name, () => assert.equal(readable(given), wanted));

test("files without a scenario are told by name", () => {
  const text = `rate = { trace = "traces/cell.down" }`;
  assert.equal(withoutScenario(["cell.down"], text), "Opened for this scenario: cell.down.");
  assert.equal(withoutScenario(["a.png"], text), "Not used: a.png. The scenario does not name it; scenarios are files that end in .toml or .json.");
  assert.equal(withoutScenario(["model.data-00000-of-00001"], `file = "model.index"`), "Opened for this scenario: model.data-00000-of-00001.");
  assert.equal(withoutScenario(["cell.down", "a.png", "b.png"], text),
    "Opened for this scenario: cell.down. Not used: a.png, b.png. The scenario does not name them; scenarios are files that end in .toml or .json.");
});
