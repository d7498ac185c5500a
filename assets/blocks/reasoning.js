// Reasoning: one line that unfolds.

import { h, setText } from "../dom.js";
import { createHTMLView } from "./html.js";
import { reasoningLabel } from "./labels.js";

/** @typedef {import("../store.js").BlockItem} BlockItem */

/** @param {BlockItem} item @returns {import("./block.js").Block} */
export function reasoningBlock(item) {
  let shown = item;
  /** @type {ReturnType<typeof createHTMLView> | undefined} */
  let show;
  const label = h("summary");
  const body = h("div", { class: "thought markdown" });
  const node = h("details", { class: "reasoning" }, label, body);
  const draw = () => {
    show ??= createHTMLView(body);
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
      setText(label, item.agent ? subagentLabel(item) : reasoningLabel(item));
      if (node.open) draw();
    },
  };
}

/** Returns the first line of a sub-agent's reasoning. @param {BlockItem} item */
function subagentLabel(item) {
  const first = item.content.trim().split("\n", 1)[0];
  return first.length > 90 ? `${first.slice(0, 90)}…` : first || reasoningLabel(item);
}
