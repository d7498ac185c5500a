// The last lines of a session, for lists of running sessions. Pure.

import { describeTool } from "./blocks/labels.js";

/** @typedef {{key: string, kind: string, text: string}} Line */

const MAX_LENGTH = 400; // characters of an item

/** Returns the last lines of a session, newest last. @param {import("./store.js").Session} session @param {number} [count] @returns {Line[]} */
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
    case "text": case "reasoning": return truncateStart(item.content);
    case "error": return truncateStart(item.message);
    case "tool": {
      const { verb, object } = describeTool(item, directory);
      return truncateStart(`${verb} ${object}`.trim());
    }
  }
  return "";
}

/** @param {string} text */
function truncateStart(text) {
  const letters = [...text.trim()];
  return letters.length > MAX_LENGTH ? `…${letters.slice(1 - MAX_LENGTH).join("")}` : letters.join("");
}
