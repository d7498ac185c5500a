// Several reads, or to-do updates, grouped into one line that unfolds.

import { h, setText } from "../dom.js";
import { describeGroup } from "./labels.js";

/** @typedef {import("../store.js").ToolItem} ToolItem */

/**
 * Creates the line and the list of the grouped blocks.
 * @param {import("./block.js").BlockContext} context
 */
export function createToolGroup({ session }) {
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
      const label = describeGroup(items, session.directory);
      setText(verb, label.verb);
      setText(object, label.object);
      setText(names, label.names);
      node.dataset.state = items.some(({ state }) => state === "running") ? "running" : "completed";
      node.classList.toggle("nested", Boolean(items[0]?.agent));
    },
  };
}
