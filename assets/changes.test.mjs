import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ChangesModel, countFiles, fileNotes, hunkTitle, isSmall, lineText, numberLines, pairLines, restoredNote, runLabel, splitPath, totals, undoText } from "./changes.js";

const file = (path, more = {}) => ({ path, status: "modified", added: 1, removed: 0, state: "present", ...more });
const changes = (...paths) => ({ available: true, runs: [], files: paths.map((path) => file(path)), more: false, not_covered: [] });
const line = (kind, text = kind, more = {}) => ({ kind, text, ...more });
const hunk = (lines, more = {}) => ({ id: "h", old_start: 10, old_lines: 3, new_start: 12, new_lines: 4, section: "", lines, ...more });

/** A source of changes whose answers are given by hand. */
function source() {
  const calls = [];
  const load = (run) => new Promise((resolve, reject) => calls.push({ run, resolve, reject }));
  const seen = [];
  const model = new ChangesModel(load, () => seen.push([model.scope, model.shown?.files.map(({ path }) => path).join(" ") ?? null]));
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { calls, seen, model, settle };
}

describe("the changes of a session", () => {
  test("are loaded as a whole", async () => {
    const { calls, model, settle } = source();
    void model.reload();
    assert.deepEqual(calls.map(({ run }) => run), [""]);
    calls[0].resolve(changes("a"));
    await settle();
    assert.deepEqual(model.shown?.files.map(({ path }) => path), ["a"]);
  });
  test("are loaded once more after requests while they are loaded", async () => {
    const { calls, model, settle } = source();
    for (let i = 0; i < 5; i++) void model.reload();
    assert.equal(calls.length, 1);
    calls[0].resolve(changes("a"));
    await settle();
    assert.equal(calls.length, 2);
    calls[1].resolve(changes("a", "b"));
    await settle();
    assert.equal(calls.length, 2);
    assert.equal(model.shown?.files.length, 2);
  });
  test("are those of the newest scope", async () => {
    const { calls, model, seen, settle } = source();
    model.setScope("r1");
    model.setScope("r2");
    calls[0].resolve(changes("all"));
    calls[1].resolve(changes("old"));
    await settle();
    assert.deepEqual(calls.map(({ run }) => run), ["", "r1", "", "r2"]);
    calls[2].resolve(changes("all"));
    calls[3].resolve(changes("new"));
    await settle();
    assert.deepEqual(seen.at(-1), ["r2", "new"]);
    assert.ok(!seen.some(([, paths]) => paths === "old"));
    assert.equal(model.whole?.files[0].path, "all");
  });
  test("stay when loading fails, with the reason", async () => {
    const { calls, model, settle } = source();
    model.setScope("r1");
    calls[0].resolve(changes("all"));
    calls[1].reject(new Error("unknown run"));
    await settle();
    assert.equal(model.problem, "unknown run");
    assert.equal(model.shown, null);
    assert.equal(model.whole?.files.length, 1);
    model.setScope("");
    assert.equal(model.problem, "");
    assert.equal(model.shown, model.whole);
  });
});

test("what was reverted does not count", () => {
  assert.deepEqual(totals({ ...changes(), files: [file("a", { added: 3, removed: 2 }), file("b", { state: "reverted" }), file("c", { state: "edited" })] }), { files: 2, added: 4, removed: 2 });
  assert.deepEqual([0, 1, 2, 2000].map(countFiles), ["0 files", "1 file", "2 files", "2,000 files"]);
});

for (const [more, want] of [
  [{}, []],
  [{ state: "reverted" }, ["Reverted"]],
  [{ state: "edited", also_edited: true, binary: true }, ["Edited since", "Also edited by others", "Binary"]],
  [{ mode: ["100644", "100755"] }, ["Now executable"]],
  [{ mode: ["100755", "100644"] }, ["No longer executable"]],
  [{ mode: ["100644", "120000"] }, ["Now a symbolic link"]],
  [{ mode: ["120000", "100644"] }, ["No longer a symbolic link"]],
]) test(`a file with ${JSON.stringify(more)} has the notes ${want}`, () => assert.deepEqual(fileNotes(file("a", more)), want));

describe("a hunk", () => {
  test("is named by its lines after the change", () => {
    assert.equal(hunkTitle(hunk([])), "Lines 12–15");
    assert.equal(hunkTitle(hunk([], { new_lines: 1 })), "Line 12");
    assert.equal(hunkTitle(hunk([], { new_start: 9, new_lines: 0 })), "Lines 10–12");
  });
  test("numbers its lines on both sides", () => {
    const lines = numberLines(hunk([line(" "), line("-"), line("-"), line("+"), line(" ")]));
    assert.deepEqual(lines.map(({ old, new: after }) => [old, after]), [[10, 12], [11, 0], [12, 0], [0, 13], [13, 14]]);
  });
  test("pairs what was removed with what was added", () => {
    const pairs = (...kinds) => pairLines(kinds.map((kind, i) => line(kind, `${i}`))).map(([left, right]) => `${left?.text ?? "."}|${right?.text ?? "."}`);
    assert.deepEqual(pairs(" ", "-", "-", "+", " "), ["0|0", "1|3", "2|.", "4|4"]);
    assert.deepEqual(pairs("-", "+", "+", "-", "+"), ["0|1", ".|2", "3|4"]);
    assert.deepEqual(pairs("+", "-"), [".|0", "1|."]);
    assert.deepEqual(pairs(), []);
  });
});

test("a line keeps its tabs, shows carriage returns and is cut when it is very long", () => {
  assert.equal(lineText(line("+", "\tif x {\r")), "\tif x {␍");
  assert.equal(lineText(line("+", "end", { no_newline: true })), "end ⌿ no line end");
  assert.equal(lineText(line("+", "x".repeat(3500))), `${"x".repeat(2000)}… (1,500 more characters)`);
});

test("what can be undone is described", () => {
  const undo = (kind, files) => ({ id: "u", kind, files, by: "ui", time: "2026-11-23T04:00:00Z" });
  const now = Date.parse("2026-11-23T04:05:00Z");
  assert.equal(undoText(undo("revert", 1), now), "Reverted 1 file 5 min ago");
  assert.equal(undoText(undo("restore", 3), now - 290_000), "Restored 3 files just now");
  assert.equal(restoredNote({ id: "u", files: [] }), "");
  assert.equal(restoredNote({ id: "", files: [] }), "There is nothing left to take back.");
  assert.equal(restoredNote({ id: "u", files: [], left: ["a", "b"] }), "Left alone, because they changed at this moment: a, b");
});

test("a run is labelled by its prompt", () => {
  const run = { run_id: "r", started_at: "2026-11-23T04:00:00Z", files: 2, added: 0, removed: 0 };
  assert.equal(runLabel(run, 3, "Fix the tests"), "Run 3: Fix the tests (2 files)");
  assert.equal(runLabel({ ...run, working: true }, 1, "x".repeat(70)), `Run 1: ${"x".repeat(60)}… (working)`);
  assert.match(runLabel(run, 1, ""), /^Run 1: \d.*\(2 files\)$/);
});

test("a path is split before its name", () => {
  assert.deepEqual(["a/b/c.go", "c.go", "a/", "a\\c.go"].map(splitPath), [["a/b/", "c.go"], ["", "c.go"], ["a/", ""], ["a\\", "c.go"]]);
});

test("changes are small with few files and few lines", () => {
  assert.equal(isSmall([file("a"), file("b", { removed: 198 })]), true);
  assert.equal(isSmall([file("a", { added: 201 })]), false);
  assert.equal(isSmall(["a", "b", "c", "d", "e", "f"].map((path) => file(path))), false);
});
