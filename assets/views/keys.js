// What keys mean, and when they mean nothing because they were meant for something else. No page is needed here.

/** ms after a question appeared, or got the focus, in which no key answers it. */
export const CALM = 400;

/** ms after the last key in the composer in which it keeps the focus. */
export const WRITING = 1000;

/** @typedef {{key: string, shiftKey: boolean, ctrlKey: boolean, metaKey: boolean, altKey: boolean, isComposing?: boolean, repeat?: boolean}} Key */
/** @typedef {"send" | "steer" | "recall" | "forward" | "complete" | "none"} Meaning */

/**
 * What a key means in the composer.
 * @param {Key} key
 * @param {{text: string, atStart: boolean, atEnd: boolean, recalling: boolean}} at atStart: in the first line; recalling: an earlier prompt is shown
 * @returns {Meaning}
 */
export function meansInComposer(key, { text, atStart, atEnd, recalling }) {
  if (key.isComposing || key.altKey) return "none";
  if (key.key === "Enter" && !key.shiftKey) return key.repeat ? "complete" : key.ctrlKey || key.metaKey ? "steer" : "send";
  if (key.shiftKey || key.ctrlKey || key.metaKey) return "none";
  if (key.key === "ArrowUp" && atStart && (text === "" || recalling)) return "recall";
  if (key.key === "ArrowDown" && atEnd && recalling) return "forward";
  return "none";
}

/**
 * Whether a key may answer a question now.
 * @param {Pick<Key, "repeat" | "isComposing">} key @param {number} now @param {number} since when the question appeared or got the focus
 */
export const mayAnswer = (key, now, since) => !key.repeat && !key.isComposing && now - since >= CALM;

/**
 * Whether a question may take the focus: not from somebody who writes.
 * @param {{elsewhere: boolean, inComposer: boolean, text: string, sinceKey: number}} at elsewhere: a control has the focus that is not the composer
 */
export function mayTakeFocus({ elsewhere, inComposer, text, sinceKey }) {
  if (elsewhere) return false;
  return !inComposer || (text.trim() === "" && sinceKey >= WRITING);
}

/** Whether a key begins a text, which belongs into the composer. @param {Key} key */
export const isCharacter = (key) => key.key.length === 1 && key.key !== " " && !key.ctrlKey && !key.metaKey && !key.altKey && !key.isComposing;

/**
 * How a prompt is sent: one that finds a run waits for it or joins it.
 * @param {"send" | "steer"} meaning @returns {"queue" | "steer"}
 */
export const whenBusy = (meaning) => (meaning === "steer" ? "steer" : "queue");
