import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { createDraftField } from "./draft-field.js";

/** Shows a field, as a view does. */
function shown(id = "a") {
  const field = Object.assign(new EventTarget(), { value: "" });
  const reasons = [];
  const draft = createDraftField({ field, id, onChange() {}, onRestore: (_, why) => reasons.push(why) });
  return { field, draft, reasons, type(text) {
    field.value = text;
    field.dispatchEvent(new Event("input"));
  } };
}

beforeEach(() => {
  const kept = new Map();
  globalThis.sessionStorage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => void kept.set(key, value), removeItem: (key) => void kept.delete(key) };
});

/** Sends what is written, and leaves and opens the view before it failed. */
function sent(text) {
  const first = shown();
  first.type(text);
  first.draft.set("");
  const second = shown(); // the next view is made before the last one is left
  first.draft.dispose();
  return [first, second];
}

describe("a draft", () => {
  test("is in the next field", () => {
    const first = shown();
    first.type("words");
    first.draft.dispose();
    const second = shown();
    assert.equal(second.field.value, "words");
    second.draft.dispose();
    assert.equal(shown("b").field.value, "");
  });

  test("that could not be sent returns to the field that is shown, before what was written since", () => {
    const [first, second] = sent("sent");
    second.type("since");
    assert.equal(first.draft.restore({ text: "sent" }, "gone"), true);
    assert.equal(second.field.value, "sent\n\nsince");
    assert.deepEqual([first.reasons, second.reasons], [[], ["gone"]]);
    second.draft.dispose();
  });

  test("that could not be sent returns to the next field if none is shown", () => {
    const [first, second] = sent("sent @x.go");
    second.type("since");
    second.draft.dispose();
    assert.equal(first.draft.restore({ text: "sent @x.go", mentions: ["x.go"] }, "gone"), false);
    const third = shown();
    assert.equal(third.field.value, "sent @x.go\n\nsince");
    assert.deepEqual(third.draft.mentions(), ["x.go"]);
    third.draft.dispose();
  });

  test("that was sent is forgotten, but not what was written since", () => {
    const first = shown();
    first.type("sent ");
    const second = shown();
    first.draft.dispose();
    first.draft.forget("sent");
    assert.equal(second.field.value, "");
    second.type("since");
    second.draft.dispose();
    first.draft.forget("sent");
    const third = shown();
    assert.equal(third.field.value, "since");
    third.draft.dispose();
  });
});
