import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { NO_FILTER, directoryWithin, filterSessions, groupByProject, newList, updateList } from "./list.js";

const now = new Date(2026, 10, 21, 12).getTime();
const at = (days, title, more = {}) => ({ session_id: title, title, directory: "/home/ada/tea", project: "/home/ada/tea", updated_at: new Date(now - days * 86_400_000).toISOString(), ...more });
const inProject = (project, days, title, more = {}) => at(days, title, { directory: project, project, ...more });
const names = (sessions) => sessions.map(({ title }) => title).join(" ");
const summary = (groups) => groups.map(({ label, sessions }) => `${label}: ${names(sessions)}`);
const grouped = (sessions, filter = {}) => summary(groupByProject(newList(sessions), { ...NO_FILTER, ...filter }));
const filtered = (sessions, filter) => names(filterSessions(newList(sessions), { ...NO_FILTER, ...filter }));

describe("the list", () => {
  test("groups sessions by project, the newest first", () => {
    assert.deepEqual(grouped([inProject("/x/tea", 3, "a"), inProject("/x/cup", 2, "b"), inProject("/x/tea", 1, "c"), inProject("/x/pot", 4, "d")]), ["tea: c a", "cup: b", "pot: d"]);
  });
  test("has pinned sessions first", () => {
    assert.deepEqual(grouped([at(0, "a"), at(3, "b", { pinned: true }), inProject("/x/pot", 9, "c", { pinned: true })]), ["Pinned: b c", "tea: a"]);
  });
  test("tells projects of the same name apart", () => {
    assert.deepEqual(grouped([inProject("/x/one/api", 0, "a"), inProject("/x/two/api/", 1, "b"), inProject("/x/web", 2, "c")]), ["api – one: a", "api – two: b", "web: c"]);
  });
  test("does without projects and directories", () => {
    assert.deepEqual(grouped([{ session_id: "a", title: "a" }, inProject("/", 0, "b")]), ["/: b", ": a"]);
  });
  test("applies changes", () => {
    const list = newList([at(1, "a"), at(2, "b")]);
    list.changed = false;
    updateList(list, { method: "portal.session.changed", params: { session: at(0, "b") } });
    updateList(list, { method: "portal.session.changed", params: { session: at(0, "n") } });
    updateList(list, { method: "portal.session.removed", params: { session_id: "a" } });
    assert.equal(list.changed, true);
    assert.deepEqual(summary(groupByProject(list, NO_FILTER)), ["tea: b n"]);
  });
  test("ignores other messages", () => {
    const list = newList();
    list.changed = false;
    updateList(list, { method: "agent.event", params: {} });
    assert.equal(list.changed, false);
  });
  for (const [search, want] of [["", "a b"], ["  ", "a b"], ["A", "a b"], ["heron tea", "b"], ["coffee", ""]]) {
    test(`finds ${JSON.stringify(search)}`, () => assert.equal(filtered([at(0, "a"), at(0, "b", { last_user_message: "watch the HERON" })], { search }), want));
  }
});

describe("without a filter", () => {
  const sessions = [at(0, "page", { origin: "ui" }), at(1, "script", { origin: "rest" }), at(2, "job", { origin: "job" }), at(3, "operation", { origin: "operation" }), at(4, "studio", { origin: "studio" }), at(5, "old", { archived: true })];
  test("only what the user started is shown", () => assert.equal(filtered(sessions, {}), "page script"));
  test("what waits for the user is shown, too", () => {
    assert.equal(filtered([at(0, "a", { origin: "job", state: "waiting" }), at(1, "b", { archived: true, state: "waiting" })], {}), "a b");
  });
  test("a search finds everything", () => assert.equal(filtered(sessions, { search: "tea" }), "page script job operation studio old"));
});

describe("a filter by origin", () => {
  const sessions = [at(0, "page", { origin: "ui" }), at(1, "job", { origin: "job" }), at(2, "old", { origin: "job", archived: true })];
  test("shows one origin, without the archive", () => assert.equal(filtered(sessions, { origin: "job" }), "job"));
  test("shows all, without the archive", () => assert.equal(filtered(sessions, { origin: "all" }), "page job"));
  test("holds during a search", () => assert.equal(filtered(sessions, { origin: "ui", search: "tea" }), "page"));
});

describe("a filter by state", () => {
  const sessions = [
    at(0, "waits", { state: "waiting" }), at(1, "works", { state: "running" }), at(2, "queued", { state: "queued", origin: "job" }), at(3, "failed", { state: "idle", outcome: "failed" }), at(3, "cut", { state: "idle", outcome: "interrupted" }),
    at(4, "again", { state: "running", outcome: "failed" }), at(5, "old", { state: "idle", archived: true, pinned: true }), at(6, "done", { state: "idle", outcome: "completed" }),
  ];
  for (const [state, want] of Object.entries({ waiting: "waits", working: "works again", failed: "cut failed", archived: "old" })) {
    test(state, () => assert.equal(filtered(sessions, { state }), want));
  }
  test("and by origin", () => assert.equal(filtered(sessions, { state: "working", origin: "all" }), "works queued again"));
  test("an archived session is not among the pinned ones", () => assert.deepEqual(grouped(sessions, { state: "archived" }), ["tea: old"]));
});

test("the directory within a project is relative", () => {
  assert.equal(directoryWithin({ session_id: "a", directory: "/x/y", project: "/x/y" }), "");
  assert.equal(directoryWithin({ session_id: "a", directory: "/x/y/z/w", project: "/x/y" }), "z/w");
  assert.equal(directoryWithin({ session_id: "a", directory: "/q", project: "/x/y" }), "/q");
});
