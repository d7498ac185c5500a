import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { controlOf, valueOf } from "./form.js";

const colours = [{ value: "r", title: "Red" }, { value: "g", title: "Green" }];
const field = (type, values = {}) => ({ name: "n", title: "N", type, required: false, ...values });

describe("a field gets the control that fits", () => {
  const cases = [
    ["a text", field("string", { default: "x" }), ["input", "text", ["x"]]],
    ["an e-mail address", field("string", { format: "email" }), ["input", "email", []]],
    ["a format that every object has", field("string", { format: "constructor" }), ["input", "text", []]],
    ["a text with choices", field("string", { choices: colours, default: "g" }), ["select", "", ["g"]]],
    ["a whole number", field("integer", { default: 0 }), ["input", "number", ["0"]]],
    ["yes or no", field("boolean"), ["select", "", []]],
    ["yes or no that is no", field("boolean", { default: false }), ["select", "", ["no"]]],
    ["a list with choices", field("array", { choices: colours, default: ["r"] }), ["checks", "", ["r"]]],
    ["a list without choices", field("array", { default: ["a", "b"] }), ["lines", "", ["a\nb"]]],
    ["a type that is not known", field("object", { default: null }), ["input", "text", []]],
  ];
  for (const [name, of, [control, type, chosen]] of cases) {
    test(name, () => {
      const got = controlOf(of);
      assert.deepEqual([got.control, got.type, got.chosen], [control, type, chosen]);
    });
  }
});

describe("a value has the type of its field", () => {
  const cases = [
    ["a text", field("string"), [" x "], " x "],
    ["nothing is left out", field("string"), [""], undefined],
    ["a number", field("number"), ["1.5"], 1.5],
    ["no number", field("integer"), [""], undefined],
    ["yes", field("boolean"), ["yes"], true],
    ["no", field("boolean"), ["no"], false],
    ["neither", field("boolean"), [""], undefined],
    ["checks", field("array", { choices: colours }), ["r", "g"], ["r", "g"]],
    ["no checks", field("array", { choices: colours }), [], undefined],
    ["no checks where they are required", field("array", { choices: colours, required: true }), [], []],
    ["lines", field("array"), ["a\n\n b \n"], ["a", "b"]],
  ];
  for (const [name, of, raw, want] of cases) {
    test(name, () => assert.deepEqual(valueOf(of, raw), want));
  }
});
