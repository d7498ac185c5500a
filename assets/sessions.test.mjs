import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Sessions } from "./sessions.js";

const info = { session_id: "s", title: "T", model: "demo", directory: "/d", state: "idle" };
const text = (content, cursor) => ({ method: "agent.event", params: { run_id: "r", seq: 0, event: { type: "text", content, timestamp: 1 }, meta: { session_id: "s", cursor, id: content } } });
const status = (status, cursor) => ({ method: "run.status", params: { run_id: "r", status, meta: { session_id: "s", cursor } } });
const ask = (id) => ({ id, method: "ui.confirm.request", params: { run_id: "r", meta: { session_id: "s", question_id: "q", kind: "permission" } } });
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Sessions on a portal that answers on demand. */
function start() {
  const calls = [];
  const changes = [];
  const failed = [];
  const clock = { now: 1000 };
  const rpc = { call: (method, params) => new Promise((resolve, reject) => calls.push({ method, params, resolve, reject })) };
  const sessions = new Sessions(rpc, (session) => changes.push(session), (id, error) => failed.push([id, error.message]), () => clock.now);
  return { sessions, calls, changes, failed, clock };
}

const contents = ({ items }) => items.map(({ content, status }) => content ?? status);

/** An attached session with one text. */
async function attached() {
  const all = start();
  const opened = all.sessions.open("s");
  await settled();
  all.sessions.receive(text("a", "c1"));
  all.calls[0].resolve({ session: info, runs: 1, events_sent: 1 });
  return { ...all, session: await opened };
}

describe("a session", () => {
  test("has its past once opened", async () => {
    const { session, calls } = await attached();
    assert.deepEqual(calls[0].params, { session_id: "s", max_runs: 200, max_events: 300 });
    assert.deepEqual(contents(session), ["a"]);
    assert.equal(session.title, "T");
    assert.equal(session.items[0].started, null);
  });

  test("is attached once, however often it is opened", async () => {
    const { sessions, calls } = start();
    const both = [sessions.open("s"), sessions.open("s")];
    await settled();
    assert.equal(calls.length, 1);
    calls[0].resolve({ session: info });
    assert.equal(...(await Promise.all(both)));
    assert.equal(await sessions.open("s"), await both[0]);
    assert.equal(calls.length, 1);
  });

  test("is replaced when the portal has lost its end", async () => {
    const { sessions, calls } = await attached();
    assert.equal(sessions.receive({ method: "portal.session.reset", params: { session_id: "s" } }), true);
    await settled();
    assert.deepEqual(calls[1].params, { session_id: "s", max_runs: 200, max_events: 300, after: "c1" });
    sessions.receive(text("b", "c2"));
    calls[1].resolve({ session: info, reset: true });
    await settled();
    assert.deepEqual(contents(await sessions.open("s")), ["b"]);
    assert.equal(calls.length, 2);
  });

  test("resumes after a lost connection", async () => {
    const { sessions, session, calls } = await attached();
    sessions.receive(ask("1"));
    sessions.disconnected();
    assert.equal(session.questions[0].rpc, null);
    assert.equal(sessions.receive(text("lost", "c2")), false);
    const back = sessions.reconnected();
    await settled();
    assert.equal(calls[1].params.after, "c1");
    calls[1].resolve({ session: info, runs: 0, events_sent: 0 });
    await back;
    sessions.receive(text("b", "c2"));
    sessions.receive(ask("9"));
    assert.equal(sessions.get("s"), session);
    assert.deepEqual(contents(session), ["a", "b"]);
    assert.equal(session.questions[0].rpc, "9");
  });

  test("is rebuilt if its cursor is no longer valid", async () => {
    const { sessions, session, calls, changes } = await attached();
    sessions.disconnected();
    const back = sessions.reconnected();
    await settled();
    sessions.receive(text("a", "d1"));
    sessions.receive(text("b", "d2"));
    calls[1].resolve({ session: info, reset: true, truncated: true });
    await back;
    assert.notEqual(sessions.get("s"), session);
    assert.equal(changes.at(-1), sessions.get("s"));
    assert.deepEqual(contents(sessions.get("s")), ["a", "b"]);
    assert.equal(sessions.get("s").truncated, true);
  });

  test("that has dropped its first items starts again from its end", async () => {
    const { sessions, calls } = await attached();
    sessions.restart("s");
    sessions.receive(text("late", "c2")); // of the attachment that ends
    sessions.restart("s");
    assert.equal(calls[1].method, "portal.session.detach");
    calls[1].resolve({});
    await settled();
    assert.equal(calls.length, 3);
    assert.deepEqual(calls[2].params, { session_id: "s", max_runs: 200, max_events: 300 });
    const earlier = sessions.earlier("s"); // waits: the result may have some
    sessions.receive(text("b", "c2"));
    calls[2].resolve({ session: info, truncated: true, earlier: "c0" });
    await settled();
    assert.deepEqual(contents(sessions.get("s")), ["b"]);
    assert.equal(calls[3].params.before, "c0");
    calls[3].resolve({ messages: [text("a", "c1")] });
    assert.equal(await earlier, true);
    assert.deepEqual(contents(sessions.get("s")), ["a", "b"]);
  });

  test("reports that it was deleted while disconnected", async () => {
    const { sessions, calls, failed } = await attached();
    sessions.disconnected();
    const back = sessions.reconnected();
    await settled();
    calls[1].reject(Object.assign(new Error("no such session"), { code: -32004 }));
    await back;
    assert.deepEqual(failed, [["s", "no such session"]]);
  });

  test("is marked as detached until it is attached again", async () => {
    const { sessions, session, calls } = await attached();
    assert.equal(session.detached, false);
    sessions.disconnected();
    assert.equal(session.detached, true);
    const back = sessions.reconnected();
    await settled();
    calls[1].resolve({ session: info });
    await back;
    assert.equal(session.detached, false);
  });

  test("has the times of missed events", async () => {
    const { sessions, calls, clock } = await attached();
    const at = (time, message) => ({ ...message, params: { ...message.params, meta: { ...message.params.meta, time } } });
    sessions.disconnected();
    clock.now += 60_000;
    const back = sessions.reconnected();
    await settled();
    calls[1].resolve({ session: info });
    await back;
    sessions.receive(at(5000, status("running", "c2")));
    sessions.receive(at(9000, status("completed", "c3")));
    assert.equal(sessions.get("s").items.at(-1).took, 4000);
    clock.now += 1000;
    sessions.receive({ ...status("running", "c4"), params: { ...status("running", "c4").params, run_id: "r2" } });
    assert.equal(sessions.get("s").runs.r2.started, clock.now);
  });

  test("is detached when released, and resumes later", async () => {
    const { sessions, session, calls } = await attached();
    sessions.release("s");
    assert.equal(calls[1].method, "portal.session.detach");
    const again = sessions.open("s");
    await settled();
    assert.equal(calls.length, 2, "the one is waited for before the other");
    calls[1].resolve({ detached: true });
    await settled();
    assert.equal(calls[2].params.after, "c1");
    calls[2].resolve({ session: info });
    assert.equal(await again, session);
  });

  test("that is released while attaching is detached afterwards", async () => {
    const { sessions, calls } = start();
    void sessions.open("s");
    await settled();
    sessions.release("s");
    assert.equal(calls.length, 1);
    calls[0].resolve({ session: info });
    await settled();
    assert.equal(calls[1].method, "portal.session.detach");
  });

  test("that was closed is attached again when a prompt opens it", async () => {
    const { sessions, session, calls } = await attached();
    sessions.receive({ method: "portal.session.closed", params: { session_id: "s" } });
    assert.equal(session.closed, true);
    sessions.receive(status("running", "c2")); // the portal sends the run to whoever starts it
    sessions.receive(text("b", "c3"));
    assert.deepEqual(calls.slice(1).map(({ method }) => method), ["portal.session.detach"]);
    calls[1].resolve({ detached: true });
    await settled();
    assert.equal(calls[2].params.after, "c1");
    calls[2].resolve({ session: { ...info, state: "running" } });
    await settled();
    for (const message of [status("running", "c2"), text("b", "c3"), text("c", "c4")]) sessions.receive(message);
    assert.deepEqual(contents(session), ["a", "b", "c"]);
    assert.equal(session.closed, false);
  });

  test("that was closed is attached again when another client opens it", async () => {
    const { sessions, session, calls } = await attached();
    const listed = (state) => sessions.receive({ method: "portal.session.changed", params: { session: { ...info, state } } });
    listed("idle");
    sessions.receive({ method: "portal.session.closed", params: { session_id: "s" } });
    listed("closed");
    await settled();
    assert.equal(calls.length, 1);
    listed("idle");
    calls[1].resolve({ detached: false });
    await settled();
    assert.deepEqual(calls[2].params, { session_id: "s", max_runs: 200, max_events: 300, after: "c1" });
    calls[2].resolve({ session: info });
    await settled();
    assert.equal(session.state, "idle");
    sessions.receive(text("b", "c2"));
    assert.deepEqual(contents(session), ["a", "b"]);
  });

  for (const [when, isLate] of [["while it is attached", false], ["before the portal says that it is closed", true]]) {
    test(`that was closed is attached again when another client opens it ${when}`, async () => {
      const { sessions, session, calls } = await attached();
      const listed = (state) => sessions.receive({ method: "portal.session.changed", params: { session: { ...info, state } } });
      sessions.receive({ method: "portal.session.closed", params: { session_id: "s" } });
      listed("idle"); // as it was before
      calls[1].resolve({ detached: false });
      await settled();
      if (!isLate) listed("idle");
      calls[2].resolve({ session: { ...info, state: "closed" } });
      await settled();
      if (isLate) listed("idle");
      assert.equal(calls[3]?.method, "portal.session.detach");
      calls[3].resolve({ detached: true });
      await settled();
      calls[4].resolve({ session: info });
      await settled();
      assert.equal(session.state, "idle");
      assert.equal(calls.length, 5);
    });
  }

  test("that stays closed is not attached for ever because it is listed as open", async () => {
    const { sessions, calls } = await attached();
    sessions.receive({ method: "portal.session.closed", params: { session_id: "s" } });
    for (let i = 0; i < 20; i++) {
      sessions.receive({ method: "portal.session.changed", params: { session: { ...info, state: "idle" } } });
      calls.at(-1)?.resolve({ session: { ...info, state: "closed" } });
      await settled();
    }
    assert.ok(calls.length < 10, String(calls.length));
  });

  test("that failed to open is tried again", async () => {
    const { sessions, calls } = start();
    const opened = sessions.open("s");
    await settled();
    calls[0].reject(new Error("gone"));
    await assert.rejects(opened);
    assert.equal(sessions.get("s"), undefined);
    void sessions.open("s");
    await settled();
    assert.equal(calls.length, 2);
  });
});

test("a limited number of released sessions is kept", async () => {
  const { sessions, calls } = start();
  for (let i = 0; i < 12; i++) {
    void sessions.open(`s${i}`);
    await settled();
    calls.at(-1).resolve({ session: { ...info, session_id: `s${i}` } });
    await settled();
    sessions.release(`s${i}`);
    calls.at(-1).resolve({ detached: true });
  }
  assert.equal(sessions.get("s0"), undefined);
  assert.ok(sessions.get("s11"));
});
