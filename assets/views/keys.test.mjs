import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isComposing, isSubmit, isTextKey, canAnswer, canStop, canTakeFocus, choiceNumber, composerAction, whenBusy } from "./keys.js";

const key = (name, more) => ({ key: name, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...more });
const at = (more) => ({ text: "", atStart: true, atEnd: true, recalling: false, onScreen: false, ...more });

describe("a key in the composer", () => {
  const cases = [
    ["Enter sends", key("Enter"), at({ text: "x" }), "send"],
    ["Enter of an on-screen keyboard starts a line", key("Enter"), at({ text: "x", onScreen: true }), "none"],
    ["Ctrl+Enter steers on a tablet, too", key("Enter", { ctrlKey: true }), at({ text: "x", onScreen: true }), "steer"],
    ["Shift+Enter starts a line", key("Enter", { shiftKey: true }), at(), "none"],
    ["Ctrl+Enter steers", key("Enter", { ctrlKey: true }), at(), "steer"],
    ["⌘+Enter steers", key("Enter", { metaKey: true }), at(), "steer"],
    ["repeated Enter is ignored", key("Enter", { repeat: true }), at(), "ignore"],
    ["Enter that ends a composition does nothing", key("Enter", { isComposing: true }), at(), "none"],
    ["Enter that ends a composition in Safari does nothing", key("Enter", { keyCode: 229 }), at({ text: "x" }), "none"],
    ["↑ recalls a prompt in an empty field", key("ArrowUp"), at(), "previous"],
    ["↑ moves the caret in a text", key("ArrowUp"), at({ text: "x" }), "none"],
    ["↑ recalls the next older prompt", key("ArrowUp"), at({ text: "x", recalling: true }), "previous"],
    ["↑ moves the caret within a recalled prompt", key("ArrowUp"), at({ text: "x", recalling: true, atStart: false }), "none"],
    ["↓ recalls the next newer prompt", key("ArrowDown"), at({ text: "x", recalling: true }), "next"],
    ["↓ moves the caret in a text", key("ArrowDown"), at({ text: "x" }), "none"],
    ["letters are typed", key("a"), at(), "none"],
  ];
  for (const [name, pressed, place, want] of cases) test(name, () => assert.equal(composerAction(pressed, place), want));
});

describe("Escape stops a run", () => {
  test("without questions", () => assert.ok(canStop({}, 100, -Infinity)));
  test("more than a second after a question", () => {
    assert.ok(!canStop({}, 2000, 1000));
    assert.ok(canStop({}, 2001, 1000));
  });
  test("unless it is held", () => assert.ok(!canStop({ repeat: true }, 9000, 1000)));
});

describe("a question ignores keys", () => {
  test("right after it appeared", () => {
    assert.ok(!canAnswer({}, 1399, 1000));
    assert.ok(canAnswer({}, 1400, 1000));
  });
  test("that repeat", () => assert.ok(!canAnswer({ repeat: true }, 9000, 1000)));
  test("and does not take the focus while the user types", () => {
    assert.ok(canTakeFocus({ elsewhere: false, inComposer: false, text: "", sinceKey: 0 }));
    assert.ok(canTakeFocus({ elsewhere: false, inComposer: true, text: " ", sinceKey: 2000 }));
    assert.ok(!canTakeFocus({ elsewhere: false, inComposer: true, text: "", sinceKey: 100 }));
    assert.ok(!canTakeFocus({ elsewhere: false, inComposer: true, text: "x", sinceKey: 9000 }));
    assert.ok(!canTakeFocus({ elsewhere: true, inComposer: false, text: "", sinceKey: 9000 }));
  });
});

test("a key of an input method is told by its code in Safari", () => {
  assert.ok(isComposing(key("Enter", { isComposing: true })));
  assert.ok(isComposing(key("Enter", { isComposing: false, keyCode: 229 })));
  assert.ok(!isComposing(key("Enter", { keyCode: 13 })));
  assert.ok(!canAnswer(key("Enter", { keyCode: 229 }), 9000, 1000));
  assert.equal(choiceNumber(key("1", { keyCode: 229 })), 0);
});

describe("a field of several lines", () => {
  const cases = [
    ["is submitted by Enter", key("Enter"), false, true],
    ["gets a line from Shift+Enter", key("Enter", { shiftKey: true }), false, false],
    ["gets a line from Enter of an on-screen keyboard", key("Enter"), true, false],
    ["is submitted by Ctrl+Enter on a tablet", key("Enter", { ctrlKey: true }), true, true],
    ["is not submitted by an input method", key("Enter", { keyCode: 229 }), false, false],
    ["is not submitted by another key", key("a"), false, false],
  ];
  for (const [name, pressed, onScreen, want] of cases) test(name, () => assert.equal(isSubmit(pressed, onScreen), want));
});

test("characters are text keys, shortcuts are not", () => {
  assert.ok(isTextKey(key("a")));
  assert.ok(!isTextKey(key(" ")));
  assert.ok(!isTextKey(key("Enter")));
  assert.ok(!isTextKey(key("a", { ctrlKey: true })));
});

test("a prompt queues or steers during a run", () => {
  assert.equal(whenBusy("send"), "queue");
  assert.equal(whenBusy("steer"), "steer");
});

test("the digits 1 to 9 choose, alone", () => {
  const key = (/** @type {string} */ key, more = {}) => ({ key, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...more });
  assert.equal(choiceNumber(key("1")), 1);
  assert.equal(choiceNumber(key("9")), 9);
  for (const other of [key("0"), key("a"), key("Enter"), key("1", { ctrlKey: true }), key("1", { isComposing: true })]) assert.equal(choiceNumber(other), 0);
});
