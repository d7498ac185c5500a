// Finds the words of a search in a run, and highlights them without changing the document.

const NAME = "hit"; // ::highlight(hit) in styles/conversation.css

/** Returns the words of a search, as the portal reads them: everything but letters and digits separates. @param {string} search */
export const wordsOf = (search) => search.toLowerCase().split(/[^\p{L}\p{N}\p{M}]+/u).filter(Boolean);

/** Returns where the words, or words that begin with them, stand in a text. Pure. @param {string} text @param {string[]} words @returns {[number, number][]} */
export function findWords(text, words) {
  const lower = text.toLowerCase();
  if (lower.length !== text.length || words.length === 0) return []; // a letter whose lower case is longer: positions would be wrong
  return [...lower.matchAll(/[\p{L}\p{N}\p{M}]+/gu)].flatMap(({ 0: found, index }) => {
    const word = words.filter((word) => found.startsWith(word)).sort((a, b) => b.length - a.length)[0];
    return word ? [/** @type {[number, number]} */ ([index, index + word.length])] : [];
  });
}

/**
 * Highlights the words in the first of the nodes that has all of them. Returns an element to scroll to, or undefined if there is none.
 * @param {Node[]} nodes @param {string} search
 */
export function highlightHit(nodes, search) {
  const words = wordsOf(search);
  clearHit();
  const node = nodes.find((node) => {
    const text = node.textContent?.toLowerCase() ?? "";
    return words.every((word) => text.includes(word));
  });
  const ranges = node && words.length > 0 ? rangesOf(node, words) : [];
  if (ranges.length === 0) return undefined;
  if ("highlights" in CSS) CSS.highlights.set(NAME, new Highlight(...ranges));
  return ranges[0].startContainer.parentElement ?? undefined;
}

/** Removes the highlight. */
export function clearHit() {
  if ("highlights" in CSS) CSS.highlights.delete(NAME);
}

/** @param {Node} node @param {string[]} words */
function rangesOf(node, words) {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  /** @type {Range[]} */
  const ranges = [];
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    for (const [from, to] of findWords(text.textContent ?? "", words)) {
      const range = new Range();
      range.setStart(text, from);
      range.setEnd(text, to);
      ranges.push(range);
    }
  }
  return ranges;
}
