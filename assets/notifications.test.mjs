import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LONG_RUN, noticesOf } from "./views/notifications.js";

const session = (state, more = {}) => ({ session_id: "a", title: "t", state, ...more });

/** Returns the texts of the notices that each step of [time, state, more] gives. */
function told(...steps) {
  const seen = new Map();
  return steps.map(([at, state, more]) => noticesOf(seen, [session(state, more)], at).map(({ text }) => text).join());
}

describe("a notice", () => {
  test("tells what a session waits for, once", () => {
    assert.deepEqual(told([1, "running"], [2, "waiting", { waits_for: "Run git push" }], [3, "waiting", { waits_for: "Run git push" }], [4, "running"], [5, "waiting"]),
      ["", "Waiting for you: Run git push", "", "", "Waiting for you: open the session"]);
  });
  test("tells each of two questions that follow one another at once", () => {
    assert.deepEqual(told([1, "running"], [2, "waiting", { waits_for: "Run a" }], [3, "waiting", { waits_for: "Run b" }]), ["", "Waiting for you: Run a", "Waiting for you: Run b"]);
  });
  test("does not tell what the page found when it opened", () => assert.deepEqual(told([1, "waiting"], [2, "waiting"]), ["", ""]));
  test("tells the end of a long run", () => {
    assert.deepEqual(told([1, "idle"], [2, "running"], [3 + LONG_RUN, "idle", { outcome: "completed" }]), ["", "", "The run is done"]);
    assert.deepEqual(told([1, "idle"], [2, "running"], [3 + LONG_RUN, "idle", { outcome: "failed" }]), ["", "", "The run failed"]);
  });
  test("counts the time for which a run waits", () => {
    assert.deepEqual(told([1, "running"], [10, "waiting"], [20 + LONG_RUN, "running"], [30 + LONG_RUN, "idle"]).at(-1), "The run is done");
  });
  test("does not tell the end of a short run", () => assert.deepEqual(told([1, "running"], [LONG_RUN, "idle"], [1 + LONG_RUN, "running"], [2 + LONG_RUN, "idle"]), ["", "", "", ""]));
  test("does not tell the ends of runs of jobs, but their questions", () => {
    assert.deepEqual(told([1, "running", { origin: "job" }], [2 + LONG_RUN, "idle", { origin: "job" }], [3 + LONG_RUN, "waiting", { origin: "job", waits_for: "x" }]), ["", "", "Waiting for you: x"]);
  });
});
