import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as labels from "./labels.js";

describe("a tool call reads as a sentence", () => {
  const dir = "/home/me/project";
  const cases = [
    ["a command", { tool: "bash", args: { command: "go test ./…", description: "Test" }, state: "completed" }, "Ran go test ./…"],
    ["a running command", { tool: "bash", args: { command: "ls" }, state: "running" }, "Running ls"],
    ["a command that waits for permission", { tool: "bash", args: { command: "ls" }, state: "waiting" }, "Run ls"],
    ["a file in the directory", { tool: "edit", args: { path: `${dir}/server/guard.go` }, state: "completed" }, "Edited server/guard.go"],
    ["a file outside the directory", { tool: "view", args: { path: `${dir}-2/a.go` } }, `Read ${dir}-2/a.go`],
    ["the directory itself", { tool: "view", args: { path: `${dir}/` } }, "Read ."],
    ["arguments as JSON text", { tool: "view", args: '{"path": "a.go"}' }, "Read a.go"],
    ["invalid JSON arguments", { tool: "view", args: "{" }, "Read a file"],
    ["a denied command", { tool: "bash", args: { command: "ls" }, state: "error", denied: true }, "Run ls"],
    ["an unknown tool", { tool: "github-list_issues", args: { owner: "x" } }, "Called github-list_issues"],
    ["an unknown tool with a title", { tool: "list_issues", title: "List issues", args: {} }, "Called List issues"],
    ["a known tool without its argument", { tool: "bash", args: {}, state: "running" }, "Running a command"],
    ["an argument of another type", { tool: "bash", args: { command: 1 } }, "Ran a command"],
    ["a name of an object property", { tool: "constructor", args: {} }, "Called constructor"],
    ["no name", { tool: "", args: null }, "Called a tool"],
  ];
  for (const [name, item, want] of cases) {
    test(name, () => {
      const { verb, object } = labels.describeTool(item, dir);
      assert.equal(`${verb} ${object}`, want);
    });
  }
});

describe("grouped calls", () => {
  const read = (path, more) => ({ kind: "tool", tool: "view", args: { path }, state: "completed", ...more });
  test("are completed or running", () => {
    assert.equal(labels.groupingVerb(read("a")), "read");
    assert.equal(labels.groupingVerb({ kind: "tool", tool: "sql" }), "todo");
    assert.equal(labels.groupingVerb(read("a", { state: "running" })), "read");
    assert.equal(labels.groupingVerb(read("a", { state: "error" })), "");
    assert.equal(labels.groupingVerb(read("a", { state: "waiting" })), "");
    assert.equal(labels.groupingVerb({ kind: "tool", tool: "bash" }), "");
    assert.equal(labels.groupingVerb({ kind: "text" }), "");
  });
  test("are counted by file", () => {
    assert.deepEqual(labels.describeGroup([read("a/x.go"), read("b/y.go"), read("a/x.go")]), { verb: "Read", object: "2 files", names: "x.go, y.go" });
  });
  test("show the file if there is only one", () => {
    assert.deepEqual(labels.describeGroup([read("x.go"), read("x.go", { state: "running" })]), { verb: "Reading", object: "x.go", names: "" });
  });
});

test("the text of a notice", () => {
  for (const [notice, raw, want] of [
    ["session.warning", { kind: 1, message: "Slow down." }, "Slow down."],
    ["portal.idle_forgotten", { text: "It was ended." }, "It was ended."],
    ["session.info", { infoType: "notification", message: "There is a new model." }, "There is a new model."],
    ["session.info", { infoType: "timing", message: "12 ms" }, ""],
    ["session.indexed_search", { message: "3 files" }, ""],
    ["session.warning", { message: "" }, ""],
    ["session.warning", "x", ""],
    ["portal.later_event", null, ""],
  ]) assert.equal(labels.noticeText({ notice, raw }), want);
});

test("diff counts", () => {
  assert.equal(labels.diffCounts({ added: 12, removed: 3 }), "+12 −3");
  assert.equal(labels.diffCounts({ added: 0, removed: 3 }), "−3");
  assert.equal(labels.diffCounts({}), "");
});

describe("durations", () => {
  for (const [seconds, want] of [[0, "0.1 s"], [0.42, "0.4 s"], [0.96, "1 s"], [4.4, "4 s"], [59.6, "1 min 0 s"], [61, "1 min 1 s"], [3700, "1 h 1 min"]]) {
    test(want, () => assert.equal(labels.duration(seconds), want));
  }
  test("are empty if unknown", () => {
    assert.equal(labels.took({ started: 0, ended: 5 }), "");
    assert.equal(labels.took({ started: 5 }), "");
    assert.equal(labels.took({ started: 5000, ended: 4000 }), "");
  });
  test("of reasoning", () => {
    assert.equal(labels.reasoningLabel({ done: false }), "Thinking…");
    assert.equal(labels.reasoningLabel({ done: true, started: 1000, ended: 5000 }), "Thought for 4 s");
    assert.equal(labels.reasoningLabel({ done: true, started: 1000, ended: 1100 }), "Thought briefly");
    assert.equal(labels.reasoningLabel({ done: true }), "Thought");
  });
  test("prefer the agent's measurement", () => assert.equal(labels.took({ started: 1, ended: 9000, took: 2000 }), "2 s"));
  test("of tool calls, with their outcome", () => {
    assert.equal(labels.toolOutcome({ tool: "x", state: "error", started: 1000, ended: 4000 }), "failed, 3 s");
    assert.equal(labels.toolOutcome({ tool: "x", state: "waiting" }), "waiting for you");
  });
});

describe("the summary of a run", () => {
  test("has time, tokens and multiplier", () => {
    assert.equal(labels.runSummary({ status: "completed", took: 12_000, input: 3000, output: 100, multiplier: 1 }), "12 s · 3.1k tokens · ×1");
  });
  test("has an outcome other than completed", () => assert.equal(labels.runSummary({ status: "cancelled" }), "Stopped"));
  test("is empty if nothing is known", () => assert.equal(labels.runSummary({ status: "completed", multiplier: 0 }), ""));
});

test("the last lines of a text", () => {
  assert.equal(labels.lastLines("a\nb\nc\n\n", 2), "b\nc");
  assert.equal(labels.lastLines("", 2), "");
  assert.equal(labels.lastLines("x".repeat(5000), 2).length, 2000);
});

test("the title of a permission names a file by its path in the directory", () => {
  assert.equal(labels.relativeTitle("Write /w/src/a.go", "/w"), "Write src/a.go");
  assert.equal(labels.relativeTitle("Write /etc/hosts", "/w"), "Write /etc/hosts");
  assert.equal(labels.relativeTitle("Run cat /w/a.go", "/w"), "Run cat /w/a.go");
  assert.equal(labels.relativeTitle("Write /w/a.go"), "Write /w/a.go");
});

describe("remedies for errors", () => {
  test("of authentication", () => assert.deepEqual(labels.remedies({ cause: "unauthenticated" }), ["sign-in", "retry"]));
  test("of an account, as the hint says", () => assert.deepEqual(labels.remedies({ cause: "unauthenticated", hint: "Sign in with `copilot login`, then try again." }), ["sign-in", "retry"]));
  test("of an account whose CLI is not on PATH", () => assert.deepEqual(labels.remedies({ cause: "unauthenticated", hint: "Sign in with `/opt/cli login`, then try again." }), ["sign-in", "retry"]));
  test("of a provider's key, where signing in does not help", () => {
    const message = "Authentication failed with provider at http://localhost/v1 (HTTP 401).";
    assert.deepEqual(labels.remedies({ cause: "unauthenticated", message, hint: "Correct the key of the provider `mine` in the configuration." }), ["retry", "model"]);
  });
  test("of rate limits", () => assert.deepEqual(labels.remedies({ message: "429 Too Many Requests" }), ["retry", "model"]));
  test("of any other kind", () => assert.deepEqual(labels.remedies({ message: "It broke." }), ["retry"]));
});
