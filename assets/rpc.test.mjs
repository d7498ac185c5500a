import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";
import { CallError, Connection, newConnections, socketURL } from "./rpc.js";

/** A fake WebSocket. `last` is the newest one. */
class FakeSocket {
  static last;
  static made = 0;
  readyState = 0;
  sent = [];
  constructor(url) {
    this.url = url;
    FakeSocket.last = this;
    FakeSocket.made++;
  }
  send(text) {
    this.sent.push(JSON.parse(text));
  }
  close() {
    this.readyState = 3;
    this.onclose?.();
  }
  opens() {
    this.readyState = 1;
    this.onopen();
  }
  says(message) {
    this.onmessage({ data: JSON.stringify({ jsonrpc: "2.0", ...message }) });
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A connection, its callbacks' arguments, and a function that opens it. */
function start(options = {}) {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  FakeSocket.made = 0;
  const told = [];
  const connection = new Connection({
    url: "ws://portal/ui", socket: FakeSocket,
    onState: (state) => told.push(state), onOpen: () => told.push("onOpen"),
    onNotification: (message) => told.push(message), onRequest: (message) => told.push(message), ...options,
  });
  connection.open();
  return { connection, told };
}

async function introduce() {
  const socket = FakeSocket.last;
  socket.opens();
  const { id, method, params } = socket.sent[0];
  assert.equal(method, "initialize");
  assert.equal(params.ui_capabilities.supports_deltas, true);
  assert.equal(params.ui_capabilities.supports_html, true);
  socket.says({ id, result: { protocol_version: "0", server: { name: "portal", version: "1" } } });
  await settled();
  return socket;
}

describe("the WebSocket URL", () => {
  const cases = [
    ["http://localhost:8888/", "ws://localhost:8888/ui"],
    ["https://example.com/tools/portal/#/s/1", "wss://example.com/tools/portal/ui"],
    ["http://localhost/index.html?x=1", "ws://localhost/ui"],
  ];
  for (const [page, want] of cases) test(`of ${page} is ${want}`, () => assert.equal(socketURL(page), want));
});

describe("a connection", () => {
  test("initializes, and is then open", async () => {
    const { connection, told } = start();
    await introduce();
    assert.deepEqual(told, ["open", "onOpen"]);
    assert.equal(connection.server.name, "portal");
  });

  test("sends waiting calls after those of onOpen", async () => {
    let connection;
    ({ connection } = start({ onOpen: () => connection.call("second") }));
    const early = connection.call("early", { a: 1 });
    const socket = await introduce();
    assert.deepEqual(socket.sent.map(({ method }) => method), ["initialize", "second", "early"]);
    socket.says({ id: socket.sent[2].id, result: 5 });
    assert.equal(await early, 5);
  });

  test("rejects with errors", async () => {
    const { connection } = start();
    const socket = await introduce();
    const call = connection.call("run.start");
    socket.says({ id: socket.sent[1].id, error: { code: -32001, message: "busy" } });
    await assert.rejects(call, (error) => error instanceof CallError && error.code === -32001 && error.message === "busy");
  });

  test("delivers notifications and requests, and sends answers", async () => {
    const { connection, told } = start();
    const socket = await introduce();
    socket.says({ method: "agent.event", params: { seq: 1 } });
    socket.says({ id: "p1", method: "ui.confirm.request", params: { title: "t" } });
    assert.deepEqual(told.slice(2).map(({ id, method }) => [id, method]), [[undefined, "agent.event"], ["p1", "ui.confirm.request"]]);
    assert.equal(connection.answer("p1", { ok: true }), true);
    assert.equal(connection.reject("p2", -32601, "no"), true);
    assert.deepEqual(socket.sent.slice(1), [
      { jsonrpc: "2.0", id: "p1", result: { ok: true } },
      { jsonrpc: "2.0", id: "p2", error: { code: -32601, message: "no" } },
    ]);
  });
});

describe("a lost connection", () => {
  const gone = (error) => error instanceof CallError && error.code === "gone";

  test("fails its calls, and reconnects", async () => {
    const { connection, told } = start();
    const socket = await introduce();
    const call = connection.call("model.list");
    socket.close();
    await assert.rejects(call, gone);
    assert.equal(connection.answer("p1", {}), false);
    mock.timers.tick(300);
    await introduce();
    assert.deepEqual(told, ["open", "onOpen", "connecting", "open", "onOpen"]);
  });

  test("keeps calls waiting at first, and then fails them", async () => {
    const { connection, told } = start();
    (await introduce()).close();
    const call = connection.call("model.list");
    mock.timers.tick(300);
    FakeSocket.last.close();
    await assert.rejects(call, gone);
    assert.equal(told.at(-1), "offline");
    await assert.rejects(connection.call("model.list"), gone);
  });

  test("backs off up to 5 s", async () => {
    start();
    for (const delay of [300, 600, 1200, 2400, 4800, 5000, 5000]) {
      const before = FakeSocket.made;
      FakeSocket.last.close();
      mock.timers.tick(delay - 1);
      assert.equal(FakeSocket.made, before, `before ${delay} ms`);
      mock.timers.tick(1);
      assert.equal(FakeSocket.made, before + 1, `after ${delay} ms`);
    }
  });

  test("reconnects rarely in a hidden page, and immediately once it is visible", async () => {
    const { connection } = start({ hidden: () => true });
    for (const delay of [300, 600, 1200]) {
      FakeSocket.last.close();
      mock.timers.tick(delay);
    }
    FakeSocket.last.close();
    mock.timers.tick(59_000);
    assert.equal(FakeSocket.made, 4);
    connection.check();
    assert.equal(FakeSocket.made, 5);
    mock.timers.tick(60_000);
    assert.equal(FakeSocket.made, 5);
  });

  test("is detected when a silent connection is checked", async () => {
    const { connection, told } = start();
    const socket = await introduce();
    connection.check();
    assert.equal(socket.sent.length, 1, "nothing is asked while it is fresh");
    mock.timers.tick(30_000);
    connection.check();
    assert.equal(socket.sent.length, 2);
    mock.timers.tick(10_000);
    assert.equal(told.at(-1), "connecting");
  });

  test("does not reconnect after close", async () => {
    const { connection, told } = start();
    await introduce();
    connection.close();
    mock.timers.tick(100_000);
    connection.check();
    assert.equal(FakeSocket.made, 1);
    assert.equal(told.at(-1), "offline");
  });
});

test("a new connection is noticed once, also if the old one was not seen to end", () => {
  const rpc = { state: /** @type {const} */ ("open"), server: { name: "portal", version: "1" } };
  const isNew = newConnections(rpc);
  assert.deepEqual([isNew(), isNew()], [true, false]);
  assert.equal(newConnections({ ...rpc, state: "connecting" })(), false);
  rpc.server = { ...rpc.server };
  assert.deepEqual([isNew(), isNew()], [true, false]);
});
