import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MAX_ITEMS, apply, applyInfo, isCapable, newSession, setDetached, setWatchers, takeChanges } from "./store.js";

const info = { session_id: "s", title: "", model: "demo", directory: "/d", state: "idle", origin: "ui" };
const meta = (more = {}) => ({ session_id: "s", cursor: "c", ...more });
const event = (event, more = {}, seq = 0, run = "r") => ({ method: "agent.event", params: { run_id: run, seq, event, meta: meta(more) } });
const prompt = (content, run = "r") => event({ type: "hidden_user_message", content }, {}, -1, run);
const status = (status, message, run = "r") => ({ method: "run.status", params: { run_id: run, status, message, meta: meta() } });
const delta = (target, id, content, html) => event({ type: "delta", target, id, content, html });
const text = (content, id, more = {}) => event({ type: "text", content, timestamp: 9000 }, { id, ...more });
const reasoning = (content, id, more = {}) => event({ type: "reasoning", content, timestamp: 9000 }, { id, ...more });
const final = (content, id, more = {}) => event({ type: "final", content }, { id, ...more });
const step = (id, title = "bash") => event({ type: "step_start", step_id: id, title, step_number: 1 });
const call = (id, args = {}, tool = "bash") => event({ type: "tool_call", tool, args, tool_call_id: id });
const result = (id, text, more = {}, metas = {}) => event({ type: "tool_result", tool: "bash", result: text, tool_call_id: id, ...more }, metas);
const done = (id, status = "completed", ms = 40) => event({ type: "step_complete", step_id: id, status, duration_ms: ms });
const question = (id, rpc = `rpc-${id}`, toolCall, run = "r") => ({ id: rpc, method: "ui.confirm.request",
  params: { run_id: run, title: "t", message: "m", meta: { session_id: "s", question_id: id, kind: "permission", tool_call_id: toolCall } } });
const at = (time, message) => ({ ...message, params: { ...message.params, meta: { ...message.params.meta, time } } });
const answered = (id, more = {}) => event({ type: "question_answered", question_id: id, by: "ide", ending: "answered", approved: true, ...more });

/** Plays messages, one a second from 1 s on. */
function play(messages, session = newSession(info), from = 1000) {
  messages.forEach((message, i) => apply(session, message, from + i * 1000));
  return session;
}

/** Summarizes the items of a session. */
const summary = ({ items }) => items.map((item) => [item.kind, item.state ?? item.status, item.content ?? item.text ?? item.result ?? item.message].filter((x) => x !== undefined).join(" "));

describe("items", () => {
  const cases = [
    ["are empty at first", [], []],
    ["of a run are its prompt, answer and end",
      [prompt("say one"), status("running"), delta("text", "b", "o"), delta("text", "b", "ne"), final("one", "b"), status("completed")],
      ["prompt say one", "text one", "end completed "]],
    ["of the past are the same without deltas", [prompt("say one"), status("running"), final("one", "b"), status("completed")],
      ["prompt say one", "text one", "end completed "]],
    ["have no empty answer", [final("", ""), status("completed")], ["end completed "]],
    ["append deltas by id", [delta("text", "1", "a"), delta("reasoning", "1", "b"), delta("text", "1", "c")], ["text ac", "reasoning b"]],
    ["ignore deltas after the complete block", [text("A.", "m"), delta("text", "m", "x")], ["text A."]],
    ["keep two blocks without an id", [text("a"), event({ type: "text", content: "b", timestamp: 1 }, {}, 3)], ["text a", "text b"]],
    ["have a tool with its output, then its result",
      [step("t"), call("t"), delta("tool", "t", "he"), delta("tool", "t", "ron"), result("t", "heron"), done("t")], ["tool completed heron"]],
    ["have concurrent tools",
      [step("a"), call("a"), step("b"), call("b"), result("b", "2"), done("b"), result("a", "1"), done("a")], ["tool completed 1", "tool completed 2"]],
    ["have a tool that failed", [call("t"), result("t", "no such file", { is_error: true }), done("t", "error")], ["tool error no such file"]],
    ["have a tool whose start is unknown", [result("t", "ok")], ["tool completed ok"]],
    ["end with their run",
      [status("running"), delta("text", "m", "a"), call("t"), status("cancelled", "changed my mind")],
      ["text a", "tool error ", "end cancelled changed my mind"]],
    ["have one end per run", [status("running"), status("error", "no"), status("error", "no")], ["end error no"]],
    ["have steering prompts in their run", [prompt("a"), status("running"), prompt("b")], ["prompt a", "prompt b"]],
    ["have every error and notice",
      [event({ type: "error", kind: "internal", message: "x" }), event({ type: "error", kind: "internal", message: "x" }), event({ type: "notice", kind: "gap", raw: null })],
      ["error x", "error x", "notice"]],
    ["have one item per compaction",
      [event({ type: "compaction_start", timestamp: 1 }), event({ type: "compaction_complete", timestamp: 2, compacted: true }, {}, 1)], ["compaction completed"]],
    ["have no end of a run whose prompt was sent into an earlier one", [status("running"), final("", ""), status("completed", "the prompt was sent into an earlier run")], []],
    ["ignore unknown messages", [event({ type: "constructor" }), { method: "portal.later", params: {} }, event({ type: "new" })], []],
  ];
  for (const [name, messages, want] of cases) test(name, () => assert.deepEqual(summary(play(messages)), want));

  test("have the same keys live and from the past", () => {
    const past = [prompt("p"), status("running"), reasoning("hm", "g"), text("a", "m"), step("t"), call("t"), result("t", "x"), done("t"), final("b", "n"), status("completed")];
    const live = [...past.slice(0, 2), delta("reasoning", "g", "h"), past[2], delta("text", "m", "a"), ...past.slice(3)];
    const keys = (messages) => play(messages).items.map(({ key }) => key);
    assert.deepEqual(keys(live), keys(past));
  });

  test("are evicted from the front when there are too many", () => {
    const session = newSession(info);
    for (let i = 0; i < MAX_ITEMS + 501; i++) apply(session, text("x", `m${i}`), 0);
    assert.equal(session.items.length, MAX_ITEMS);
    assert.equal(session.index.size, MAX_ITEMS);
    assert.equal(session.truncated, true);
    assert.ok(takeChanges(session).items.has("r/text:m0"));
  });
});

describe("HTML", () => {
  test("keeps the start of its tail that did not change", () => {
    const session = play([
      delta("text", "m", "a", { append: "", tail: "<p>𝕩 a</p>" }),
      delta("text", "m", " b", { append: "", keep: 7, tail: " b</p>" }),
    ]);
    assert.equal(session.items[0].tail, "<p>𝕩 a b</p>");
    apply(session, delta("text", "m", "c", { append: "<p>𝕩 a b</p>", tail: "<p>c</p>" }), 0);
    assert.equal(session.items[0].tail, "<p>c</p>");
  });
  test("is appended, its tail replaced, and both are replaced by the complete block", () => {
    const session = play([delta("text", "m", "a b", { append: "<p>a</p>", tail: "b" }), delta("text", "m", "c", { append: "", tail: "bc" })]);
    const item = session.items[0];
    assert.deepEqual([item.html, item.tail, item.done], ["<p>a</p>", "bc", false]);
    apply(session, final("a bc", "m", { html: "<p>a</p><p>bc</p>" }), 0);
    assert.deepEqual([item.html, item.tail, item.done, item.final], ["<p>a</p><p>bc</p>", "", true, true]);
  });
  test("of a tool is its last lines, then its result", () => {
    const session = play([call("t"), delta("tool", "t", "x", { append: "", tail: "<pre>x</pre>" })]);
    assert.equal(session.items[0].tail, "<pre>x</pre>");
    apply(session, result("t", "ok", {}, { html: "<pre>ok</pre>", detail: "all ok" }), 0);
    const { html, tail, detail } = session.items[0];
    assert.deepEqual([html, tail, detail], ["<pre>ok</pre>", "", "all ok"]);
  });
});

describe("a block", () => {
  test("of reasoning ends when the next item starts, also after a reload", () => {
    const whole = [at(9000, reasoning("hm", "g", { started: 2000 })), at(9001, text("a", "m", { started: 5000 }))];
    const live = [at(2001, delta("reasoning", "g", "h")), at(5001, delta("text", "m", "a")), ...whole];
    for (const messages of [whole, live]) {
      const [{ started, ended }] = play(messages).items;
      assert.deepEqual([started, ended], [2000, 5000]);
    }
    assert.equal(play(live.slice(0, 2)).items[0].ended, 5001);
    assert.equal(play([at(2000, delta("reasoning", "g", "h")), at(4000, step("t"))]).items[0].ended, 4000);
  });

  test("has the times of its deltas", () => {
    const [{ started, ended }] = play([at(2000, delta("reasoning", "g", "h")), at(6000, reasoning("hm", "g"))]).items;
    assert.deepEqual([started, ended], [2000, 6000]);
  });
  test("without deltas has the times of its event", () => {
    const [thought, words] = play([at(6000, reasoning("hm", "g", { started: 2000 })), at(9000, text("a", "m"))]).items;
    assert.deepEqual([thought.started, thought.ended, words.started, words.ended], [2000, 6000, null, 9000]);
  });
});

describe("a tool", () => {
  test("has the duration measured by the portal", () => assert.equal(play([step("t"), call("t"), result("t", ""), done("t")]).items[0].took, 40));
  test("of the past has it, too, and its times", () => {
    const past = [at(5000, step("t")), at(5001, call("t")), at(8000, result("t", "")), at(8000, done("t"))];
    const [{ took, started, ended }] = play(past).items;
    assert.deepEqual([took, started, ended], [40, 5000, 8000]);
  });
  test("is marked as denied", () => {
    assert.equal(play([call("t"), result("t", "not today", { is_error: true, code: "denied" })]).items[0].denied, true);
  });
  test("is not denied because its output mentions a denial", () => {
    assert.equal(play([call("t"), result("t", "Permission denied", { is_error: true, code: "exit" })]).items[0].denied, false);
  });
  test("waits for permission, and then runs", () => {
    const session = play([status("running"), step("t"), call("t"), status("awaiting_ui"), question("q", "1", "t")]);
    assert.equal(session.items[0].state, "waiting");
    play([answered("q")], session);
    assert.equal(session.items[0].state, "running");
  });
  test("counts the changed lines of a file", () => {
    const change = (id, added) => [call(id, { path: "/d/a" }, "edit"), result(id, "ok", {}, { added, removed: 1 })];
    assert.deepEqual({ ...play([...change("a", 2), ...change("b", 3)]).files }, { "/d/a": { added: 5, removed: 2 } });
  });
  test("counts removed lines", () => {
    assert.deepEqual({ ...play([call("t", { path: "/d/a" }, "edit"), result("t", "ok", {}, { removed: 3 })]).files }, { "/d/a": { added: 0, removed: 3 } });
  });
  test("counts the lines of its preview if the portal does not", () => {
    const preview = event({ type: "permission.preview", tool: "create", tool_call_id: "t", file_path: "/d/a", diff: "--- a\n+++ b\n@@ -1 +1,2 @@\n-x\n+y\n+z\n" });
    assert.deepEqual({ ...play([call("t", {}, "create"), preview, result("t", "ok")]).files }, { "/d/a": { added: 2, removed: 1 } });
    assert.deepEqual({ ...play([call("t", {}, "create"), preview, result("t", "no", { is_error: true })]).files }, {});
  });
  test("changes a file of any name", () => {
    const { files } = play([call("t", { path: "__proto__" }, "edit"), result("t", "ok", {}, { added: 1 })]);
    assert.deepEqual(Object.entries(files), [["__proto__", { added: 1, removed: 0 }]]);
    assert.equal(({}).added, undefined);
  });
  test("keeps the end of a long output", () => {
    const session = play([call("t"), ...Array.from({ length: 40 }, (_, i) => delta("tool", "t", `${i} `.repeat(2000)))]);
    assert.ok(session.items[0].output.length <= 128 * 1024);
    assert.ok(session.items[0].output.endsWith("39 "));
  });
});

describe("queued prompts", () => {
  const queue = (...runs) => event({ type: "queue", waiting: runs.map((run) => ({ run_id: run, text: `of ${run}`, by: "rest" })) });
  const runs = ({ waiting }) => waiting.map(({ run }) => run);
  test("are those of the last event or result", () => {
    const session = play([status("running"), queue("a"), queue("a", "b")]);
    assert.deepEqual(session.waiting, [{ run: "a", text: "of a", by: "rest" }, { run: "b", text: "of b", by: "rest" }]);
    applyInfo(session, { ...info, waiting: [{ run_id: "b", text: "x" }] });
    assert.deepEqual(session.waiting, [{ run: "b", text: "x", by: "" }]);
    applyInfo(session, info);
    assert.deepEqual(runs(session), ["b"], "a list has no queue");
  });
  test("leave the queue when their runs start", () => {
    const session = play([status("running"), queue("a", "b"), status("completed")]);
    takeChanges(session);
    play([status("running", "", "a")], session);
    assert.deepEqual(runs(session), ["b"]);
    assert.ok(takeChanges(session).parts.has("waiting"));
  });
  test("are cleared when the session closes", () => assert.deepEqual(runs(play([queue("a"), { method: "portal.session.closed", params: { session_id: "s" } }])), []));
});

test("the last permissions are in force", () => {
  const session = newSession({ ...info, permissions: { "*": "deny" } });
  assert.deepEqual(session.permissions, { "*": "deny" });
  play([event({ type: "permissions", rules: { "fs.write": "allow" } })], session);
  assert.deepEqual(session.permissions, { "fs.write": "allow" });
  assert.ok(takeChanges(session).parts.has("permissions"));
});

test("the last remembered permissions are in force", () => {
  const session = newSession({ ...info, permissions: { "exec.run(ls)": "allow" }, remembered: { "exec.run(ls)": "allow" } });
  assert.deepEqual(session.remembered, { "exec.run(ls)": "allow" });
  play([event({ type: "permissions", rules: { "exec.run": "allow" }, remembered: { "exec.run": "allow" } })], session);
  assert.deepEqual(session.remembered, { "exec.run": "allow" });
  play([event({ type: "permissions", rules: {} })], session);
  assert.deepEqual(session.remembered, {}, "all are revoked");
});

test("watchers come from the list", () => {
  const session = newSession(info);
  takeChanges(session);
  setWatchers(session, { ...info, watchers: 3 });
  assert.equal(session.watchers, 3);
  assert.ok(takeChanges(session).parts.has("usage"));
  setWatchers(session, undefined);
  assert.equal(session.watchers, 3);
  assert.equal(takeChanges(session).parts.size, 0, "nothing has changed");
});

describe("the end of a run", () => {
  const tokens = (input, output) => event({ type: "usage", model: "demo", input_tokens: input, output_tokens: output, cached_tokens: 0 });
  const messages = [prompt("p"), status("running"), event({ type: "usage", used: 10, limit: 40, multiplier: 1.5 }), tokens(10, 2), tokens(20, 3), status("completed")];
  test("has duration and tokens", () => {
    const { took, input, output, multiplier } = play(messages).items.at(-1);
    assert.deepEqual({ took, input, output, multiplier }, { took: 4000, input: 30, output: 5, multiplier: 1.5 });
  });
  test("has them for the past, too", () => {
    const past = messages.map((message, i) => at(50_000 + 10_000 * i, message));
    const { took, input } = play(past).items.at(-1);
    assert.deepEqual({ took, input }, { took: 40_000, input: 30 });
  });
});

describe("the state", () => {
  const cases = [
    ["is idle at first", [], "idle"],
    ["is running during a run", [status("running")], "running"],
    ["is running when another run starts before the first one ended", [status("running"), status("running", "", "r2"), status("completed")], "running"],
    ["is waiting with a question", [status("running"), question("q")], "waiting"],
    ["is waiting while one of two questions is open", [status("running"), question("q"), question("p"), answered("q")], "waiting"],
    ["is running after the answer", [status("running"), status("awaiting_ui"), question("q"), answered("q"), status("running")], "running"],
    ["is idle when the run ends with an open question", [status("running"), question("q"), status("cancelled")], "idle"],
    ["is closed at the end", [status("running"), question("q"), { method: "portal.session.closed", params: { session_id: "s", meta: meta() } }], "closed"],
  ];
  for (const [name, messages, want] of cases) test(name, () => assert.equal(play(messages).state, want));
  test("is that of the list while nothing else is known", () => assert.equal(newSession({ ...info, state: "elsewhere" }).state, "elsewhere"));
});

describe("a question", () => {
  test("is open once, with its newest request", () => {
    const { questions } = play([question("q", "1"), question("q", "2")]);
    assert.deepEqual(questions.map(({ id, rpc, kind }) => [id, rpc, kind]), [["q", "2", "permission"]]);
  });
  test("that was answered elsewhere records by whom", () => {
    const session = play([question("q"), answered("q", { by: "desk", approved: false, reason: "no" })]);
    assert.deepEqual(session.questions, []);
    assert.deepEqual(session.answered.get("q"), { by: "desk", ending: "answered", approved: false, reason: "no" });
  });
  test("is not reopened after its answer", () => assert.deepEqual(play([answered("q"), question("q")]).questions, []));
  test("cannot be answered while disconnected, and can be when it is sent again", () => {
    const session = play([question("q", "1")]);
    setDetached(session);
    assert.equal(session.questions[0].rpc, null);
    play([question("q", "7")], session);
    assert.equal(session.questions[0].rpc, "7");
  });
  test("for a client tool is not shown", () => {
    assert.deepEqual(play([{ ...question("q"), method: "client.tool.call" }]).questions, []);
  });
});

describe("other parts", () => {
  test("have the newest plan, usage, title and model", () => {
    const session = play([
      event({ type: "plan", text: "old", todos: [] }), event({ type: "plan", text: "tea", todos: [{ id: "1", title: "Boil", state: "running" }] }, { html: "<p>tea</p>" }),
      event({ type: "usage", used: 10, limit: 40, multiplier: 1 }), event({ type: "title", title: "Tea" }), event({ type: "model", model: "m2" }),
    ]);
    assert.deepEqual(session.plan, { text: "tea", html: "<p>tea</p>", todos: [{ id: "1", title: "Boil", state: "running" }] });
    assert.deepEqual(session.usage, { used: 10, limit: 40, left: 75 });
    assert.deepEqual([session.title, session.model], ["Tea", "m2"]);
    apply(session, { method: "run.context", params: { run_id: "r", context_left_percent: 60, meta: meta() } }, 0);
    assert.equal(session.usage.left, 60);
  });
  test("say that the state of an MCP server has changed", () => {
    const session = play([event({ type: "server", name: "desk", state: "failed", error: "gone" })]);
    assert.ok(takeChanges(session).parts.has("servers"));
  });
  test("have sub-agents, whose items have their id", () => {
    const start = event({ type: "subagent_start", agent: "a", call: "t", name: "task", title: "Look" });
    const session = play([call("t", {}, "task"), start, reasoning("hm", "g", { agent: "a" })]);
    assert.equal(session.items[1].agent, "a");
    takeChanges(session);
    play([event({ type: "subagent_end", agent: "a", outcome: "completed", tokens: 5, tool_calls: 2, duration_ms: 30 })], session);
    assert.deepEqual(session.agents.a, { name: "task", title: "Look", call: "t", outcome: "completed", error: "", tokens: 5, calls: 2, took: 30 });
    assert.deepEqual([...takeChanges(session).items], ["r/tool:t"]);
  });
});

describe("changes", () => {
  test("are returned once", () => {
    const session = play([prompt("p"), delta("text", "m", "a")]);
    takeChanges(session);
    apply(session, delta("text", "m", "b"), 0);
    const { items, parts } = takeChanges(session);
    assert.deepEqual([[...items], [...parts]], [["r/text:m"], []]);
    assert.equal(takeChanges(session).items.size, 0);
  });
});

test("a session resumes from its cursor", () => {
  const messages = [prompt("p"), status("running"), delta("text", "m", "a"), delta("text", "m", "b"), step("t"), call("t"), delta("tool", "t", "x"),
    result("t", "xy"), done("t"), final("end", "n"), status("completed")].map((message, i) => ({ ...message, params: { ...message.params, meta: meta({ ...message.params.meta, cursor: `c${i}` }) } }));
  const whole = play(messages);
  for (let at = 1; at < messages.length; at++) {
    const session = play(messages.slice(0, at));
    assert.equal(session.cursor, `c${at - 1}`);
    play(messages.slice(at), session, 1000 + at * 1000);
    assert.deepEqual(session.items, whole.items);
  }
});

test("20,000 messages take linear time", () => {
  const messages = [];
  for (let i = 0; i < 2000; i++) {
    messages.push(step(`t${i}`), call(`t${i}`), ...Array.from({ length: 3 }, () => delta("tool", `t${i}`, "line\n")), result(`t${i}`, "ok"), done(`t${i}`),
      delta("text", `m${i}`, "a "), delta("text", `m${i}`, "b"), text("a b", `m${i}`));
  }
  assert.equal(messages.length, 20_000);
  const from = process.cpuUsage(); // CPU time: other processes may be running
  play([prompt("p"), status("running"), ...messages, status("completed")]);
  const { user, system } = process.cpuUsage(from);
  assert.ok(user + system < 1_000_000, `${(user + system) / 1000} ms`);
});

test("watchers are those of the last list", () => {
  const session = newSession(info);
  assert.equal(session.watchers, 1);
  setWatchers(session, { ...info, watchers: 3 });
  assert.equal(session.watchers, 3);
  assert.ok(takeChanges(session).parts.has("usage"));
  setWatchers(session, { ...info, watchers: 3 });
  setWatchers(session, undefined);
  setWatchers(session, info);
  assert.deepEqual([session.watchers, takeChanges(session).parts.size], [3, 0]);
});

test("an agent can do everything until its capabilities are known", () => {
  const session = newSession(info);
  assert.ok(isCapable(session, "forking"));
  applyInfo(session, { ...info, can: ["compaction"] });
  assert.deepEqual(["compaction", "forking"].map((capability) => isCapable(session, capability)), [true, false]);
  applyInfo(session, info);
  assert.ok(!isCapable(session, "forking"), "lists do not say it");
});

test("a notice that repeats is counted", () => {
  const retrying = () => event({ type: "notice", kind: "session.warning", raw: { message: "Retrying…" } });
  const hidden = event({ type: "notice", kind: "session.usage_info", raw: {} });
  const { items } = play([retrying(), hidden, retrying(), retrying(), text("one", "b"), retrying()]);
  assert.deepEqual(items.map(({ kind, count }) => [kind, count]), [["notice", 3], ["notice", undefined], ["text", undefined], ["notice", undefined]]);
});
