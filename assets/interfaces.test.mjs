import assert from "node:assert/strict";
import { test } from "node:test";

import { summaryOf, baseVersion, isPrivateURL, newInterface, repairPrompt, applyMessage } from "./interfaces.js";

const info = (more = {}) => ({ interface_id: "i", title: "Films", format: "graphql", operations: 3, base_url: "", allowed: "", created_at: "2026-11-22T10:00:00Z", current: 0, version_count: 0, versions: [], ...more });
const event = (type, more = {}) => ({ method: "portal.interface.event", params: { interface_id: "i", type, ...more } });

test("a draft grows by its pieces and is cleared at the end", () => {
  const watched = newInterface(info());
  assert.equal(applyMessage(watched, event("began", { interface: info({ work: { prompt: "", since: "" } }) })), true);
  applyMessage(watched, event("piece", { text: "function " }));
  applyMessage(watched, event("piece", { text: "App" }));
  assert.equal(watched.draft, "function App");
  assert.ok(watched.info.work);
  applyMessage(watched, event("ended", { interface: info({ current: 1 }) }));
  assert.deepEqual([watched.draft, watched.info.current, watched.info.work], ["", 1, undefined]);
  applyMessage(watched, event("deleted"));
  assert.equal(watched.deleted, true);
});

test("messages about other interfaces are ignored", () => {
  const watched = newInterface(info());
  assert.equal(applyMessage(watched, { method: "portal.interface.event", params: { interface_id: "other", type: "deleted" } }), false);
  assert.equal(applyMessage(watched, { method: "portal.job.event", params: {} }), false);
  assert.equal(watched.deleted, false);
});

test("the summary of an interface", () => {
  assert.equal(summaryOf(info()), "GraphQL · 3 operations · not created yet");
  assert.equal(summaryOf(info({ error: "no" })), "GraphQL · 3 operations · failed");
  assert.equal(summaryOf(info({ operations: 1, work: {} })), "GraphQL · 1 operation · creating…");
  assert.equal(summaryOf(info({ version_count: 1 })), "GraphQL · 3 operations · 1 version");
});

test("URLs of this machine and its network are private", () => {
  for (const url of ["http://localhost:1/x", "http://a.localhost", "http://127.0.0.1:80", "http://127.1", "http://10.0.0.1", "http://192.168.1.1", "http://172.16.0.1", "http://[::1]:80", "http://[fd00::1]", "http://100.64.0.1"]) assert.equal(isPrivateURL(url), true, url);
  for (const url of ["https://api.example.com", "http://8.8.8.8", "http://172.32.0.1", "http://100.128.0.1", "http://localhost.example.com", "nonsense", ""]) assert.equal(isPrivateURL(url), false, url);
});

test("the base of a version", () => {
  const versions = [{ number: 1 }, { number: 2, based: 1 }, { number: 3, based: 1 }, { number: 4 }];
  assert.equal(baseVersion(info({ versions }), 3).number, 1);
  assert.equal(baseVersion(info({ versions }), 4).number, 3);
  assert.equal(baseVersion(info({ versions }), 1), undefined);
  assert.ok(repairPrompt("x".repeat(9000)).length < 2200);
});

test("a request that the user wrote is failed if it has no result", () => {
  const failed = (more) => newInterface(info(more)).failed;
  assert.equal(failed({ request: "Make it dark" }), "Make it dark");
  assert.equal(failed({ request: "Make it dark", work: {} }), "");
  assert.equal(failed({ request: repairPrompt("x") }), "");
  assert.equal(failed({ request: "A", question: { options: ["A", "B"] } }), "");
  assert.equal(failed(), "");
});

test("a request that another portal works on is not failed", () => {
  const watched = newInterface(info());
  const after = (type, more) => (applyMessage(watched, event(type, { interface: info(more) })), watched.failed);
  assert.equal(after("changed", { request: "Make it dark" }), "");
  assert.equal(after("changed", { request: "Make it dark", error: "no" }), "Make it dark");
  assert.equal(after("changed", { request: "Make it dark", allowed: "https://a" }), "Make it dark");
  assert.equal(after("began", { request: "Make it light", work: {} }), "");
  assert.equal(after("ended", { request: "Make it light" }), "Make it light", "it was not stored");
  assert.equal(after("changed", {}), "");
});
