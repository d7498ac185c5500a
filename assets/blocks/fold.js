// How a conversation is divided: which items are grouped into one line, and which are drawn as one chunk. Pure.

import { groupingVerb, noticeText } from "./labels.js";

/** @typedef {{kind: string, run?: string, agent?: string} & Record<string, any>} Groupable */

const CHUNK_SIZE = 60; // items drawn, skipped and measured together
const MAX_CHUNK = 240; // items of a chunk that is extended because they are grouped

/** Reports whether an item is not shown; it does not end a group. @param {Groupable} item */
export const isHidden = (item) => item.kind === "notice" && !noticeText(item);

/** Reports whether an item joins the group of the previous one. @param {Groupable | undefined} before @param {Groupable} item */
export function joinsGroup(before, item) {
  const verb = groupingVerb(item);
  return Boolean(verb && before) && verb === groupingVerb(/** @type {Groupable} */ (before)) && before?.agent === item.agent && before?.run === item.run;
}

/**
 * Returns the start of the chunk that ends before an index, so that no group is divided.
 * @param {Groupable[]} items @param {number} end
 */
export function chunkStart(items, end) {
  let start = Math.max(0, end - CHUNK_SIZE);
  while (start > 0 && end - start < MAX_CHUNK && joinsGroup(items[start - 1], items[start])) start--;
  return start;
}

/** Reports whether a new last item starts a chunk. @param {number} count items of the last chunk @param {boolean} joined */
export const isFull = (count, joined) => count >= CHUNK_SIZE && !joined;
