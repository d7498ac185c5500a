import assert from "node:assert/strict";
import { test } from "node:test";
import { Visitor } from "./visitor.js";

/** A fake session storage. */
function storage() {
  const kept = new Map();
  return { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value), removeItem: (name) => kept.delete(name) };
}

/** A portal that issues ids, of which only the last is valid. */
function portal() {
  const asked = [];
  let given = 0;
  return {
    asked,
    forget: () => given++,
    ask: async (url, { method, headers }) => {
      asked.push(`${method} ${url} ${headers["X-Session-ID"] ?? ""}`.trim());
      if (url.endsWith("auth/verify")) return answer(200, { session_id: `s${++given}` });
      return headers["X-Session-ID"] === `s${given}` ? answer(200, { fine: true }) : answer(401, { error: { message: "no such session" } });
    },
  };
}
const answer = (status, body) => ({ status, ok: status < 300, json: async () => body });

test("concurrent requests share one visitor id", async () => {
  const p = portal();
  const visitor = new Visitor("http://portal/base/", p.ask, storage());
  await Promise.all([visitor.call("GET", "operations"), visitor.call("GET", "operations")]);
  assert.deepEqual(p.asked, ["POST http://portal/base/api/v1/auth/verify", "GET http://portal/base/api/v1/operations s1", "GET http://portal/base/api/v1/operations s1"]);
});

test("an expired visitor id is renewed", async () => {
  const p = portal();
  const visitor = new Visitor("http://portal/", p.ask, storage());
  await visitor.call("GET", "operations");
  p.forget();
  assert.deepEqual(await visitor.call("GET", "operations"), { fine: true });
});

test("an error response rejects with its message", async () => {
  const visitor = new Visitor("http://portal/", async (url) => (url.endsWith("verify") ? answer(200, { session_id: "s" }) : answer(404, { error: { message: "there is none" } })), storage());
  await assert.rejects(visitor.call("GET", "operations/x"), { message: "there is none" });
});

test("the WebSocket URL of an operation", () => {
  assert.equal(new Visitor("https://portal/base/", undefined, storage()).socket("o/1", "s=", 7), "wss://portal/base/api/v1/ws?operation_id=o%2F1&session_id=s%3D&last_received_sequence=7");
});
