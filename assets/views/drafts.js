// Unsent drafts, which survive a reload; earlier prompts; mentions of files. Pure.

import { LONGEST, keep, loadKept } from "./kept.js";

/** @typedef {import("./kept.js").Store} Store */
/** @typedef {{text: string, mentions: string[]}} Draft */

/** @param {string} id */
const keyOf = (id) => `draft:${id}`;

/** @param {Store} store @param {string} id of the session @returns {Draft} */
export function loadDraft(store, id) {
  const { text, mentions } = loadKept(store, keyOf(id)) ?? {};
  return { text: typeof text === "string" ? text : "", mentions: Array.isArray(mentions) ? mentions.filter((path) => typeof path === "string") : [] };
}

/** Saves a draft, or removes one that is empty or too long. @param {Store} store @param {string} id @param {Draft} draft */
export const saveDraft = (store, id, draft) => keep(store, keyOf(id), draft.text && draft.text.length <= LONGEST ? draft : undefined);

/** Joins texts as paragraphs, without blank ones. @param {string[]} texts */
export const joinTexts = (...texts) => texts.filter((text) => text.trim()).join("\n\n");

/** Removes a text that was joined with others; nothing if it has been edited since. @param {string} whole @param {string} part */
export function removeText(whole, part) {
  const at = part ? `\n\n${whole}\n\n`.indexOf(`\n\n${part}\n\n`) : -1;
  return at < 0 ? whole : joinTexts(whole.slice(0, Math.max(0, at - 2)), whole.slice(at + part.length + 2));
}

/**
 * Steps through earlier prompts; -1 is the draft.
 * @param {string[]} prompts oldest first @param {number} at how many steps back, -1 for none @param {1 | -1} step back or forward
 * @returns {{at: number, text: string | null}} null: the draft again
 */
export function recallPrompt(prompts, at, step) {
  const past = prompts.filter((text, i) => text && text !== prompts[i + 1]);
  const next = Math.max(-1, Math.min(past.length - 1, at + step));
  return { at: next, text: next < 0 ? null : past[past.length - 1 - next] };
}

/** Returns the mention before the caret: `@` and letters. @param {string} text @param {number} caret */
export function mentionAt(text, caret) {
  const found = /(?:^|\s)@([^\s@]*)$/.exec(text.slice(0, caret));
  return found ? { from: caret - found[1].length - 1, query: found[1] } : null;
}

/** Replaces a mention by a path. @param {string} text @param {number} from @param {number} caret @param {string} path */
export function insertMention(text, from, caret, path) {
  const rest = text.slice(caret);
  const before = `${text.slice(0, from)}@${path}${/^[\s.,;:!?)]/.test(rest) ? "" : " "}`;
  return { text: before + rest, caret: before.length };
}

/** Returns the mentions that a text contains. @param {string} text @param {string[]} mentions */
export function mentionsIn(text, mentions) {
  if (mentions.length === 0) return [];
  const words = new Set(text.split(/\s+/).flatMap((word) => [word, word.replace(/[.,;:!?)]+$/, "")]));
  return [...new Set(mentions)].filter((path) => (/\s/.test(path) ? text.includes(`@${path}`) : words.has(`@${path}`)));
}
