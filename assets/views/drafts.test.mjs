import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { joinTexts, loadDraft, insertMention, mentionAt, mentionsIn, recallPrompt, removeText, saveDraft } from "./drafts.js";

const store = () => {
  const kept = new Map();
  return { kept, getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => void kept.set(key, value), removeItem: (key) => void kept.delete(key) };
};

describe("a draft", () => {
  test("is saved per session", () => {
    const s = store();
    saveDraft(s, "a", { text: "hello @x.go", mentions: ["x.go"] });
    assert.deepEqual(loadDraft(s, "a"), { text: "hello @x.go", mentions: ["x.go"] });
    assert.deepEqual(loadDraft(s, "b"), { text: "", mentions: [] });
  });
  test("is removed when empty", () => {
    const s = store();
    saveDraft(s, "a", { text: "x", mentions: [] });
    saveDraft(s, "a", { text: "", mentions: [] });
    assert.equal(s.kept.size, 0);
  });
  test("tolerates foreign values", () => {
    for (const value of ["{", "null", '{"text": 1, "mentions": [2]}']) {
      assert.deepEqual(loadDraft({ ...store(), getItem: () => value }, "a"), { text: "", mentions: [] });
    }
  });
  test("is not saved if the store is full", () => {
    const full = { ...store(), setItem: () => { throw new Error("full"); } };
    assert.doesNotThrow(() => saveDraft(full, "a", { text: "x", mentions: [] }));
  });
});

describe("a text that returns to a draft", () => {
  test("is a paragraph before what is there", () => {
    assert.equal(joinTexts("sent", "written since"), "sent\n\nwritten since");
    assert.equal(joinTexts("sent", " \n"), "sent");
    assert.equal(joinTexts("", ""), "");
  });
  test("can be removed again", () => {
    assert.equal(removeText("sent", "sent"), "");
    assert.equal(removeText("sent\n\nsince", "sent"), "since");
    assert.equal(removeText("sent last\n\nsent", "sent"), "sent last");
    assert.equal(removeText("a\n\nsent\n\nz", "sent"), "a\n\nz");
    assert.equal(removeText("one\n\ntwo\n\nsince", "one\n\ntwo"), "since");
  });
  test("stays if it was edited", () => {
    assert.equal(removeText("sent, edited", "sent"), "sent, edited");
    assert.equal(removeText("since", ""), "since");
  });
});

describe("earlier prompts", () => {
  const prompts = ["one", "two", "two", "three"];
  test("come from last to first, without repetitions", () => {
    let at = -1;
    const seen = [];
    for (let i = 0; i < 4; i++) {
      const step = recallPrompt(prompts, at, 1);
      at = step.at;
      seen.push(step.text);
    }
    assert.deepEqual(seen, ["three", "two", "one", "one"]);
  });
  test("end at the draft", () => assert.deepEqual(recallPrompt(prompts, 0, -1), { at: -1, text: null }));
  test("are empty in a new session", () => assert.deepEqual(recallPrompt([], -1, 1), { at: -1, text: null }));
});

describe("a mention", () => {
  test("is found before the caret", () => {
    assert.deepEqual(mentionAt("see @docs/he", 12), { from: 4, query: "docs/he" });
    assert.deepEqual(mentionAt("@", 1), { from: 0, query: "" });
    assert.equal(mentionAt("me@example", 10), null);
    assert.equal(mentionAt("see @docs now", 13), null);
  });
  test("is replaced by the path and a space", () => {
    assert.deepEqual(insertMention("see @he, please", 4, 7, "docs/heron.md"), { text: "see @docs/heron.md, please", caret: 18 });
    assert.deepEqual(insertMention("see @he please", 4, 7, "a.md"), { text: "see @a.md please", caret: 9 });
  });
  test("counts while the text contains it", () => {
    assert.deepEqual(mentionsIn("look at @a.go, and @b/c.go.", ["a.go", "b/c.go", "d.go", "a.go"]), ["a.go", "b/c.go"]);
    assert.deepEqual(mentionsIn("no @a.gox", ["a.go"]), []);
    assert.deepEqual(mentionsIn("@my file.txt it is", ["my file.txt"]), ["my file.txt"]);
  });
});
