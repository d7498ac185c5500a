import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { askingAgent, questionText, questionSource, closingText, questionTitle, planChoiceLabel, httpURL } from "./question-text.js";

const asked = (kind, params, method = "ui.confirm.request") => ({ kind, method, params });

describe("the text of a question", () => {
  test("has a title", () => {
    assert.equal(questionTitle(asked("permission", { title: "Run a command" })), "Run a command");
    assert.equal(questionTitle(asked("plan", { title: "x" })), "Approve this plan?");
    assert.equal(questionTitle(asked("input", { title: "The agent asks", message: "Which?" }, "ui.prompt.request")), "Which?");
    assert.equal(questionTitle(asked("permission", { title: "" })), "Allow the agent to continue?");
  });
  test("has details without the URL", () => {
    const url = "https://a.example/login";
    assert.equal(questionText(asked("sign-in", { message: `Sign in there\n\n${url}`, meta: { url } })), "Sign in there");
    assert.equal(questionText(asked("sign-in", { message: url, meta: { url } })), "");
    assert.equal(questionText(asked("permission", { message: "ls" })), "ls");
    assert.equal(questionText(asked("input", { message: "Which?" }, "ui.prompt.request")), "");
  });
  test("names its source", () => {
    assert.equal(questionSource(asked("form", { title: "github asks" })), "github asks");
  });
});

describe("the closing text of a card", () => {
  const cases = [
    [undefined, "No answer needed."],
    [{ by: "", ending: "expired" }, "Timed out."],
    [{ by: "", ending: "cancelled" }, "No answer needed."],
    [{ by: "ui", ending: "answered", approved: true }, "Allowed by another window."],
    [{ by: "constructor", ending: "answered" }, "Answered by constructor."],
    [{ by: "rest", ending: "answered", approved: false, reason: "no" }, "Denied by a REST client. “no”"],
  ];
  for (const [ending, want] of cases) test(want, () => assert.equal(closingText(ending), want));
});

test("unknown plan choices are shown by name", () => {
  assert.equal(planChoiceLabel("interactive"), "Approve");
  assert.equal(planChoiceLabel("toString"), "toString");
});

test("only http and https URLs are links", () => {
  assert.equal(httpURL("https://example.com/a b"), "https://example.com/a%20b");
  assert.equal(httpURL("javascript:alert(1)"), "");
  assert.equal(httpURL("nowhere"), "");
});

test("a question names the sub-agent of its tool call", () => {
  const index = new Map([["r/tool:c", { agent: "a1" }], ["r/tool:d", {}]]);
  const session = /** @type {any} */ ({ index, agents: { a1: { name: "explore", title: "Explore <b>" } } });
  const of = (/** @type {string | undefined} */ call) => askingAgent(/** @type {any} */ ({ params: { run_id: "r", meta: { tool_call_id: call } } }), session);
  assert.equal(of("c"), "Explore <b>");
  assert.equal(of("d"), "");
  assert.equal(of("unknown"), "");
  assert.equal(of(undefined), "");
  session.agents = {};
  assert.equal(of("c"), "a1");
  assert.equal(questionSource(/** @type {any} */ ({ kind: "permission", params: {} }), "Explore"), "The sub-agent Explore needs your permission");
});
