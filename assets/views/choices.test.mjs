import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createChoices } from "./choices.js";

const made = (first = 0) => createChoices({ key: (name) => name, first, draw() {} });
const later = (options) => async () => options;

/** A request that the test answers. */
function question() {
  let answer;
  let heard;
  const isAsked = new Promise((done) => (heard = done));
  const options = new Promise((done) => (answer = done));
  return { isAsked, answer, find: () => (heard(), options) };
}

/** Lets the choices handle answers. */
const settle = () => new Promise((done) => setImmediate(done));

describe("an answer", () => {
  test("is shown", async () => {
    const choices = made();
    const one = question();
    choices.ask(one.find, 0);
    await one.isAsked;
    one.answer(["a", "b"]);
    await settle();
    assert.deepEqual(choices.list, ["a", "b"]);
  });

  test("does not replace the answer to a newer request", async () => {
    const choices = made();
    const [older, newer] = [question(), question()];
    choices.ask(older.find, 0);
    await older.isAsked;
    choices.ask(newer.find, 0);
    await newer.isAsked;
    newer.answer(["new"]);
    await settle();
    older.answer(["old"]);
    await settle();
    assert.deepEqual(choices.list, ["new"]);
  });

  test("is ignored while the next request is pending", async () => {
    const choices = made();
    const older = question();
    choices.ask(older.find, 0);
    await older.isAsked;
    choices.ask(later(["new"]), 60_000);
    older.answer(["old"]);
    await settle();
    assert.deepEqual(choices.list, []);
    choices.offer([]);
  });

  test("is ignored after the list was closed", async () => {
    const choices = made();
    const one = question();
    choices.ask(one.find, 0);
    await one.isAsked;
    choices.offer([]);
    one.answer(["late"]);
    await settle();
    assert.deepEqual(choices.list, []);
  });

  test("that failed shows nothing", async () => {
    const choices = made();
    choices.offer(["a"]);
    await new Promise((done) => choices.ask(async () => {
      setImmediate(done);
      throw new Error("gone");
    }, 0));
    await settle();
    assert.deepEqual(choices.list, []);
  });
});

describe("the selection", () => {
  test("is initially the first option, or none", () => {
    for (const [first, options, at] of [[0, ["a"], 0], [0, [], -1], [-1, ["a"], -1], [-1, [], -1]]) {
      const choices = made(first);
      choices.offer(options);
      assert.equal(choices.at, at);
    }
  });

  test("wraps around", () => {
    const choices = made(-1);
    choices.offer(["a", "b"]);
    const places = [-1, -1, -1, 1, 1].map((by) => (choices.move(by), choices.at));
    assert.deepEqual(places, [1, 0, 1, 0, 1]);
    choices.offer(["a", "b"]);
    const down = made(-1);
    down.offer(["a", "b"]);
    down.move(1);
    assert.equal(down.at, 0);
  });

  test("is kept by a later answer that contains it", () => {
    const choices = made();
    choices.offer(["a", "b"]);
    choices.move(1);
    choices.offer(["z", "a", "b"]);
    assert.equal(choices.at, 2);
    choices.offer(["z"]);
    assert.equal(choices.at, 0);
  });

  test("is the first option of a new answer unless the user moved", () => {
    const choices = made();
    choices.offer(["a", "b"]);
    choices.offer(["b", "a"]);
    assert.equal(choices.at, 0);
  });
});
