// One view for each kind of block in the conversation.

import { h, setText } from "./dom.js";
import { createMarkdown } from "./markdown-view.js";
import { describeTool, duration, lastLines } from "./tools.js";

/** @typedef {import("./store.js").Block} Block @typedef {import("./store.js").Tool} Tool */
/** @typedef {{node: HTMLElement, update: (block: Block) => void}} View update shows what the block is now */

const TAIL = 5; // lines of output under a running tool

/** @param {Block} block @returns {View} */
export function createBlock(block) {
  switch (block.kind) {
    case "user":
      return createText("article", { class: "user", "aria-label": "Your prompt" });
    case "error":
      return createText("div", { class: "error", role: "alert", "aria-label": "Error" });
    case "answer":
      return createAnswer();
    case "reasoning":
      return createReasoning();
    default:
      return createTool();
  }
}

/** @param {"article"|"div"} tag @param {Record<string, string>} props @returns {View} */
function createText(tag, props) {
  const node = h(tag, props);
  return { node, update: ({ text }) => setText(node, text) };
}

/** @returns {View} */
function createAnswer() {
  const node = h("article", { class: "answer markdown", "aria-label": "Answer", "aria-busy": "true" });
  const show = createMarkdown(node);
  return {
    node,
    update({ text, state }) {
      show(text, state !== "running");
      if (state === "running") return;
      node.removeAttribute("aria-busy");
      node.dataset.testid = "answer";
    },
  };
}

/** @returns {View} */
function createReasoning() {
  const label = h("summary");
  const text = createGrowingText(h("div", { class: "thought" }));
  const node = h("details", { class: "reasoning" }, label, text.node);
  return {
    node,
    update(block) {
      node.hidden = block.state !== "running" && !block.text;
      node.dataset.state = block.state;
      setText(label, thoughtLabel(block));
      text.update(block.text);
    },
  };
}

/** @param {Block} block */
function thoughtLabel({ state, seconds }) {
  if (state === "running") return "Thinking…";
  return seconds === undefined ? "Thought" : `Thought for ${duration(seconds)}`;
}

/** @returns {View} */
function createTool() {
  const verb = h("span", { class: "verb" });
  const object = h("code");
  const outcome = h("span", { class: "outcome" });
  const body = h("div", { class: "tool-body" });
  const tail = h("pre", { class: "tail" });
  const details = h("details", {}, h("summary", {}, h("span", { class: "dot" }), verb, object, outcome), body);
  const node = h("div", { class: "tool", "data-testid": "tool" }, details, tail);
  const showBody = createToolBody(body);
  /** @type {Block} */
  let shown;
  details.addEventListener("toggle", () => details.open && showBody(shown));
  return {
    node,
    update(block) {
      shown = block;
      const tool = /** @type {Tool} */ (block.tool);
      const words = describeTool(tool.name, tool.args, block.state === "running");
      setText(verb, words.verb);
      setText(object, words.object.split("\n", 1)[0]);
      object.title = words.object.slice(0, 1000);
      setText(outcome, outcomeOf(block));
      setText(tail, block.state === "running" ? lastLines(block.text, TAIL) : tool.error && lastLines(tool.error, TAIL));
      node.dataset.state = block.state;
      node.classList.toggle("nested", tool.nested);
      if (details.open) showBody(block);
    },
  };
}

/** @param {Block} block */
function outcomeOf({ state, seconds }) {
  const time = seconds === undefined ? "" : duration(seconds);
  if (state === "done") return time || "done";
  return [state, time].filter(Boolean).join(", ");
}

/** Arguments and output, made when someone looks. @param {HTMLElement} root @returns {(block: Block) => void} */
function createToolBody(root) {
  /** @param {string} title */
  const part = (title) => {
    const text = createGrowingText(h("pre", { tabindex: "0" }));
    const node = h("section", { "aria-label": title }, h("h3", {}, title), text.node);
    root.append(node);
    return (/** @type {string} */ value) => {
      node.hidden = !value;
      text.update(value);
    };
  };
  /** @type {ReturnType<typeof part>[]} */
  let parts = [];
  return ({ text, tool }) => {
    if (!tool) return;
    if (parts.length === 0) parts = ["Arguments", "Output", "Error"].map(part);
    [tool.args, tool.result || text, tool.error].forEach((value, i) => parts[i](value));
  };
}

/** Shows a text that mostly grows at its end: only what is new is added. @param {HTMLElement} node */
function createGrowingText(node) {
  const content = document.createTextNode("");
  node.append(content);
  let shown = "";
  return {
    node,
    /** @param {string} text */
    update(text) {
      if (text === shown) return;
      if (text.startsWith(shown)) content.appendData(text.slice(shown.length));
      else content.data = text;
      shown = text;
    },
  };
}
