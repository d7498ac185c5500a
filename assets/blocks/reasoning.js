// What the model thought: one line, which unfolds.

import { h, setText } from "../dom.js";
import { growingHTML } from "./html.js";
import { thought } from "./words.js";

/** @typedef {import("../store.js").BlockItem} BlockItem */

/** @param {BlockItem} item @returns {import("./block.js").Block} */
export function reasoningBlock(item) {
  let shown = item;
  /** @type {ReturnType<typeof growingHTML> | undefined} */
  let show;
  const label = h("summary");
  const body = h("div", { class: "thought markdown" });
  const node = h("details", { class: "reasoning" }, label, body);
  const draw = () => {
    show ??= growingHTML(body);
    show(shown.html, shown.tail, shown.content);
  };
  node.addEventListener("toggle", () => node.open && draw());
  return {
    node,
    /** @param {BlockItem} item */
    update(item) {
      shown = item;
      node.hidden = item.done && !item.content;
      node.dataset.state = item.done || item.ended ? "done" : "running";
      setText(label, item.agent ? said(item) : thought(item));
      if (node.open) draw();
    },
  };
}

/** What a sub-agent says is told as a thought; its beginning says more. @param {BlockItem} item */
function said(item) {
  const first = item.content.trim().split("\n", 1)[0];
  return first.length > 90 ? `${first.slice(0, 90)}…` : first || thought(item);
}
