// The tree of markdown.js → the page.

import { copyButton, h } from "./dom.js";
import { parseWithOffsets } from "./markdown.js";

/** @typedef {import("./markdown.js").Block} Block @typedef {import("./markdown.js").Inline} Inline */

/**
 * Returns a function that shows a text, of which each call knows a longer beginning. Blocks that can no longer change
 * are left alone; the last call, with whole, shows the text anew if it is not what the beginnings promised.
 * @param {HTMLElement} root @returns {(source: string, whole: boolean) => void}
 */
export function createMarkdown(root) {
  let shown = "";
  let settled = 0; // so much of the text stands in blocks that cannot change
  let kept = 0; // and this is their number
  return (source, whole) => {
    if (whole && source === shown) return;
    if (whole) settled = kept = 0;
    shown = source;
    while (root.childNodes.length > kept) root.lastChild?.remove();
    const { blocks, offsets } = parseWithOffsets(source.slice(settled));
    root.append(...blocks.map(blockNode));
    if (blocks.length > 2) {
      kept += blocks.length - 2;
      settled += offsets[blocks.length - 2];
    }
  };
}

/** @param {Block} block @returns {HTMLElement} */
function blockNode(block) {
  switch (block.type) {
    case "heading":
      return h(/** @type {"h2"} */ (`h${Math.min(block.level + 1, 6)}`), {}, ...inlineNodes(block.children));
    case "code":
      return codeNode(block.text, block.language);
    case "list":
      return h(block.ordered ? "ol" : "ul", block.ordered ? { start: block.first } : {}, ...block.items.map(itemNode));
    case "quote":
      return h("blockquote", {}, ...block.children.map(blockNode));
    case "table":
      return tableNode(block);
    case "rule":
      return h("hr");
    default:
      return h("p", {}, ...inlineNodes(block.children));
  }
}

/** @param {Block[]} blocks */
function itemNode(blocks) {
  // A single paragraph needs no element of its own: the list stays tight.
  return h("li", {}, ...blocks.flatMap((block, i) => (i === 0 && block.type === "paragraph" ? inlineNodes(block.children) : [blockNode(block)])));
}

/** @param {string} text @param {string} language */
function codeNode(text, language) {
  const code = h("code", {}, text);
  const head = h("div", { class: "code-head" }, h("span", {}, language), copyButton(() => text, code, "Copy the code"));
  return h("div", { class: "code" }, head, h("pre", { tabindex: "0" }, code));
}

/** @param {Extract<Block, {type: "table"}>} table */
function tableNode({ align, head, rows }) {
  /** @param {"th"|"td"} tag @returns {(cells: Inline[][]) => HTMLElement} */
  const row = (tag) => (cells) => h("tr", {}, ...cells.map((cell, i) => h(tag, { class: `align-${align[i]}` }, ...inlineNodes(cell))));
  const table = h("table", {}, h("thead", {}, row("th")(head)), h("tbody", {}, ...rows.map(row("td"))));
  return h("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Table" }, table);
}

/** @param {Inline[]} children @returns {(Node | string)[]} */
function inlineNodes(children) {
  return children.map((child) => {
    switch (child.type) {
      case "text":
        return child.text;
      case "break":
        return h("br");
      case "code":
        return h("code", {}, child.text);
      case "link":
        return h("a", { href: child.href, target: "_blank", rel: "noopener noreferrer" }, ...inlineNodes(child.children));
      default:
        return h(child.type, {}, ...inlineNodes(child.children));
    }
  });
}
