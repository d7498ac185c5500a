import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { favourites, isRoot, isWord, parentOf, pathsToComplete, recentDirectories, toggleFavourite } from "./directories.js";

const newStore = (content = {}) => ({ content, getItem: (key) => content[key] ?? null, setItem: (key, value) => { content[key] = value; } });

describe("favourites", () => {
  test("are added in order, and removed", () => {
    const store = newStore();
    for (const path of ["/b", "/a", "/c", "/b"]) toggleFavourite(store, path);
    assert.deepEqual(favourites(store), ["/a", "/c"]);
  });
  for (const broken of ["{", "7", "null", '[1, "", null]']) {
    test(`${broken} is no favourite`, () => assert.deepEqual(favourites(newStore({ "portal.favourites": broken })), []));
  }
  test("a full store changes nothing", () => {
    const store = { getItem: () => null, setItem() { throw new Error("full"); } };
    toggleFavourite(store, "/a");
    assert.deepEqual(favourites(store), []);
  });
});

test("recent directories are newest first, once, without favourites", () => {
  const sessions = [["/old", "1"], ["/new", "3"], ["/mid", "2"], ["/new", "0"], ["/star", "9"], [undefined, "8"]].map(([directory, updated_at]) => ({ directory, updated_at }));
  assert.deepEqual(recentDirectories(sessions, ["/star"]), ["/new", "/mid", "/old"]);
  const many = Array.from({ length: 20 }, (_, i) => ({ directory: `/${i}`, updated_at: String(i) }));
  assert.equal(recentDirectories(many, []).length, 6);
});

describe("paths to complete", () => {
  for (const [typed, current, want] of [
    ["/srv/a", "/home/me/x", ["/srv/a"]],
    ["~/a", "/home/me/x", ["~/a"]],
    ["", "/home/me/x", [""]],
    ["her", "/home/me/x/", ["/home/me/x/her", "/home/me/her", "~/her"]],
    [" her ", "", ["~/her"]],
    ["her", "/", ["~/her"]],
    ["C:\\a", "C:\\me", ["C:\\a"]],
    ["her", "C:\\me\\x\\", ["C:\\me\\x/her", "C:\\me\\her", "~/her"]],
  ]) test(`${JSON.stringify(typed)} in ${current}`, () => assert.deepEqual(pathsToComplete(typed, current), want));
});

test("a word is no path", () => {
  assert.deepEqual(["her", " her", "", " ", "/her", "~", "~/her", "./her", "C:\\her", "c:/her", "\\\\host\\her", "c:"].map(isWord), [true, true, false, false, false, false, false, true, false, false, false, true]);
});

test("the parent ends with a slash", () => {
  assert.deepEqual(["/a/b", "/a/b/", "/a", "/", "C:\\a\\b"].map(parentOf), ["/a/", "/a/", "/", "/", "C:\\a\\"]);
});

test("a root has no parent", () => {
  assert.deepEqual(["/", "C:\\", "c:/", "/a", "C:\\a"].map(isRoot), [true, true, true, false, false]);
});
