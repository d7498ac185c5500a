// Where the conversation is divided: which items fold into one line, and which are drawn together. No page is needed here.

import { foldsAs, noticeText } from "./words.js";

/** @typedef {{kind: string, run?: string, agent?: string} & Record<string, any>} Foldable */

const CHUNK = 60; // items that are drawn, skipped and measured together
const LONGEST = 240; // items of a chunk that is not divided because its items fold

/** Whether an item has nothing to say: it is not shown, and divides nothing. @param {Foldable} item */
export const isSilent = (item) => item.kind === "notice" && !noticeText(item);

/** Whether an item is shown in the line of the one before. @param {Foldable | undefined} before @param {Foldable} item */
export function joins(before, item) {
  const verb = foldsAs(item);
  return Boolean(verb && before) && verb === foldsAs(/** @type {Foldable} */ (before)) && before?.agent === item.agent && before?.run === item.run;
}

/**
 * Returns where the chunk begins that ends before an index: so that nothing that folds is divided.
 * @param {Foldable[]} items @param {number} end
 */
export function chunkStart(items, end) {
  let start = Math.max(0, end - CHUNK);
  while (start > 0 && end - start < LONGEST && joins(items[start - 1], items[start])) start--;
  return start;
}

/** Whether an item that comes at the end begins a chunk. @param {number} count items of the last one @param {boolean} joined */
export const isFull = (count, joined) => count >= CHUNK && !joined;
