// Prompts that could not be sent because the connection broke. The portal may have got one all the same, before it could say so: then the session
// has it once it is attached again. Pure, but for the storage.

import { keep, loadKept } from "./kept.js";

/**
 * @typedef {import("../store.js").Session} Session
 * @typedef {{after: string, queued: string[]}} Known what a session had before: the key of its last prompt, else of its last item, and the runs that waited
 * @typedef {{text: string, names: string[]} & Known} Unsent names: of the attached files
 */

/** @param {string} id */
const keyOf = (id) => `unsent:${id}`;

/** @param {import("./kept.js").Store} store @param {string} id of the session @returns {Unsent[]} */
export const loadUnsent = (store, id) => loadKept(store, keyOf(id)) ?? [];

/** @param {import("./kept.js").Store} store @param {string} id @param {Unsent[]} list */
export const saveUnsent = (store, id, list) => keep(store, keyOf(id), list.length > 0 ? list : undefined);

/** Nothing: any prompt came later. @type {Known} */
export const NOTHING = { after: "", queued: [] };

/** Returns what a session has now, before a prompt is sent. @param {Session} session @returns {Known} */
export const knownOf = ({ items, waiting }) => ({ after: (items.findLast(({ kind }) => kind === "prompt") ?? items.at(-1))?.key ?? "", queued: waiting.map(({ run }) => run) });

/**
 * Reports whether a session has a prompt that it did not have before. Only its text identifies it, because no client sees the id of a call of another
 * connection.
 * @param {Session} session @param {string} text @param {Known} known
 */
export function hasArrived({ items, waiting }, text, { after, queued }) {
  const from = items.findLastIndex(({ key }) => key === after) + 1;
  if (after && from === 0) return false; // too much has happened since to tell
  if (items.slice(from).some((item) => item.kind === "prompt" && item.text === text && !queued.includes(item.run))) return true;
  return waiting.some(({ run, text: start }) => start !== "" && !queued.includes(run) && startsWith(text, start));
}

/** Reports whether a text has a start as in the list of queued prompts: on one line, with an ellipsis if it is cut. @param {string} text @param {string} start */
function startsWith(text, start) {
  const line = text.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return line === start || (start.endsWith("…") && line.startsWith(start.slice(0, -1)));
}
