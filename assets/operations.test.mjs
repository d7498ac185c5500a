import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";
import { Watch, append, newLog } from "./operations.js";

const message = (sequence, type, content = `${type} ${sequence}`, metadata = undefined) => ({ operation_id: "op", sequence, type, content, timestamp: "", sender: "copilot", metadata });

describe("the log of an operation", () => {
  const cases = [
    ["consecutive thoughts are one entry", [message(0, "thinking"), message(1, "thinking"), message(2, "execution")], [["thinking", 2], ["execution", 1]]],
    ["thoughts of another section are another entry", [message(0, "thinking"), message(1, "thinking", "x", { subsection: "risks" })], [["thinking", 1], ["thinking", 1]]],
    ["known messages are ignored", [message(0, "execution"), message(1, "execution"), message(1, "execution"), message(2, "complete")], [["execution", 1], ["execution", 1], ["complete", 1]]],
    ["notices are ignored", [message(-1, "system"), message(0, "execution"), message(-2, "system")], [["execution", 1]]],
  ];
  for (const [name, messages, want] of cases) {
    test(name, () => {
      const log = newLog();
      for (const one of messages) append(log, one);
      assert.deepEqual(log.entries.map(({ type, lines }) => [type, lines.length]), want);
    });
  }

  test("a replay of everything replaces the log", () => {
    const log = newLog();
    for (const one of [message(0, "execution"), message(1, "execution"), message(4, "execution", "lost")]) append(log, one);
    const replay = [message(-2, "system"), message(0, "execution"), message(1, "execution"), message(2, "error", "interrupted"), message(3, "complete", "Interrupted")];
    for (const one of replay) append(log, one);
    assert.deepEqual(log.entries.map(({ lines }) => lines), [["execution 0"], ["execution 1"], ["interrupted"], ["Interrupted"]]);
    assert.deepEqual([log.last, log.done, log.skipped], [3, true, 0]);
  });

  test("skipped thoughts are counted, and the end is recorded", () => {
    const log = newLog();
    append(log, message(0, "thinking"));
    append(log, message(5, "complete"));
    assert.deepEqual([log.skipped, log.done, log.last], [4, true, 5]);
  });
});

class FakeSocket {
  static made = [];
  constructor(url, protocol) {
    Object.assign(this, { url, protocol });
    FakeSocket.made.push(this);
  }
  close() {}
  says(...args) {
    this.onmessage({ data: JSON.stringify(message(...args)) });
  }
}

/** A watch on fake sockets, with its messages and states. */
async function start() {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  FakeSocket.made = [];
  const log = newLog();
  const states = [];
  const visitors = [];
  const watch = new Watch({
    socket: FakeSocket, last: () => log.last, onMessage: (one) => append(log, one), onState: (state, why) => states.push([state, why]),
    visitor: (renew) => Promise.resolve(visitors.push(renew) && `v${visitors.length}`), url: (visitor, last) => `ws://portal/${visitor}/${last}`,
  });
  await watch.open();
  return { log, states, visitors, watch };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("the connection to an operation", () => {
  test("resumes after the last known message", async () => {
    const { states } = await start();
    FakeSocket.made[0].onopen();
    FakeSocket.made[0].says(0, "execution");
    FakeSocket.made[0].says(1, "thinking");
    FakeSocket.made[0].onclose({ code: 1006 });
    mock.timers.tick(300);
    await settled();
    assert.equal(FakeSocket.made[1].url, "ws://portal/v2/1");
    assert.deepEqual(states, [["open", ""], ["lost", ""]]);
  });

  test("ends with the operation", async () => {
    const { states } = await start();
    FakeSocket.made[0].onopen();
    FakeSocket.made[0].says(0, "complete");
    FakeSocket.made[0].onclose({ code: 1000 });
    mock.timers.tick(60_000);
    await settled();
    assert.deepEqual([FakeSocket.made.length, states.at(-1)], [1, ["ended", ""]]);
  });

  test("renews an expired visitor id", async () => {
    const { visitors } = await start();
    FakeSocket.made[0].onclose({ code: 4401 });
    mock.timers.tick(300);
    await settled();
    assert.deepEqual(visitors, [false, true]);
  });

  test("reports a final close code, and does not reconnect", async () => {
    const { states } = await start();
    FakeSocket.made[0].onclose({ code: 4404 });
    mock.timers.tick(60_000);
    await settled();
    assert.equal(FakeSocket.made.length, 1);
    assert.match(states.at(-1)[1], /no longer exists/);
  });

  test("reconnects when it is silent", async () => {
    await start();
    FakeSocket.made[0].onopen();
    mock.timers.tick(45_000);
    mock.timers.tick(300);
    await settled();
    assert.equal(FakeSocket.made.length, 2);
  });

  test("does not reconnect after close", async () => {
    const { watch } = await start();
    watch.close();
    mock.timers.tick(60_000);
    await settled();
    assert.equal(FakeSocket.made.length, 1);
  });
});
