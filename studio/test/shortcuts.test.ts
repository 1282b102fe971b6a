// Keys that the page takes, and keys that it leaves to the control that has the focus.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Focused, isShortcut, isUndo } from "../src/shortcuts";

const at = (tagName: string, type?: string, isInDialog = false): Focused => ({ tagName, type, isInDialog });

test("letters in a list or a field are the control's", () => {
  for (const focused of [at("SELECT"), at("TEXTAREA"), at("INPUT", "text"), at("INPUT", "number"), at("BODY", undefined, true), at("BUTTON", "submit", true)]) {
    for (const key of ["v", "p", " ", "?"]) assert.equal(isShortcut(key, focused), false, `${key} at ${focused.tagName}`);
  }
});

test("letters elsewhere are shortcuts, and the space bar where it does nothing else", () => {
  for (const focused of [at("BODY"), at("BUTTON", "submit"), at("INPUT", "range"), at("INPUT", "checkbox"), at("g")]) assert.equal(isShortcut("v", focused), true);
  const space = [at("BODY"), at("INPUT", "range"), at("BUTTON", "submit"), at("INPUT", "checkbox"), at("A")].map((focused) => isShortcut(" ", focused));
  assert.deepEqual(space, [true, true, false, false, false]);
});

test("an undo in a field is the field's", () => {
  const where = [at("BODY"), at("SELECT"), at("BUTTON", "submit"), at("INPUT", "range"), at("TEXTAREA"), at("INPUT", "number"), at("BODY", undefined, true)];
  assert.deepEqual(where.map(isUndo), [true, true, true, true, false, false, false]);
});
