import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { findEntries, readOpenAPI, readOpenRPC, requestOf, sampleOf } from "./reference.js";

const doc = {
  paths: {
    "/session/{id}/live": {
      parameters: [{ $ref: "#/components/parameters/Session" }],
      get: { operationId: "poll", tags: ["live"], summary: "Wait", parameters: [{ name: "limit", in: "query", schema: { type: "integer" } }, { name: "X-Other", in: "header" }], responses: { 200: { $ref: "#/components/responses/Done" } } },
      post: { operationId: "send", tags: ["live"], requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/Prompt" } } } }, responses: {} },
    },
  },
  components: {
    parameters: { Session: { name: "id", in: "path", required: true, description: "The session", schema: { type: "string" }, example: "abc" } },
    responses: { Done: { description: "Done" } },
    schemas: { Prompt: { type: "object", required: ["text", "mode"], properties: { text: { type: "string", example: "Hello" }, mode: { enum: ["plan", "ask"] }, more: { type: "string" } } } },
  },
};

test("an OpenAPI document becomes entries", () => {
  const [poll, send] = readOpenAPI(doc);
  assert.deepEqual(poll.fields, [
    { name: "id", in: "path", required: true, type: "string", text: "The session", example: "abc" },
    { name: "limit", in: "query", required: false, type: "integer", text: "", example: "" },
  ]);
  assert.deepEqual(poll.answers, [{ status: "200", text: "Done" }]);
  assert.equal(poll.body, null);
  assert.equal(send.method, "POST");
  assert.deepEqual(JSON.parse(send.body?.example ?? ""), { text: "Hello", mode: "plan" });
});

test("an OpenRPC document becomes entries with a request to try", () => {
  const [list] = readOpenRPC({ methods: [{ name: "session.list", summary: "Lists", params: [{ name: "limit", schema: { type: "integer" } }, { name: "state", required: true, schema: { enum: ["open"] } }], errors: [{ code: -32602, message: "Invalid params" }] }] }, "JSON-RPC");
  assert.deepEqual(JSON.parse(list.body?.example ?? ""), { jsonrpc: "2.0", id: 1, method: "session.list", params: { state: "open" } });
  assert.deepEqual(list.fields.map(({ name, type, required }) => [name, type, required]), [["limit", "integer", false], ["state", '"open"', true]]);
  assert.deepEqual(list.answers, [{ status: "-32602", text: "Invalid params" }]);
});

test("a filled form becomes a request", () => {
  const [poll, send] = readOpenAPI(doc);
  assert.deepEqual(requestOf(poll, { id: "a b/c", limit: "5" }, ""), { address: "session/a%20b/c/live?limit=5", init: { method: "GET" } });
  assert.deepEqual(requestOf(poll, { id: "x", limit: "" }, ""), { address: "session/x/live", init: { method: "GET" } });
  assert.deepEqual(requestOf(send, { id: "x" }, "{}").init, { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
});

test("a sample of a schema that contains itself ends", () => {
  const nested = { components: { schemas: { Node: { type: "object", required: ["next"], properties: { next: { $ref: "#/components/schemas/Node" } } } } } };
  assert.ok(JSON.stringify(sampleOf(nested, { $ref: "#/components/schemas/Node" })).length < 200);
});

test("entries are found by all words", () => {
  const entries = readOpenAPI(doc);
  assert.deepEqual(findEntries(entries, "get LIVE").map(({ id }) => id), ["poll"]);
  assert.equal(findEntries(entries, "").length, 2);
});

test("each method of /rpc has a request to try", () => {
  const entries = readOpenRPC(JSON.parse(readFileSync(new URL("../spec/openrpc.json", import.meta.url), "utf8")), "JSON-RPC");
  assert.ok(entries.length >= 40);
  for (const { path, body } of entries) assert.equal(JSON.parse(body?.example ?? "").method, path);
});
