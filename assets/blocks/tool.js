// A tool call: one line with a verb and an object, which unfolds to what went in and what came out.

import { h, setText } from "../dom.js";
import { growingHTML } from "./html.js";
import { argumentsOf, changes, describeTool, lastLines, outcome } from "./words.js";

/** @typedef {import("../store.js").ToolItem} ToolItem @typedef {import("./block.js").Place} Place */

const TAIL = 8; // lines of output under a running tool

/** @param {ToolItem} item @param {Place} place @returns {import("./block.js").Block} */
export function toolBlock(item, place) {
  let shown = item;
  const line = toolLine(place);
  const details = h("details", {}, line.node);
  const node = h("div", { class: "tool", "data-testid": "tool" }, details);
  const tail = tailOf(node);
  /** @type {((item: ToolItem) => void) | undefined} */
  let showBody;
  const draw = () => {
    showBody ??= toolBody(details);
    showBody(shown);
  };
  details.addEventListener("toggle", () => details.open && draw());
  return {
    node,
    /** @param {ToolItem} item */
    update(item) {
      shown = item;
      node.dataset.state = item.state;
      line.update(item);
      tail(item);
      if (details.open) draw();
    },
  };
}

/** The line. @param {Place} place */
function toolLine({ session }) {
  const verb = h("span", { class: "verb" });
  const object = h("span", { class: "object" });
  const lines = h("span", { class: "changes" });
  const end = h("span", { class: "outcome" });
  const node = h("summary", {}, h("span", { class: "dot", "aria-hidden": "true" }), verb, object, lines, end);
  return {
    node,
    /** @param {ToolItem} item */
    update(item) {
      const words = describeTool(item, session.directory);
      setText(verb, words.verb);
      setText(object, words.object.split("\n", 1)[0]);
      object.classList.toggle("literal", words.literal);
      object.title = words.object.length > 40 ? words.object.slice(0, 1000) : "";
      showChanges(lines, item);
      setText(end, [helper(item, session), outcome(item)].filter(Boolean).join(", "));
    },
  };
}

/** +12 −3, in the colours of a diff. @param {HTMLElement} node @param {ToolItem} item */
function showChanges(node, item) {
  const text = changes(item);
  if (node.textContent === text) return;
  node.replaceChildren(...text.split(" ").flatMap((part, i) => [i ? " " : "", h("span", { class: part.startsWith("+") ? "added" : "removed" }, part)]));
}

/** How far the sub-agent is that a call began. @param {ToolItem} item @param {import("../store.js").Session} session */
function helper(item, session) {
  const agent = item.tool === "task" && Object.values(session.agents).find(({ call }) => call === item.id);
  return agent && agent.calls > 0 ? `${agent.calls} calls` : "";
}

/**
 * The last lines of its output, while it runs, or of what went wrong.
 * @param {HTMLElement} node @returns {(item: ToolItem) => void}
 */
function tailOf(node) {
  /** @type {HTMLElement | undefined} */
  let box;
  /** @type {ReturnType<typeof growingHTML> | undefined} */
  let show;
  return (item) => {
    const wanted = item.state === "running" ? Boolean(item.output) : item.state === "error" && Boolean(item.result);
    if (!wanted) {
      box?.remove();
      box = undefined;
      return;
    }
    if (!box) {
      box = h("div", { class: "tail", "aria-hidden": "true" });
      show = growingHTML(box);
      node.append(box);
    }
    const running = item.state === "running";
    show?.("", running ? item.tail : "", lastLines(running ? item.output : item.result, running ? TAIL : 3));
  };
}

/** Arguments, output and diff, made when somebody looks. @param {HTMLElement} details @returns {(item: ToolItem) => void} */
function toolBody(details) {
  const root = h("div", { class: "tool-body" });
  details.append(root);
  const given = part(root, "Arguments");
  const diff = part(root, "Change");
  const output = part(root, "Output");
  return (item) => {
    const over = item.state === "completed" || item.state === "error";
    given("", "", over && item.added !== null ? "" : argumentsText(item)); // a diff says all of it
    diff("", "", over && item.html ? "" : item.diff);
    output(item.html, item.tail, over ? item.detail || item.result : item.output);
    root.dataset.testid = "tool-body";
  };
}

/** @param {HTMLElement} root @param {string} title @returns {ReturnType<typeof growingHTML>} */
function part(root, title) {
  const body = h("div", { class: "part", tabindex: "0", role: "group", "aria-label": title });
  const show = growingHTML(body);
  const node = h("section", { hidden: true }, h("h3", {}, title), body);
  root.append(node);
  return (html, tail, text) => {
    node.hidden = !html && !tail && !text;
    if (!node.hidden) show(html, tail, text);
  };
}

/** One text as it is, else a name in each line. @param {ToolItem} item */
function argumentsText(item) {
  const values = Object.entries(argumentsOf(item));
  return values.map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    return `${name}: ${text.includes("\n") ? `\n${text}` : text}`;
  }).join("\n");
}
