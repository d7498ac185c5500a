// Finds what was added to the end of growing HTML, so that the page need not replace a long paragraph for each new word.

const VOID = new Set(["br", "hr", "img", "input"]);
const CLOSING = /^(?:<\/[a-z0-9]+>\n?)*$/; // a newline before it would be in the element

/**
 * What HTML has more than before: `html`, at the end of the innermost of the elements in `path`, each the last child of the one before.
 * @typedef {{path: string[], html: string}} Addition
 */

/**
 * Returns what was added, or null if more changed than that. Both texts are of the portal's sanitizer: well-formed, in lower case.
 * @param {string} before @param {string} after @returns {Addition | null}
 */
export function additionTo(before, after) {
  const start = boundary(before, commonPrefix(before, after));
  const closing = before.slice(start);
  if (!CLOSING.test(closing) || !after.endsWith(closing) || after.length < before.length) return null;
  const html = after.slice(start, after.length - closing.length);
  if (!isBalanced(html)) return null;
  return { path: [...closing.matchAll(/<\/([a-z0-9]+)>/g)].map(([, name]) => name).reverse(), html };
}

/** @param {string} a @param {string} b */
function commonPrefix(a, b) {
  let low = 0;
  let high = Math.min(a.length, b.length);
  while (low < high) { // comparing slices is much faster than comparing characters
    const middle = (low + high + 1) >> 1;
    if (a.slice(low, middle) === b.slice(low, middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Moves a position out of a tag or an entity, to its start. @param {string} text @param {number} at */
function boundary(text, at) {
  const tag = text.lastIndexOf("<", at - 1);
  if (tag >= 0 && at > 0 && text.indexOf(">", tag) >= at) return tag;
  const entity = text.lastIndexOf("&", at - 1);
  if (entity >= 0 && at > 0 && at - entity < 12 && !text.slice(entity, at).includes(";")) return entity;
  return at;
}

/** Reports whether HTML closes what it opens, and nothing else. @param {string} html */
function isBalanced(html) {
  /** @type {string[]} */
  const open = [];
  for (const [, slash, name] of html.matchAll(/<(\/?)([a-z0-9]+)[^>]*>/g)) {
    if (slash ? open.pop() !== name : false) return false;
    if (!slash && !VOID.has(name)) open.push(name);
  }
  return open.length === 0;
}
