import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { prependPast } from "./prepend.js";
import { Sessions } from "./sessions.js";
import { MAX_ITEMS, apply, newSession } from "./store.js";

const event = (run, event, meta = {}) => ({ method: "agent.event", params: { run_id: run, seq: 0, event, meta: { session_id: "s", ...meta } } });
const status = (run, status) => ({ method: "run.status", params: { run_id: run, status, meta: { session_id: "s" } } });
const prompt = (run, content) => event(run, { type: "hidden_user_message", content });
const call = (run, id) => event(run, { type: "tool_call", tool: "bash", args: { command: "ls" }, tool_call_id: id });
const result = (run, id) => event(run, { type: "tool_result", tool: "bash", result: "a.go", tool_call_id: id });
const final = (run, content) => event(run, { type: "final", content }, { id: content });

const made = (...messages) => {
  const session = newSession({ session_id: "s" });
  for (const message of messages) apply(session, message, NaN);
  return session;
};
const kinds = ({ items }) => items.map(({ kind, text, content }) => text ?? content ?? kind);

const one = [status("1", "running"), prompt("1", "a"), call("1", "t"), result("1", "t"), final("1", "A"), status("1", "completed")];
const two = [status("2", "running"), prompt("2", "b"), final("2", "B"), status("2", "completed")];

describe("earlier items", () => {
  test("are prepended", () => {
    const session = made(...two);
    prependPast(session, made(...one));
    assert.deepEqual(kinds(session), kinds(made(...one, ...two)));
    assert.equal(session.front, 4);
    assert.equal(session.index.size, session.items.length);
    assert.deepEqual(Object.keys(session.runs).sort(), ["1", "2"]);
  });

  test("can end anywhere in a run", () => {
    const all = [...one, ...two];
    const continued = (before) => [ // as the portal sends it with what follows
      ...before.filter(({ params }) => params.status === "running" && !before.some((other) => other.params.run_id === params.run_id && other.params.status === "completed")),
      ...before.filter(({ params }) => params.event?.type === "tool_call" && !before.some((other) => other.params.event?.type === "tool_result")),
    ];
    for (let at = 1; at < all.length; at++) {
      const session = made(...continued(all.slice(0, at)), ...all.slice(at));
      prependPast(session, made(...all.slice(0, at)));
      assert.deepEqual(kinds(session), kinds(made(...all)), `divided at ${at}`);
      const tool = session.items.find(({ kind }) => kind === "tool");
      assert.deepEqual([tool.args, tool.result, tool.state], [{ command: "ls" }, "a.go", "completed"]);
      assert.equal(new Set(session.items.map(({ key }) => key)).size, session.items.length);
      assert.ok(session.items.every((item) => session.index.get(item.key) === item));
    }
  });

  test("give a continued text its place, and drop an abandoned one", () => {
    const begins = (id) => event("1", { type: "delta", target: "text", id, content: "" });
    const steered = event("1", { type: "hidden_user_message", content: "and this", steers: true }, { id: "2" });
    const session = made(begins("m"), event("1", { type: "text", content: "all of it" }, { id: "m" }));
    const { front } = session;
    prependPast(session, made(event("1", { type: "hidden_user_message", content: "a" }, { id: "1" }), begins("m"), steered, begins("n")));
    assert.deepEqual(session.items.map(({ text, content, steers }) => [text ?? content, steers]), [["a", false], ["all of it", undefined], ["and this", true]]);
    assert.equal(session.front - front, 3);
    assert.equal(session.runs["1"].prompts, 2);
  });

  test("contain nothing of a retracted text", () => {
    const session = made(prompt("1", "a"), event("1", { type: "delta", target: "text", id: "m", content: "lost" }), event("1", { type: "text", content: "" }, { id: "m" }));
    assert.deepEqual(kinds(session), ["a"]);
    assert.equal(session.index.size, 1);
  });

  test("add up file changes, and keep a newer plan", () => {
    const edit = (run) => event(run, { type: "tool_result", tool: "edit", result: "ok", tool_call_id: "e" }, { added: 2, removed: 1 });
    const edited = (run) => [event(run, { type: "tool_call", tool: "edit", args: { path: "/d/a.go" }, tool_call_id: "e" }), edit(run)];
    const plan = (text) => event("", { type: "plan", text, todos: [] });
    const session = made(...edited("2"), plan("new"));
    prependPast(session, made(...edited("1"), plan("old")));
    assert.deepEqual({ ...session.files }, { "/d/a.go": { added: 4, removed: 2 } });
    assert.equal(session.plan.text, "new");
  });

  test("are kept beyond the usual maximum", () => {
    const many = (run, n) => Array.from({ length: n }, (_, i) => final(run, `${run}-${i}`));
    const session = made(...many("2", MAX_ITEMS));
    prependPast(session, made(...many("1", 1000)));
    for (const message of many("3", 400)) apply(session, message, NaN);
    assert.equal(session.items[0].content, "1-0");
    for (const message of many("4", 200)) apply(session, message, NaN);
    assert.ok(session.items.length < MAX_ITEMS + 1500);
    assert.equal(session.earlier, "");
    assert.ok(session.dropped);
  });
});

test("earlier items are loaded until there are no more", async () => {
  const calls = [];
  const rpc = { call: (method, params) => new Promise((resolve, reject) => calls.push({ method, params, resolve, reject })) };
  const sessions = new Sessions(rpc, () => {}, () => {});
  const opened = sessions.open("s");
  await new Promise(setImmediate);
  for (const message of two) sessions.receive(message);
  calls[0].resolve({ session: { session_id: "s" }, truncated: true, earlier: "c1" });
  const session = await opened;

  const both = [sessions.earlier("s"), sessions.earlier("s")];
  assert.equal(calls.length, 2, "it is asked once");
  assert.equal(calls[1].params.before, "c1");
  calls[1].resolve({ messages: one, earlier: "c0", truncated: true });
  assert.deepEqual(await Promise.all(both), [true, true]);
  assert.deepEqual(kinds(session), kinds(made(...one, ...two)));

  const failed = sessions.earlier("s");
  calls[2].reject(new Error("gone"));
  assert.equal(await failed, false);
  const last = sessions.earlier("s");
  assert.equal(calls[3].params.before, "c0");
  calls[3].resolve({ messages: [] });
  assert.equal(await last, true);
  assert.equal(session.truncated, false);
  assert.equal(await sessions.earlier("s"), false);
  assert.equal(calls.length, 4);
});
