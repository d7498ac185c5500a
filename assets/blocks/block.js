// The blocks of a conversation, one module for each kind of item.

import { h } from "../dom.js";
import { errorBlock } from "./error.js";
import { createHTMLView } from "./html.js";
import { linkFiles } from "./path-links.js";
import { promptBlock } from "./prompt.js";
import { reasoningBlock } from "./reasoning.js";
import { toolBlock } from "./tool.js";
import { compactionBlock, endBlock, noticeBlock } from "./end.js";

/** @typedef {import("../store.js").Item} Item @typedef {import("../store.js").Session} Session */

/**
 * What blocks can use.
 * @typedef {object} BlockContext
 * @property {Session} session
 * @property {boolean} [readOnly] the user may only read it
 * @property {(run: string) => string} href returns the address of a run
 * @property {(run: string) => Promise<void>} retry sends the prompt of a run again
 * @property {() => void} chooseModel
 * @property {() => void} signIn
 * @property {(run: string, change: {text?: string, model?: string}) => Promise<void>} resend sends the prompt of a run again, in a fork from before the run, and opens it
 * @property {(run: string) => void} fork opens a fork that ends with a run
 * @property {(button: HTMLElement, choose: (model: string) => void) => void} pickModel offers the models in a menu at a button
 * @property {import("../views/kept.js").Kept} edits prompts that were edited and not sent, by run
 * @property {Map<string, number>} reviews how many files a run changed
 * @property {(run: string) => string} reviewHref returns the address of the changes of a run
 * @property {import("./path-links.js").Files} files the files that texts name
 *
 * @typedef {{node: HTMLElement, update: (item: any) => void}} Block update shows the item's current state
 */

/** @type {Record<Item["kind"], (item: any, context: BlockContext) => Block>} */
const KINDS = {
  prompt: promptBlock, reasoning: reasoningBlock, text: textBlock, tool: toolBlock, error: errorBlock,
  notice: noticeBlock, end: endBlock, compaction: compactionBlock,
};

/** @param {Item} item @param {BlockContext} context @returns {Block} */
export function createBlock(item, context) {
  const block = KINDS[item.kind](item, context);
  block.node.classList.add("block");
  if (item.agent) nest(block.node, item.agent, context);
  block.update(item);
  return block;
}

/** Indents the block of a sub-agent. @param {HTMLElement} node @param {string} agent @param {BlockContext} context */
function nest(node, agent, { session }) {
  node.classList.add("nested");
  const name = session.agents[agent]?.title || session.agents[agent]?.name || "sub-agent";
  node.title = `By ${name}`;
}

/** Text of the answer. @param {import("../store.js").BlockItem} _ @param {BlockContext} context @returns {Block} */
function textBlock(_, { files }) {
  const node = h("article", { class: "text markdown", "aria-label": "Answer", "aria-busy": "true", "data-testid": "answer" });
  const show = createHTMLView(node);
  let linked = ""; // whose files are links
  return {
    node,
    /** @param {import("../store.js").BlockItem} item */
    update({ html, tail, content, done }) {
      show(html, tail, content);
      if (done && html !== linked) void linkFiles(node, files);
      if (done) linked = html;
      node.hidden = !content;
      if (done) node.removeAttribute("aria-busy");
    },
  };
}
