import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { duration, describeTool, lastLines } from "./tools.js";

describe("a tool call reads as a sentence", () => {
  const cases = [
    ["a command", "bash", { command: "go test ./…", description: "Test" }, false, "Ran go test ./…"],
    ["a command that runs", "bash", { command: "ls" }, true, "Running ls"],
    ["a file that was read", "view", { path: "a.go" }, false, "Read a.go"],
    ["a file that was edited", "str_replace_editor", { command: "str_replace", path: "a.go" }, false, "Edited a.go"],
    ["a search", "grep", { pattern: "TODO", path: "." }, false, "Searched TODO"],
    ["an unknown tool", "github-list_issues", { owner: "x" }, false, "Called github-list_issues"],
    ["a known tool without its argument", "bash", {}, true, "Calling bash"],
    ["a known tool with an argument that is no text", "bash", { command: 1 }, false, "Called bash"],
    ["a name that every object has", "constructor", {}, false, "Called constructor"],
  ];
  for (const [name, tool, args, running, want] of cases) {
    test(name, () => {
      const { verb, object } = describeTool(tool, JSON.stringify(args), running);
      assert.equal(`${verb} ${object}`, want);
    });
  }
  for (const args of ["", "{", "null", "[1]", '"x"']) {
    test(`arguments that are no object: ${args || "none"}`, () => assert.equal(describeTool("bash", args, false).object, "bash"));
  }
});

describe("the last lines", () => {
  const cases = [
    ["of nothing are nothing", "", ""],
    ["of few lines are all", "a\nb\n", "a\nb"],
    ["of many lines are the last two", "a\nb\nc\n\n", "b\nc"],
    ["of blank lines are nothing", "\n\n", ""],
    ["keep a blank line in the middle", "a\n\nc", "\nc"],
    ["of an endless line are its end", "x".repeat(9000), "x".repeat(2000)],
  ];
  for (const [name, text, want] of cases) {
    test(name, () => assert.equal(lastLines(text, 2), want));
  }
});

for (const [seconds, want] of [[0.2, "under 1 s"], [4.4, "4 s"], [59.7, "1 min 0 s"], [125, "2 min 5 s"]]) {
  test(`${seconds} s is said as ${want}`, () => assert.equal(duration(seconds), want));
}
