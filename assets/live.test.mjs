import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { readLive } from "./live.js";

const realFetch = globalThis.fetch;
afterEach(() => (globalThis.fetch = realFetch));

const CLOSED = { error: "SessionClosed" };
const TIMEOUT = { error: "HttpRequestTimeout" };
const batch = (...texts) => ({ responses: texts.map((content) => ({ callback: "onUserMessage", content })) });
const LOST = "lost";

/** Plays answers of the server and returns what the listener heard, the tokens and the pauses. */
async function play(answers) {
  const heard = [];
  const tokens = [];
  const pauses = [];
  globalThis.fetch = async (path) => {
    tokens.push(path.split("/").pop());
    const answer = answers.shift();
    if (answer === LOST) throw new TypeError("Failed to fetch");
    return new Response(typeof answer === "number" ? '{"error":"refused"}' : JSON.stringify(answer), { status: typeof answer === "number" ? answer : 200 });
  };
  const listener = {
    onResponses: (responses, restarted) => heard.push((restarted ? "anew:" : "") + responses.map(({ content }) => content).join()),
    onLost: () => heard.push(LOST),
  };
  const wait = async (ms) => void pauses.push(ms);
  const ended = await readLive("s 1", listener, new AbortController().signal, wait);
  return { heard, ended, pauses, tokens };
}

describe("reading a session", () => {
  const cases = [
    ["begins anew and goes on", [batch("a", "b"), batch("c"), CLOSED], ["anew:a,b", "c"], "SessionClosed"],
    ["polls again when nothing came", [batch("a"), TIMEOUT, TIMEOUT, batch("b"), CLOSED], ["anew:a", "b"], "SessionClosed"],
    ["tells that an empty session was reached", [TIMEOUT, batch("a"), CLOSED], ["anew:", "a"], "SessionClosed"],
    ["begins anew after a lost connection", [batch("a"), LOST, LOST, batch("a", "b"), CLOSED], ["anew:a", LOST, LOST, "anew:a,b"], "SessionClosed"],
    ["begins anew when the server failed", [502, batch("a"), CLOSED], [LOST, "anew:a"], "SessionClosed"],
    ["takes another token when its own is in use", [{ error: "ParallelCallNotSupported" }, batch("a"), CLOSED], ["anew:a"], "SessionClosed"],
    ["ends when there is no such session", [{ error: "SessionNotFound" }], [], "SessionNotFound"],
    ["forgets nothing when the session is gone later", [batch("a"), LOST, { error: "SessionNotFound" }], ["anew:a", LOST], "SessionNotFound"],
  ];
  for (const [name, answers, heard, ended] of cases) {
    test(name, async () => {
      const got = await play(answers);
      assert.deepEqual(got.heard, heard);
      assert.equal(got.ended, ended);
    });
  }

  test("takes another token after a lost connection, and keeps it otherwise", async () => {
    const { tokens } = await play([batch("a"), batch("b"), LOST, batch("a"), CLOSED]);
    assert.deepEqual(tokens.map((token) => tokens.indexOf(token)), [0, 0, 0, 3, 3]);
  });
  test("waits longer each time, up to 8 s, until the connection is back", async () => {
    const { pauses } = await play([...Array(6).fill(LOST), TIMEOUT, LOST, CLOSED]);
    assert.deepEqual(pauses.filter((ms) => ms >= 500), [500, 1000, 2000, 4000, 8000, 8000, 500]);
  });
  test("never polls without a pause when answers come at once", async () => {
    const { pauses } = await play([{ responses: [] }, { responses: [] }, batch("a"), CLOSED]);
    assert.equal(pauses.length, 3);
  });
  test("gives up when the server refuses", async () => {
    await assert.rejects(play([401]), { status: 401 });
  });
  test("ends without a word when it is aborted", async () => {
    const controller = new AbortController();
    globalThis.fetch = async () => {
      controller.abort();
      throw new DOMException("aborted", "AbortError");
    };
    const nothing = () => assert.fail("nobody listens any more");
    assert.equal(await readLive("s", { onResponses: nothing, onLost: nothing }, controller.signal), "");
  });
});
