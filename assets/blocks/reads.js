// Several reads, or notes: one line that unfolds to all of them.

import { h, setText } from "../dom.js";
import { describeSeveral } from "./words.js";

/** @typedef {import("../store.js").ToolItem} ToolItem */

/**
 * The line over blocks of reads, which are inside.
 * @param {import("./block.js").Place} place
 */
export function readsGroup({ session }) {
  const verb = h("span", { class: "verb" });
  const object = h("span", { class: "object" });
  const names = h("span", { class: "names" });
  const list = h("div", { class: "reads-list" });
  const node = h("details", { class: "reads block" },
    h("summary", {}, h("span", { class: "dot", "aria-hidden": "true" }), verb, object, names), list);
  return {
    node,
    list,
    /** @param {ToolItem[]} items */
    update(items) {
      const words = describeSeveral(items, session.directory);
      setText(verb, words.verb);
      setText(object, words.object);
      setText(names, words.names);
      node.dataset.state = items.some(({ state }) => state === "running") ? "running" : "completed";
      node.classList.toggle("nested", Boolean(items[0]?.agent));
    },
  };
}
