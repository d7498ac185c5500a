import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { apply, newSession } from "../store.js";
import { hasArrived, knownOf, NOTHING } from "./unsent.js";

const prompt = (session, run, text, more = {}) => apply(session, { method: "agent.event", params: { run_id: run, event: { type: "hidden_user_message", content: text, ...more }, meta: {} } }, 0);
const queue = (session, ...waiting) => apply(session, { method: "agent.event", params: { run_id: "", event: { type: "queue", waiting: waiting.map(([run_id, text]) => ({ run_id, text })) }, meta: {} } }, 0);
const made = () => newSession({ session_id: "s" });

describe("a prompt whose response was lost", () => {
  test("has arrived if the conversation continues with it", () => {
    const s = made();
    prompt(s, "1", "continue");
    const known = knownOf(s);
    assert.equal(hasArrived(s, "continue", known), false, "the same text was there before");
    prompt(s, "2", "other");
    assert.equal(hasArrived(s, "continue", known), false);
    prompt(s, "3", "continue");
    assert.equal(hasArrived(s, "continue", known), true);
  });
  test("has arrived if it steers the run", () => {
    const s = made();
    prompt(s, "1", "work");
    const known = knownOf(s);
    prompt(s, "1", "faster", { steers: true });
    assert.equal(hasArrived(s, "faster", known), true);
  });
  test("has arrived if it is queued, whose list has only its start", () => {
    const s = made();
    const text = `first line\n\tsecond ${"word ".repeat(60)}`.trim();
    const start = "first line second word word…";
    queue(s, ["1", start]);
    const known = knownOf(s);
    assert.equal(hasArrived(s, text, known), false);
    prompt(s, "1", text); // its turn has come
    assert.equal(hasArrived(s, text, known), false, "it waited before");
    queue(s, ["1", start], ["2", start]);
    assert.equal(hasArrived(s, text, known), true);
    queue(s, ["3", "first line"]);
    assert.equal(hasArrived(s, text, known), false);
    assert.equal(hasArrived(s, "first\nline", known), true);
  });
  test("has not arrived if a compaction is queued", () => {
    const s = made();
    queue(s, ["1", ""]);
    assert.equal(hasArrived(s, "", NOTHING), false);
  });
  test("is unknown if what came before is no longer there", () => {
    const s = made();
    prompt(s, "2", "continue");
    assert.equal(hasArrived(s, "continue", { after: "1/prompt:1", queued: [] }), false);
  });
  test("has arrived in a new session if it is there at all", () => {
    const s = made();
    assert.equal(hasArrived(s, "hello", NOTHING), false);
    prompt(s, "1", "hello");
    assert.equal(hasArrived(s, "hello", NOTHING), true);
  });
});
