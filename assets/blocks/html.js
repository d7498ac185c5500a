// Shows streamed HTML of the portal: the complete part is only appended to, the tail is replaced where it changed.

import { copyButton, h, escapeBidi, setHTML, setText } from "../dom.js";
import { additionTo } from "../html-change.js";

/**
 * Creates a view of HTML that grows at its end, or of plain text if there is no HTML.
 * @param {HTMLElement} node
 * @returns {(html: string, tail: string, text: string) => void} tail replaces the previous tail
 */
export function createHTMLView(node) {
  const done = h("div", { class: "whole" });
  const end = h("div", { class: "rest" });
  let shown = "";
  let shownTail = "";
  let isPlain = false;
  node.append(done, end);
  return (html, tail, text) => {
    const plain = !html && !tail;
    if (plain && !isPlain) {
      done.replaceChildren();
      end.replaceChildren();
      shown = shownTail = "";
    }
    if (plain !== isPlain) node.classList.toggle("plain-text", (isPlain = plain));
    if (plain) return showText(done, text);
    if (!html.startsWith(shown)) {
      done.replaceChildren();
      shown = "";
    } else if (shown === "") {
      done.replaceChildren(); // it may hold plain text
    }
    if (html.length > shown.length) append(done, html.slice(shown.length));
    shown = html;
    if (tail !== shownTail) showTail(end, shownTail, tail);
    shownTail = tail;
  };
}

/** Appends the new part of a text. @param {HTMLElement} node @param {string} text */
function showText(node, text) {
  const last = node.firstChild;
  const shown = escapeBidi(text);
  if (last instanceof Text && shown.startsWith(last.data)) last.appendData(shown.slice(last.data.length));
  else setText(node, shown);
}

/** Adds to the tail what is new; replaces it if that is not at its end. @param {HTMLElement} root @param {string} before @param {string} after */
function showTail(root, before, after) {
  const added = additionTo(before, after);
  /** @type {Element | null} */
  let node = added ? root : null;
  for (const name of added?.path ?? []) node = node?.lastElementChild?.localName === name ? node.lastElementChild : null;
  if (!node || !added) setHTML(root, after);
  else if (/[<&]/.test(added.html)) appendHTML(node, added.html);
  else if (node.lastChild instanceof Text) node.lastChild.appendData(added.html);
  else node.append(added.html);
}

/** @param {Element} node @param {string} html */
function appendHTML(node, html) {
  const part = /** @type {Element} */ (node.cloneNode(false)); // parses what only such an element may contain
  setHTML(part, html);
  node.append(...part.childNodes);
}

/** @param {HTMLElement} node @param {string} html */
function append(node, html) {
  const part = h("div");
  setHTML(part, html);
  for (const pre of part.querySelectorAll("pre")) addCodeTools(pre);
  for (const table of part.querySelectorAll("table")) {
    const frame = h("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Table" });
    table.replaceWith(frame);
    frame.append(table);
  }
  node.append(...part.childNodes);
}

/** Adds the language and a copy button to code, and makes it scrollable by keyboard. @param {HTMLElement} pre */
function addCodeTools(pre) {
  pre.tabIndex = 0;
  if (!pre.classList.contains("code") && !pre.classList.contains("plain")) return;
  const frame = h("div", { class: pre.classList.contains("continued") ? "code-box continued" : "code-box" });
  pre.replaceWith(frame);
  frame.append(pre, h("div", { class: "code-tools" },
    h("span", { class: "muted", "aria-hidden": "true" }, pre.dataset.language ?? ""),
    copyButton(() => pre.textContent ?? "", pre, "Copy code")));
}
