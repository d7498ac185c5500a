// The lines of a hunk, in one column or, side by side, in two.

import { h, setHTML } from "../dom.js";
import { lineEndMark, lineText, numberLines, pairLines } from "../changes.js";

/** @typedef {import("../changes.js").NumberedLine} NumberedLine @typedef {import("../changes.js").Hunk} Hunk */

/** @type {Record<string, string>} */
const CLASSES = { "+": "diff-add", "-": "diff-del", " ": "diff-same" };

/** Draws the lines of a hunk. @param {Hunk} hunk @param {boolean} sideBySide @param {string} label for screen readers */
export function hunkLines(hunk, sideBySide, label) {
  const lines = numberLines(hunk);
  if (!sideBySide) return h("div", { class: "hunk-code" }, column(lines, label));
  const pairs = pairLines(lines);
  const [before, after] = [column(pairs.map(([line]) => line), `${label}, before`, "old"), column(pairs.map(([, line]) => line), `${label}, after`, "new")];
  return h("div", { class: "hunk-code split" }, before, after);
}

/** @param {(NumberedLine | null)[]} lines @param {string} label @param {"old" | "new"} [side] whose numbers the unchanged lines have */
function column(lines, label, side = "new") {
  return h("pre", { class: "diff", tabindex: "0", role: "group", "aria-label": label }, h("code", {}, ...lines.map((line) => (line ? oneLine(line, side) : h("span", { class: "diff-none" }, "\n")))));
}

/** @param {NumberedLine} line @param {"old" | "new"} side */
function oneLine(line, side) {
  const { kind, html } = line;
  const number = kind === "-" ? line.old : kind === "+" ? line.new : line[side];
  const node = h("span", { class: CLASSES[kind] ?? CLASSES[" "], "data-number": number });
  if (html === undefined) node.append(h("span", {}, lineText(line)));
  else {
    setHTML(node, html);
    const mark = lineEndMark(line);
    if (mark) node.append(h("span", {}, mark));
  }
  node.append("\n");
  return node;
}
