import assert from "node:assert/strict";
import { test } from "node:test";

import { FrameTalk, fromBase64, toBase64 } from "./frame-talk.js";

const call = (id, more = {}) => ({ type: "call", id, method: "GET", url: "/films", headers: [], body: new ArrayBuffer(0), ...more });
const soon = () => new Promise((resolve) => setTimeout(resolve));

/** A talk with a frame, and what was said to that. */
function begin(make = async () => ({ status: 200, statusText: "OK", headers: [], body: new ArrayBuffer(0) })) {
  const said = [], made = [];
  let changes = 0;
  const talk = new FrameTalk({ script: "code", post: (message) => said.push(message), onChange: () => changes++, call: (one) => {
    made.push(one.url);
    return make(one);
  } });
  return { talk, said, made, changes: () => changes };
}

test("the frame gets its code once, however often it says that it is ready", () => {
  const { talk, said } = begin();
  talk.loaded();
  talk.take({ type: "ready" });
  talk.take({ type: "ready" });
  assert.deepEqual(said, [{ type: "show", code: "code" }]);
  talk.take({ type: "shown" });
  assert.equal(talk.state, "shown");
});

test("calls wait for the user", async () => {
  const { talk, said, made } = begin();
  talk.take(call(1));
  talk.take(call(2));
  assert.deepEqual([talk.asks, made], [true, []]);
  talk.decide(true);
  await soon();
  assert.deepEqual([talk.asks, made.length, said.map(({ id, status }) => [id, status])], [false, 2, [[1, 200], [2, 200]]]);
});

test("it is seen when calls wait no more", () => {
  const { talk, changes } = begin();
  talk.take(call(1));
  assert.equal(changes(), 1);
  talk.decide(true);
  assert.deepEqual([talk.asks, changes()], [false, 2]);
  talk.decide(undefined); // it was taken back
  talk.take(call(2));
  assert.deepEqual([talk.asks, changes()], [true, 3]);
});

test("a frame that is gone asks for nothing", () => {
  const { talk } = begin();
  talk.take(call(1));
  talk.loaded();
  talk.loaded();
  assert.deepEqual([talk.state, talk.asks], ["gone", false]);
});

test("calls have limits", () => {
  const { talk, said } = begin();
  talk.take(call(1, { url: "x".repeat(20_000) }));
  talk.take(call(2, { body: new ArrayBuffer((10 << 20) + 1) }));
  talk.take(call(3, { headers: Array.from({ length: 101 }, () => ["a", "b"]) }));
  assert.deepEqual(said.map(({ id, error }) => [id, error]), [1, 2, 3].map((id) => [id, "This is no call that can be made."]));
});

test("calls fail with words if the user says no, or too many wait", () => {
  const { talk, said, made } = begin();
  for (let id = 1; id <= 51; id++) talk.take(call(id));
  assert.match(said[0].error, /Too many/);
  talk.decide(false);
  assert.equal(said.length, 51);
  assert.match(said[1].error, /not allowed/);
  assert.deepEqual(made, []);
});

test("what the API answers wrongly is an error of the call", async () => {
  const { talk, said } = begin(async () => { throw new Error("the API cannot be reached"); });
  talk.decide(true);
  talk.take(call(1));
  await soon();
  assert.deepEqual(said, [{ type: "answer", id: 1, error: "the API cannot be reached" }]);
});

test("nonsense does nothing", () => {
  const { talk, made } = begin();
  talk.decide(true);
  for (const message of [null, 1, "x", {}, { type: "other" }, call("x"), call(1, { body: "text" }), call(1, { headers: [["a"]] }), call(1, { headers: "x" })]) talk.take(message);
  assert.deepEqual(made, []);
  assert.equal(talk.state, "loading");
});

test("a frame that does not answer for five seconds hangs", () => {
  const { talk, said } = begin();
  talk.tick(0);
  assert.deepEqual(said, [], "nobody is asked before it is ready");
  talk.take({ type: "ready" });
  talk.tick(1000);
  talk.take({ type: "pong", n: 1 });
  talk.tick(2000);
  talk.take({ type: "pong", n: 1 }); // an old one
  talk.tick(6999);
  assert.equal(talk.state, "loading");
  talk.tick(7000);
  assert.equal(talk.state, "hung");
  talk.take({ type: "shown" });
  assert.equal(talk.state, "hung", "it is too late");
});

test("a frame that leaves is gone", async () => {
  const { talk, made, said } = begin();
  talk.decide(true);
  talk.loaded();
  talk.loaded();
  talk.take(call(1));
  assert.deepEqual([talk.state, made, said], ["gone", [], []]);
});

test("the first error is told, and no more of it than can be read", () => {
  const { talk } = begin();
  talk.take({ type: "failed", text: "x".repeat(5000) });
  talk.take({ type: "failed", text: "y" });
  assert.equal(talk.error, "x".repeat(2000));
});

test("bytes come back from base64", () => {
  const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => i % 256);
  assert.deepEqual(new Uint8Array(fromBase64(toBase64(bytes.buffer))), bytes);
});
