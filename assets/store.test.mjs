import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { apply, end, newState, statusOf } from "./store.js";

const cb = (callback, values = {}) => ({ callback, ...values });
const prompt = (content, runId = "r1") => cb("onUserMessage", { runId, content });
const permission = (requestId) => cb("onPermissionRequest", { requestId, name: "exec.run", title: "Run a command", detail: "ls" });

/** Plays responses, one a second, and returns the state. */
function play(responses, from = 0) {
  const state = newState();
  responses.forEach((response, i) => apply(state, response, from + i * 1000));
  return state;
}

/** What stands in the conversation, in short. */
const summary = ({ blocks }) => blocks.map(({ kind, text, state }) => `${kind} ${state}: ${text}`);

describe("the conversation", () => {
  const cases = [
    ["is empty at first", [], []],
    ["shows a prompt", [prompt("hello")], ["user done: hello"]],
    ["adds up the deltas of an answer",
      [cb("onStartMessage", { messageId: "m" }), cb("onMessage", { messageId: "m", delta: "a" }), cb("onMessage", { messageId: "m", delta: "b" })],
      ["answer running: ab"]],
    ["takes the complete answer over its deltas",
      [cb("onMessage", { messageId: "m", delta: "a" }), cb("onEndMessage", { messageId: "m", completeContent: "A." })],
      ["answer done: A."]],
    ["shows an answer of the past, which has no deltas", [cb("onEndMessage", { messageId: "m", completeContent: "A." })], ["answer done: A."]],
    ["shows no empty answer when only tools are called",
      [cb("onStartMessage", { messageId: "m" }), cb("onEndMessage", { messageId: "m", completeContent: "" })], []],
    ["ignores deltas after the end",
      [cb("onEndMessage", { messageId: "m", completeContent: "A." }), cb("onMessage", { messageId: "m", delta: "x" })], ["answer done: A."]],
    ["keeps answers with different ids apart, in their order",
      [cb("onMessage", { messageId: "1", delta: "a" }), cb("onMessage", { messageId: "2", delta: "b" }), cb("onMessage", { messageId: "1", delta: "c" })],
      ["answer running: ac", "answer running: b"]],
    ["shows a prompt that steers beside that of its run", [prompt("a"), prompt("b"), prompt("c", "r2")], ["user done: a", "user done: b", "user done: c"]],
    ["shows reasoning from its start", [cb("onStartReasoning", { reasoningId: "g" })], ["reasoning running: "]],
    ["shows an error of the session", [{ sessionError: "no model" }], ["error failed: no model"]],
    ["shows two equal errors twice", [{ sessionError: "gap" }, { sessionError: "gap" }], ["error failed: gap", "error failed: gap"]],
    ["stops what runs when the turn is over",
      [prompt("p"), cb("onToolExecution", { toolCallId: "t", delta: "out" }), cb("onIdle")], ["user done: p", "tool stopped: out"]],
    ["stops what runs also when a queued prompt stands after it",
      [cb("onMessage", { messageId: "m", delta: "a" }), prompt("next"), cb("onIdle")], ["answer stopped: a", "user done: next"]],
    ["does not mind unknown callbacks", [cb("onSomethingNew", { a: 1 }), cb("constructor"), {}], []],
  ];
  for (const [name, responses, want] of cases) {
    test(name, () => assert.deepEqual(summary(play(responses)), want));
  }
});

describe("a tool", () => {
  const start = cb("onStartToolExecution", { toolCallId: "t", toolName: "bash", toolArguments: "{}" });
  const cases = [
    ["runs", [start], { state: "running", result: "", error: "" }],
    ["ends with a result", [start, cb("onEndToolExecution", { toolCallId: "t", result: { content: "ok" } })], { state: "done", result: "ok", error: "" }],
    ["prefers the detailed result",
      [start, cb("onEndToolExecution", { toolCallId: "t", result: { content: "ok", detailedContent: "all ok" } })],
      { state: "done", result: "all ok", error: "" }],
    ["fails", [start, cb("onEndToolExecution", { toolCallId: "t", error: { message: "no" } })], { state: "failed", result: "", error: "no" }],
    ["ends without a start, when the start was dropped", [cb("onEndToolExecution", { toolCallId: "t" })], { state: "done", result: "", error: "" }],
  ];
  for (const [name, responses, want] of cases) {
    test(name, () => {
      const [{ state, tool }] = play(responses).blocks;
      assert.deepEqual({ state, result: tool.result, error: tool.error }, want);
    });
  }
  test("of a subagent is nested", () => {
    const [{ tool }] = play([{ ...start, parentToolCallId: "p" }]).blocks;
    assert.equal(tool.nested, true);
  });
});

describe("the duration", () => {
  const responses = [cb("onStartReasoning", { reasoningId: "g" }), cb("onEndReasoning", { reasoningId: "g", completeContent: "hm" })];
  test("is the time between start and end", () => assert.equal(play(responses).blocks[0].seconds, 1));
  test("is unknown in the past", () => assert.equal(play(responses, NaN).blocks[0].seconds, undefined));
  test("is unknown when only the end was seen live", () => {
    const state = newState();
    apply(state, responses[0], NaN);
    apply(state, responses[1], 5000);
    assert.equal(state.blocks[0].seconds, undefined);
  });
});

describe("the status", () => {
  const cases = [
    ["is idle at first", [], "idle"],
    ["is running after a prompt", [prompt("p")], "running"],
    ["is idle after the turn", [prompt("p"), cb("onIdle")], "idle"],
    ["is running again when a queued prompt gets its turn", [prompt("p"), prompt("q", "r2"), cb("onIdle"), cb("onAgentStart", { turnId: "t" })], "running"],
    ["is waiting while a question is open", [prompt("p"), permission("q")], "waiting"],
    ["is running when it is answered", [prompt("p"), permission("q"), cb("onQuestionAnswered", { requestId: "q", by: "ide" })], "running"],
    ["is waiting while one of two questions is open",
      [prompt("p"), permission("q"), permission("q2"), cb("onQuestionAnswered", { requestId: "q", by: "ide" })], "waiting"],
    ["is idle when the turn ends with a question open", [prompt("p"), permission("q"), cb("onIdle")], "idle"],
  ];
  for (const [name, responses, want] of cases) {
    test(name, () => assert.equal(statusOf(play(responses)), want));
  }
  test("is reconnecting without a connection, even with a question", () => {
    assert.equal(statusOf({ ...play([permission("q")]), connected: false }), "reconnecting");
  });
  test("is closed after the end, and no question stays", () => {
    const state = play([prompt("p"), cb("onToolExecution", { toolCallId: "t", delta: "x" }), permission("q")]);
    assert.equal(end(state, "closed").length, 1);
    assert.equal(statusOf(state), "closed");
    assert.deepEqual(state.questions, []);
  });
});

describe("a question", () => {
  test("is asked once, even if it comes twice", () => assert.equal(play([permission("q"), permission("q")]).questions.length, 1));
  test("is not asked after its answer", () => {
    const state = play([cb("onQuestionAnswered", { requestId: "q", by: "ide" }), permission("q")]);
    assert.equal(state.questions.length, 0);
    assert.equal(state.answered.get("q"), "ide");
  });
  const kinds = [
    ["of a plan has its ways", cb("onPermissionRequest", { requestId: "q", name: "plan", title: "T", detail: "# T", choices: ["interactive"] }),
      { kind: "plan", title: "T", detail: "# T", choices: ["interactive"] }],
    ["of several things names all", cb("onPermissionRequest", { requestId: "q", name: "git.commit", names: ["git.commit", "exec.run"], title: "T", detail: "d" }),
      { kind: "permission", name: "git.commit, exec.run" }],
    ["of a tool that is called plan is a permission", cb("onPermissionRequest", { requestId: "q", name: "plan", title: "T", detail: "d" }),
      { kind: "permission", title: "T", detail: "d", choices: [] }],
    ["of a sign-in has its address once", cb("onPermissionRequest", { requestId: "q", name: "sign-in", title: "T", detail: "Sign in\nhttps://a.example/", url: "https://a.example/" }),
      { kind: "sign-in", detail: "Sign in", url: "https://a.example/" }],
    ["of a form has its fields", cb("onFormRequest", { requestId: "q", source: "desk", message: "Who?", fields: [{ name: "n" }] }),
      { kind: "form", title: "Who?", source: "desk", fields: [{ name: "n" }] }],
    ["of a form without source and fields is one all the same", cb("onFormRequest", { requestId: "q", message: "Sure?" }), { kind: "form", source: "", fields: [] }],
  ];
  for (const [name, response, want] of kinds) {
    test(name, () => {
      const [question] = play([response]).questions;
      assert.deepEqual(Object.fromEntries(Object.keys(want).map((key) => [key, question[key]])), want);
    });
  }
  const inputs = [
    ["with choices and no word about free text takes free text", { choices: ["a"] }, true],
    ["with choices alone takes no free text", { choices: ["a"], freeform: false }, false],
    ["without choices takes free text in any case", { freeform: false }, true],
  ];
  for (const [name, values, want] of inputs) {
    test(name, () => assert.equal(play([cb("onUserInputRequest", { requestId: "q", question: "?", ...values })]).questions[0].freeform, want));
  }
});

test("a response touches only its own block", () => {
  const state = play([prompt("p"), cb("onMessage", { messageId: "m", delta: "a" })]);
  const touched = apply(state, cb("onMessage", { messageId: "m", delta: "b" }), 0);
  assert.deepEqual(touched, [state.blocks[1]]);
});

test("reading the same session again gives the same state", () => {
  const past = [prompt("p"), cb("onEndMessage", { messageId: "m", completeContent: "ab" }), { sessionError: "e" }, cb("onIdle")];
  const live = [prompt("p"), cb("onMessage", { messageId: "m", delta: "a" }), ...past.slice(1)];
  assert.deepEqual(summary(play(past)), summary(play(live)));
  assert.deepEqual(play(past).blocks.map(({ key }) => key), play(live).blocks.map(({ key }) => key));
});
