// What is shown of an item: one module for each kind.

import { h } from "../dom.js";
import { errorBlock } from "./error.js";
import { growingHTML } from "./html.js";
import { promptBlock } from "./prompt.js";
import { reasoningBlock } from "./reasoning.js";
import { toolBlock } from "./tool.js";
import { compactionBlock, endBlock, noticeBlock } from "./end.js";

/** @typedef {import("../store.js").Item} Item @typedef {import("../store.js").Session} Session */

/**
 * What blocks may know and do.
 * @typedef {object} Place
 * @property {Session} session
 * @property {(run: string) => string} href the address of a run
 * @property {(run: string) => void} retry sends the prompt of a run again
 * @property {() => void} chooseModel
 * @property {() => void} signIn
 *
 * @typedef {{node: HTMLElement, update: (item: any) => void}} Block update shows what the item is now
 */

/** @type {Record<Item["kind"], (item: any, place: Place) => Block>} */
const KINDS = {
  prompt: promptBlock, reasoning: reasoningBlock, text: textBlock, tool: toolBlock, error: errorBlock,
  notice: noticeBlock, end: endBlock, compaction: compactionBlock,
};

/** @param {Item} item @param {Place} place @returns {Block} */
export function createBlock(item, place) {
  const block = KINDS[item.kind](item, place);
  block.node.classList.add("block");
  if (item.agent) nest(block.node, item.agent, place);
  block.update(item);
  return block;
}

/** What a sub-agent does stands further in. @param {HTMLElement} node @param {string} agent @param {Place} place */
function nest(node, agent, { session }) {
  node.classList.add("nested");
  const name = session.agents[agent]?.title || session.agents[agent]?.name || "sub-agent";
  node.title = `By ${name}`;
}

/** Text of the answer. @returns {Block} */
function textBlock() {
  const node = h("article", { class: "text markdown", "aria-label": "Answer", "aria-busy": "true", "data-testid": "answer" });
  const show = growingHTML(node);
  return {
    node,
    /** @param {import("../store.js").BlockItem} item */
    update({ html, tail, content, done }) {
      show(html, tail, content);
      node.hidden = !content;
      if (done) node.removeAttribute("aria-busy");
    },
  };
}
