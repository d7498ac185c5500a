import assert from "node:assert/strict";
import { test } from "node:test";

import { fromBase64, toBase64 } from "./bytes.js";
import { FrameChannel } from "./frame-channel.js";

const call = (id, more = {}) => ({ type: "call", id, method: "GET", url: "/films", headers: [], body: new ArrayBuffer(0), ...more });
const soon = () => new Promise((resolve) => setTimeout(resolve));

/** A channel, and the messages sent to its frame. */
function begin(make = async () => ({ status: 200, statusText: "OK", headers: [], body: new ArrayBuffer(0) })) {
  const said = [], made = [];
  let changes = 0;
  const channel = new FrameChannel({ script: "code", post: (message) => said.push(message), onChange: () => changes++, call: (one) => {
    made.push(one.url);
    return make(one);
  } });
  return { channel, said, made, changes: () => changes };
}

test("the frame gets its code once, even if it reports ready twice", () => {
  const { channel, said } = begin();
  channel.loaded();
  channel.receive({ type: "ready" });
  channel.receive({ type: "ready" });
  assert.deepEqual(said, [{ type: "show", code: "code" }]);
  channel.receive({ type: "shown" });
  assert.equal(channel.state, "shown");
});

test("calls wait for permission", async () => {
  const { channel, said, made } = begin();
  channel.receive(call(1));
  channel.receive(call(2));
  assert.deepEqual([channel.needsPermission, made], [true, []]);
  channel.setAllowed(true);
  await soon();
  assert.deepEqual([channel.needsPermission, made.length, said.map(({ id, status }) => [id, status])], [false, 2, [[1, 200], [2, 200]]]);
});

test("onChange is called when no call waits any longer", () => {
  const { channel, changes } = begin();
  channel.receive(call(1));
  assert.equal(changes(), 1);
  channel.setAllowed(true);
  assert.deepEqual([channel.needsPermission, changes()], [false, 2]);
  channel.setAllowed(undefined); // revoked
  channel.receive(call(2));
  assert.deepEqual([channel.needsPermission, changes()], [true, 3]);
});

test("a stopped frame does not ask for permission", () => {
  const { channel } = begin();
  channel.receive(call(1));
  channel.loaded();
  channel.loaded();
  assert.deepEqual([channel.state, channel.needsPermission], ["navigated", false]);
});

test("calls have limits", () => {
  const { channel, said } = begin();
  channel.receive(call(1, { url: "x".repeat(20_000) }));
  channel.receive(call(2, { body: new ArrayBuffer((10 << 20) + 1) }));
  channel.receive(call(3, { headers: Array.from({ length: 101 }, () => ["a", "b"]) }));
  assert.deepEqual(said.map(({ id, error }) => [id, error]), [1, 2, 3].map((id) => [id, "Invalid call."]));
});

test("calls fail with a message if denied, or if too many wait", () => {
  const { channel, said, made } = begin();
  for (let id = 1; id <= 51; id++) channel.receive(call(id));
  assert.match(said[0].error, /Too many/);
  channel.setAllowed(false);
  assert.equal(said.length, 51);
  assert.match(said[1].error, /not allowed/);
  assert.deepEqual(made, []);
});

test("calls that waited run 20 at a time", async () => {
  const ends = [];
  const { channel, said, made } = begin(() => new Promise((resolve) => ends.push(() => resolve({ status: 200, statusText: "OK", headers: [], body: new ArrayBuffer(0) }))));
  for (let id = 1; id <= 30; id++) channel.receive(call(id));
  channel.setAllowed(true);
  assert.equal(made.length, 20);
  ends.splice(0).forEach((end) => end());
  await soon();
  assert.equal(made.length, 30);
  ends.splice(0).forEach((end) => end());
  await soon();
  assert.deepEqual(said.map(({ id, status }) => [id, status]), Array.from({ length: 30 }, (_, i) => [i + 1, 200]));
});

test("at most 50 calls wait for others", () => {
  const { channel, said, made } = begin(() => new Promise(() => {}));
  channel.setAllowed(true);
  for (let id = 1; id <= 71; id++) channel.receive(call(id));
  assert.equal(made.length, 20);
  assert.deepEqual(said.map(({ id }) => id), [71]);
  assert.match(said[0].error, /Too many/);
});

test("calls that wait for others stop when permission is revoked", async () => {
  const ends = [];
  const { channel, made } = begin(() => new Promise((resolve) => ends.push(() => resolve({ status: 200, statusText: "OK", headers: [], body: new ArrayBuffer(0) }))));
  channel.setAllowed(true);
  for (let id = 1; id <= 21; id++) channel.receive(call(id));
  channel.setAllowed(undefined);
  ends[0]();
  await soon();
  assert.deepEqual([channel.needsPermission, made.length], [true, 20]);
});

test("an aborted call does not run after the permission", () => {
  const { channel, made, changes } = begin();
  channel.receive(call(1, { url: "/a" }));
  channel.receive(call(2, { url: "/b" }));
  channel.receive({ type: "abort", id: 1 });
  channel.receive({ type: "abort", id: 7 });
  assert.equal(channel.needsPermission, true);
  channel.setAllowed(true);
  assert.deepEqual(made, ["/b"]);
  channel.setAllowed(undefined);
  channel.receive(call(3));
  const before = changes();
  channel.receive({ type: "abort", id: 3 });
  assert.deepEqual([channel.needsPermission, changes() - before], [false, 1], "nothing waits any longer");
});

test("calls of a removed frame do not run", async () => {
  const ends = [];
  const { channel, made } = begin(() => new Promise((resolve) => ends.push(() => resolve({ status: 200, statusText: "OK", headers: [], body: new ArrayBuffer(0) }))));
  channel.setAllowed(true);
  for (let id = 1; id <= 21; id++) channel.receive(call(id));
  channel.drop();
  ends[0]();
  await soon();
  assert.equal(made.length, 20);
});

test("a failed API call fails the call of the frame", async () => {
  const { channel, said } = begin(async () => { throw new Error("the API cannot be reached"); });
  channel.setAllowed(true);
  channel.receive(call(1));
  await soon();
  assert.deepEqual(said, [{ type: "answer", id: 1, error: "the API cannot be reached" }]);
});

test("invalid messages are ignored", () => {
  const { channel, made } = begin();
  channel.setAllowed(true);
  for (const message of [null, 1, "x", {}, { type: "other" }, call("x"), call(1, { body: "text" }), call(1, { headers: [["a"]] }), call(1, { headers: "x" })]) channel.receive(message);
  assert.deepEqual(made, []);
  assert.equal(channel.state, "loading");
});

test("a frame that does not respond for five ticks is hung", () => {
  const { channel, said } = begin();
  channel.tick();
  assert.deepEqual(said, [], "nobody is asked before it is ready");
  channel.receive({ type: "ready" });
  channel.tick();
  channel.receive({ type: "pong", n: 1 });
  channel.tick();
  channel.receive({ type: "pong", n: 1 }); // of an earlier ping
  for (let i = 0; i < 4; i++) channel.tick();
  assert.equal(channel.state, "loading");
  channel.tick();
  assert.equal(channel.state, "hung");
  channel.receive({ type: "shown" });
  assert.equal(channel.state, "hung", "it is too late");
});

test("a frame that navigates is stopped", async () => {
  const { channel, made, said } = begin();
  channel.setAllowed(true);
  channel.loaded();
  channel.loaded();
  channel.receive(call(1));
  assert.deepEqual([channel.state, made, said], ["navigated", [], []]);
});

test("the first error is kept, truncated", () => {
  const { channel } = begin();
  channel.receive({ type: "failed", text: "x".repeat(5000) });
  channel.receive({ type: "failed", text: "y" });
  assert.equal(channel.error, "x".repeat(2000));
});

test("base64 round-trips", () => {
  const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => i % 256);
  assert.deepEqual(new Uint8Array(fromBase64(toBase64(bytes.buffer))), bytes);
});
