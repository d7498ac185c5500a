// What keys do, and when they are ignored because they were meant for something else. Pure.

/** ms after a question appeared or got the focus before a key can answer it. */
export const ANSWER_DELAY = 400;

/** ms after a question closed in which Escape is meant for it, and does not stop the run. */
const ESCAPE_PAUSE = 1000;

/** ms after the last key in the composer before a question may take the focus. */
export const TYPING_PAUSE = 1000;

/** @typedef {{key: string, shiftKey: boolean, ctrlKey: boolean, metaKey: boolean, altKey: boolean, isComposing?: boolean, keyCode?: number, repeat?: boolean}} Key */
/** @typedef {"send" | "steer" | "previous" | "next" | "ignore" | "none"} ComposerAction */

/**
 * Reports whether a key is one of an input method, such as the Enter that confirms a candidate. Safari ends the composition before it reports
 * that Enter, which only the code 229 then tells from another one.
 * @param {Pick<Key, "isComposing" | "keyCode">} key
 */
export const isComposing = (key) => Boolean(key.isComposing) || key.keyCode === 229;

/**
 * Returns what a key does in the composer.
 * @param {Key} key
 * @param {{text: string, atStart: boolean, atEnd: boolean, recalling: boolean, onScreen: boolean}} at atStart: in the first line; atEnd: in the last; recalling: an earlier
 *   prompt is shown; onScreen: the keyboard is on the screen, where Shift+Enter cannot be typed
 * @returns {ComposerAction}
 */
export function composerAction(key, { text, atStart, atEnd, recalling, onScreen }) {
  if (isComposing(key) || key.altKey) return "none";
  if (key.key === "Enter" && onScreen && !key.ctrlKey && !key.metaKey) return "none";
  if (key.key === "Enter" && !key.shiftKey) return key.repeat ? "ignore" : key.ctrlKey || key.metaKey ? "steer" : "send";
  if (key.shiftKey || key.ctrlKey || key.metaKey) return "none";
  if (key.key === "ArrowUp" && atStart && (text === "" || recalling)) return "previous";
  if (key.key === "ArrowDown" && atEnd && recalling) return "next";
  return "none";
}

/**
 * Reports whether a key submits a field: Enter, but only Ctrl+Enter if the keyboard is on the screen and the field has several lines, because
 * Shift+Enter cannot be typed there. Callers ignore a key that is held.
 * @param {Key} key @param {boolean} onScreen
 */
export const isSubmit = (key, onScreen) => key.key === "Enter" && !key.shiftKey && !isComposing(key) && (!onScreen || key.ctrlKey || key.metaKey);

/**
 * Reports whether a key can answer a question now.
 * @param {Pick<Key, "repeat" | "isComposing" | "keyCode">} key @param {number} now @param {number} since when the question appeared or got the focus
 */
export const canAnswer = (key, now, since) => !key.repeat && !isComposing(key) && now - since >= ANSWER_DELAY;

/**
 * Reports whether Escape stops a run: not if it is held, and not if it was meant for a question that is gone by now.
 * @param {Pick<Key, "repeat">} key @param {number} now @param {number} closed when the last question closed that Escape would have answered
 */
export const canStop = (key, now, closed) => !key.repeat && now - closed > ESCAPE_PAUSE;

/**
 * Reports whether a question can take the focus: not while the user types.
 * @param {{elsewhere: boolean, inComposer: boolean, text: string, sinceKey: number}} at elsewhere: a control other than the composer has the focus
 */
export function canTakeFocus({ elsewhere, inComposer, text, sinceKey }) {
  if (elsewhere) return false;
  return !inComposer || (text.trim() === "" && sinceKey >= TYPING_PAUSE);
}

/** Reports whether a key types a character. @param {Key} key */
export const isTextKey = (key) => key.key.length === 1 && key.key !== " " && !key.ctrlKey && !key.metaKey && !key.altKey && !isComposing(key);

/** Returns the number that a key chooses, from 1 to 9; 0 for other keys. @param {Key} key */
export const choiceNumber = (key) => (isTextKey(key) && /^[1-9]$/.test(key.key) ? Number(key.key) : 0);

/**
 * Returns what happens to a prompt during a run.
 * @param {"send" | "steer"} action @returns {"queue" | "steer"}
 */
export const whenBusy = (action) => (action === "steer" ? "steer" : "queue");
