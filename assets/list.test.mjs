import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { groupByDay, newList, updateList } from "./store.js";

const now = new Date(2026, 10, 21, 12).getTime();
const at = (days, title, more = {}) => ({ session_id: title, title, directory: "/home/ada/tea", updated_at: new Date(now - days * 86_400_000).toISOString(), ...more });
const summary = (groups) => groups.map(({ label, sessions }) => `${label}: ${sessions.map(({ title }) => title).join(" ")}`);

describe("the list", () => {
  test("groups sessions by day, newest first", () => {
    const list = newList([at(40, "d"), at(0.1, "b"), at(1, "c"), at(0, "a"), at(3, "w"), at(400, "y")]);
    assert.deepEqual(summary(groupByDay(list, now)), ["Today: a b", "Yesterday: c", "This week: w", "October: d", "October 2025: y"]);
  });
  test("applies changes", () => {
    const list = newList([at(1, "a"), at(2, "b")]);
    list.changed = false;
    updateList(list, { method: "portal.session.changed", params: { session: at(0, "b") } });
    updateList(list, { method: "portal.session.changed", params: { session: at(0, "n") } });
    updateList(list, { method: "portal.session.removed", params: { session_id: "a" } });
    assert.equal(list.changed, true);
    assert.deepEqual(summary(groupByDay(list, now)), ["Today: b n"]);
  });
  test("ignores other messages", () => {
    const list = newList();
    list.changed = false;
    updateList(list, { method: "agent.event", params: {} });
    assert.equal(list.changed, false);
  });
  test("hides sessions of jobs unless they match a search or wait for the user", () => {
    const list = newList([at(0, "a"), at(0, "j", { origin: "job" }), at(0, "w", { origin: "job", state: "waiting" })]);
    assert.deepEqual(summary(groupByDay(list, now)), ["Today: a w"]);
    assert.deepEqual(summary(groupByDay(list, now, "tea")), ["Today: a j w"]);
  });
  for (const [search, want] of [["", "a b"], ["  ", "a b"], ["A", "a b"], ["heron tea", "b"], ["coffee", undefined]]) {
    test(`finds ${JSON.stringify(search)}`, () => {
      const groups = groupByDay(newList([at(0, "a"), at(0, "b", { last_user_message: "watch the HERON" })]), now, search);
      assert.equal(groups[0]?.sessions.map(({ title }) => title).join(" "), want);
    });
  }
});
