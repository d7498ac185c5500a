import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isTextKey, canAnswer, canTakeFocus, composerAction, whenBusy } from "./keys.js";

const key = (name, more) => ({ key: name, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...more });
const at = (more) => ({ text: "", atStart: true, atEnd: true, recalling: false, ...more });

describe("a key in the composer", () => {
  const cases = [
    ["Enter sends", key("Enter"), at({ text: "x" }), "send"],
    ["Shift+Enter starts a line", key("Enter", { shiftKey: true }), at(), "none"],
    ["Ctrl+Enter steers", key("Enter", { ctrlKey: true }), at(), "steer"],
    ["so does ⌘+Enter", key("Enter", { metaKey: true }), at(), "steer"],
    ["Enter that is held sends once", key("Enter", { repeat: true }), at(), "ignore"],
    ["Enter that ends a composition does not", key("Enter", { isComposing: true }), at(), "none"],
    ["↑ recalls in an empty field", key("ArrowUp"), at(), "previous"],
    ["↑ moves in a text", key("ArrowUp"), at({ text: "x" }), "none"],
    ["↑ goes on recalling", key("ArrowUp"), at({ text: "x", recalling: true }), "previous"],
    ["↑ moves relativePath what was recalled", key("ArrowUp"), at({ text: "x", recalling: true, atStart: false }), "none"],
    ["↓ comes back", key("ArrowDown"), at({ text: "x", recalling: true }), "next"],
    ["↓ moves in a text", key("ArrowDown"), at({ text: "x" }), "none"],
    ["letters are letters", key("a"), at(), "none"],
  ];
  for (const [name, pressed, place, want] of cases) test(name, () => assert.equal(composerAction(pressed, place), want));
});

describe("a question is not answered by a key that was meant for something else", () => {
  test("in its first moments", () => {
    assert.ok(!canAnswer({}, 1399, 1000));
    assert.ok(canAnswer({}, 1400, 1000));
  });
  test("that is held", () => assert.ok(!canAnswer({ repeat: true }, 9000, 1000)));
  test("and takes no focus from who writes", () => {
    assert.ok(canTakeFocus({ elsewhere: false, inComposer: false, text: "", sinceKey: 0 }));
    assert.ok(canTakeFocus({ elsewhere: false, inComposer: true, text: " ", sinceKey: 2000 }));
    assert.ok(!canTakeFocus({ elsewhere: false, inComposer: true, text: "", sinceKey: 100 }));
    assert.ok(!canTakeFocus({ elsewhere: false, inComposer: true, text: "x", sinceKey: 9000 }));
    assert.ok(!canTakeFocus({ elsewhere: true, inComposer: false, text: "", sinceKey: 9000 }));
  });
});

test("characters belong into the composer, commands do not", () => {
  assert.ok(isTextKey(key("a")));
  assert.ok(!isTextKey(key(" ")));
  assert.ok(!isTextKey(key("Enter")));
  assert.ok(!isTextKey(key("a", { ctrlKey: true })));
});

test("a prompt waits for a run, or joinsGroup it", () => {
  assert.equal(whenBusy("send"), "queue");
  assert.equal(whenBusy("steer"), "steer");
});
