// The last lines of a session, for whoever looks at many of them at once. Pure.

import { describeTool } from "./blocks/words.js";

/** @typedef {{key: string, kind: string, text: string}} Line */

const MOST = 400; // characters of an item: its end

/** The end of what a session says and does, the newest last. @param {import("./store.js").Session} session @param {number} [count] @returns {Line[]} */
export function previewOf({ items, directory }, count = 4) {
  /** @type {Line[]} */
  const lines = [];
  for (let i = items.length - 1; i >= 0 && lines.length < count; i--) {
    const text = textOf(items[i], directory);
    if (text) lines.unshift({ key: items[i].key, kind: items[i].kind, text });
  }
  return lines;
}

/** @param {import("./store.js").Item} item @param {string} directory */
function textOf(item, directory) {
  switch (item.kind) {
    case "text": case "reasoning": return end(item.content);
    case "error": return end(item.message);
    case "tool": {
      const { verb, object } = describeTool(item, directory);
      return end(`${verb} ${object}`.trim());
    }
  }
  return "";
}

/** @param {string} text */
function end(text) {
  const letters = [...text.trim()];
  return letters.length > MOST ? `…${letters.slice(1 - MOST).join("")}` : letters.join("");
}
