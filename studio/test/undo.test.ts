// Going back from text to text.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Undo } from "../src/undo";

test("each text comes back once, the newest first", () => {
  const past = new Undo();
  for (const text of ["a", "b", "b", "c"]) past.note(text);
  assert.deepEqual([past.undo("c"), past.undo("b"), past.undo("a"), past.undo("a")], ["b", "a", null, null]);
});

test("what was typed since is given up first", () => {
  const past = new Undo();
  assert.deepEqual([past.isBefore("a"), past.undo("a")], [false, null]);
  past.note("a");
  assert.deepEqual([past.isBefore("a"), past.isBefore("typed"), past.undo("typed"), past.undo("a")], [false, true, "a", null]);
});

test("the oldest is forgotten", () => {
  const past = new Undo();
  for (let number = 0; number < 500; number++) past.note(String(number));
  let last = "499", count = 0;
  for (let text = past.undo(last); text !== null; text = past.undo(last)) [last, count] = [text, count + 1];
  assert.deepEqual([last, count], ["300", 199]);
});
