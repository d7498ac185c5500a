// What was written and not sent, which survives a reload, and earlier prompts. No page is needed here.

/** @typedef {Pick<Storage, "getItem" | "setItem" | "removeItem">} Store */
/** @typedef {{text: string, mentions: string[]}} Draft */

/** @param {string} id */
const keyOf = (id) => `draft:${id}`;

/** @param {Store} store @param {string} id of the session @returns {Draft} */
export function loadDraft(store, id) {
  try {
    const { text, mentions } = JSON.parse(store.getItem(keyOf(id)) ?? "{}");
    return { text: typeof text === "string" ? text : "", mentions: Array.isArray(mentions) ? mentions.filter((path) => typeof path === "string") : [] };
  } catch {
    return { text: "", mentions: [] };
  }
}

/** An empty one is forgotten. A store that is full or forbidden keeps nothing. @param {Store} store @param {string} id @param {Draft} draft */
export function saveDraft(store, id, draft) {
  try {
    if (draft.text) store.setItem(keyOf(id), JSON.stringify(draft));
    else store.removeItem(keyOf(id));
  } catch {
    // the draft lives as long as the page
  }
}

/**
 * Walks through earlier prompts; -1 is behind the last, where the draft is.
 * @param {string[]} prompts oldest first @param {number} at how many steps back, -1 for none @param {1 | -1} step back or forward
 * @returns {{at: number, text: string | null}} null: the draft again
 */
export function recall(prompts, at, step) {
  const past = prompts.filter((text, i) => text && text !== prompts[i + 1]);
  const next = Math.max(-1, Math.min(past.length - 1, at + step));
  return { at: next, text: next < 0 ? null : past[past.length - 1 - next] };
}

/** The mention that is being written before the caret: `@` and letters. @param {string} text @param {number} caret */
export function mentionAt(text, caret) {
  const found = /(?:^|\s)@([^\s@]*)$/.exec(text.slice(0, caret));
  return found ? { from: caret - found[1].length - 1, query: found[1] } : null;
}

/** Puts a path where a mention is. @param {string} text @param {number} from @param {number} caret @param {string} path */
export function mention(text, from, caret, path) {
  const rest = text.slice(caret);
  const before = `${text.slice(0, from)}@${path}${/^[\s.,;:!?)]/.test(rest) ? "" : " "}`;
  return { text: before + rest, caret: before.length };
}

/** The mentions that are still in a text. @param {string} text @param {string[]} mentions */
export function mentioned(text, mentions) {
  const words = new Set(text.split(/\s+/).flatMap((word) => [word, word.replace(/[.,;:!?)]+$/, "")]));
  return [...new Set(mentions)].filter((path) => (/\s/.test(path) ? text.includes(`@${path}`) : words.has(`@${path}`)));
}
