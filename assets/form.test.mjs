import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { controlOf, countProblem, valueOf } from "./form.js";

const colours = [{ value: "r", title: "Red" }, { value: "g", title: "Green" }];
const field = (type, values = {}) => ({ name: "n", title: "N", type, required: false, ...values });

describe("controls of fields", () => {
  const cases = [
    ["a text", field("string", { default: "x" }), ["input", "text", ["x"]]],
    ["an e-mail address", field("string", { format: "email" }), ["input", "email", []]],
    ["a format named like an object property", field("string", { format: "constructor" }), ["input", "text", []]],
    ["a text with choices", field("string", { choices: colours, default: "g" }), ["select", "", ["g"]]],
    ["a whole number", field("integer", { default: 0 }), ["input", "number", ["0"]]],
    ["yes or no", field("boolean"), ["select", "", []]],
    ["yes or no, preset to no", field("boolean", { default: false }), ["select", "", ["no"]]],
    ["a list with choices", field("array", { choices: colours, default: ["r"] }), ["checks", "", ["r"]]],
    ["a list without choices", field("array", { default: ["a", "b"] }), ["lines", "", ["a\nb"]]],
    ["an unknown type", field("object", { default: null }), ["input", "text", []]],
  ];
  for (const [name, of, [control, type, chosen]] of cases) {
    test(name, () => {
      const got = controlOf(of);
      assert.deepEqual([got.control, got.type, got.chosen], [control, type, chosen]);
    });
  }
});

describe("values of fields", () => {
  const cases = [
    ["a text", field("string"), [" x "], " x "],
    ["an empty text is left out", field("string"), [""], undefined],
    ["a number", field("number"), ["1.5"], 1.5],
    ["an empty number", field("integer"), [""], undefined],
    ["yes", field("boolean"), ["yes"], true],
    ["no", field("boolean"), ["no"], false],
    ["neither yes nor no", field("boolean"), [""], undefined],
    ["checks", field("array", { choices: colours }), ["r", "g"], ["r", "g"]],
    ["nothing checked", field("array", { choices: colours }), [], undefined],
    ["required, nothing checked", field("array", { choices: colours, required: true }), [], []],
    ["lines", field("array"), ["a\n\n b \n"], ["a", "b"]],
  ];
  for (const [name, of, raw, want] of cases) {
    test(name, () => assert.deepEqual(valueOf(of, raw), want));
  }
});

describe("the number of items of a list", () => {
  const list = (values) => field("array", { choices: colours, required: true, ...values });
  const cases = [
    ["is too low", list({ min: 2 }), ["r"], "At least 2 items are required."],
    ["is too low for a list that is required", list({ min: 1 }), [], "At least 1 item is required."],
    ["is too high", list({ max: 1 }), ["r", "g"], "At most 1 item is allowed."],
    ["fits", list({ min: 1, max: 2 }), ["r", "g"], ""],
    ["has no limits", list({}), [], ""],
    ["may be zero if the list may be left out", list({ required: false, min: 2 }), [], ""],
    ["counts for lines", field("array", { min: 2 }), ["a\n\n"], "At least 2 items are required."],
    ["is not that of a number", field("number", { min: 2 }), ["1"], ""],
  ];
  for (const [name, of, raw, want] of cases) test(name, () => assert.equal(countProblem(of, raw), want));
});
