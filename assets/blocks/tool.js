// A tool call: one line with a verb and an object that unfolds to its arguments and output.

import { copyButton, escapeBidi, h, setText } from "../dom.js";
import { icon } from "../views/icons.js";
import { createHTMLView } from "./html.js";
import { isOutside } from "../paths.js";
import { argumentsOf, diffCounts, describeTool, lastLines, toolOutcome } from "./labels.js";

/** @typedef {import("../store.js").ToolItem} ToolItem @typedef {import("./block.js").BlockContext} BlockContext */

const TAIL_LINES = 8; // of output under a running tool

/** @param {ToolItem} item @param {BlockContext} context @returns {import("./block.js").Block} */
export function toolBlock(item, context) {
  let shown = item;
  const line = toolLine(context);
  const details = h("details", {}, line.node);
  const node = h("div", { class: "tool", "data-testid": "tool" }, details);
  const tail = createTail(node);
  const openFile = fileLink(node, context);
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
      openFile(item);
      if (details.open) draw();
    },
  };
}

/** Adds a link to the file that a tool read or wrote, beside the line: nothing in a line that unfolds can be a control. @param {HTMLElement} node @param {BlockContext} context @returns {(item: ToolItem) => void} */
function fileLink(node, { session, files, readOnly = false }) {
  /** @type {HTMLAnchorElement | undefined} */
  let link;
  return (item) => {
    const { object, isFile, line } = describeTool(item, session.directory);
    if (readOnly || !isFile || item.state !== "completed" || item.error || item.denied || isOutside(object)) return;
    if (!link) {
      link = h("a", { class: "tool-open", title: "Open file", "data-testid": "tool-path" }, icon("file"));
      node.append(link);
    }
    link.href = files.href(object, line);
    link.setAttribute("aria-label", `Open ${escapeBidi(object)}`);
  };
}

/** @param {BlockContext} context */
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
      const label = describeTool(item, session.directory);
      setText(verb, label.verb);
      setText(object, label.object.split("\n", 1)[0]);
      object.classList.toggle("literal", label.literal);
      object.title = label.object.length > 40 ? label.object.slice(0, 1000) : "";
      showChanges(lines, item);
      setText(end, [subagentProgress(item, session), toolOutcome(item)].filter(Boolean).join(", "));
    },
  };
}

/** Shows "+12 −3" in diff colours. @param {HTMLElement} node @param {ToolItem} item */
function showChanges(node, item) {
  const text = diffCounts(item);
  if (node.textContent === text) return;
  node.replaceChildren(...text.split(" ").flatMap((part, i) => [i ? " " : "", h("span", { class: part.startsWith("+") ? "added" : "removed" }, part)]));
}

/** Returns the progress of the sub-agent that a call started. @param {ToolItem} item @param {import("../store.js").Session} session */
function subagentProgress(item, session) {
  const agent = item.tool === "task" && Object.values(session.agents).find(({ call }) => call === item.id);
  return agent && agent.calls > 0 ? `${agent.calls} calls` : "";
}

/**
 * Shows the last lines of the output while a tool runs, or of its error.
 * @param {HTMLElement} node @returns {(item: ToolItem) => void}
 */
function createTail(node) {
  /** @type {HTMLElement | undefined} */
  let box;
  /** @type {ReturnType<typeof createHTMLView> | undefined} */
  let show;
  return (item) => {
    const isShown = item.state === "running" ? Boolean(item.output) : item.state === "error" && Boolean(item.result);
    if (!isShown) {
      box?.remove();
      box = undefined;
      return;
    }
    if (!box) {
      box = h("div", { class: "tail", "aria-hidden": "true" });
      show = createHTMLView(box);
      node.append(box);
    }
    const running = item.state === "running";
    show?.("", running ? item.tail : "", lastLines(running ? item.output : item.result, running ? TAIL_LINES : 3));
  };
}

/** Creates the arguments, diff and output when the block is opened. @param {HTMLElement} details @returns {(item: ToolItem) => void} */
function toolBody(details) {
  const root = h("div", { class: "tool-body" });
  details.append(root);
  const args = part(root, "Arguments");
  const diff = part(root, "Change");
  const output = part(root, "Output");
  return (item) => {
    const isDone = item.state === "completed" || item.state === "error";
    args("", "", isDone && item.added !== null ? "" : argumentsText(item)); // the diff shows them
    diff("", "", isDone && item.html ? "" : item.diff);
    output(item.html, item.tail, isDone ? item.detail || item.result : item.output);
    root.dataset.testid = "tool-body";
  };
}

/** @param {HTMLElement} root @param {string} title @returns {ReturnType<typeof createHTMLView>} */
function part(root, title) {
  const body = h("div", { class: "part", tabindex: "0", role: "group", "aria-label": title });
  const show = createHTMLView(body);
  const node = h("section", { hidden: true }, h("div", { class: "part-head" }, h("h3", {}, title), copyButton(() => shownIn(body), body, `Copy ${title.toLowerCase()}`)), body);
  root.append(node);
  return (html, tail, text) => {
    node.hidden = !html && !tail && !text;
    if (!node.hidden) show(html, tail, text);
  };
}

/** Returns the text that a part shows, without the tools of code blocks. @param {HTMLElement} body */
function shownIn(body) {
  const copy = /** @type {HTMLElement} */ (body.cloneNode(true));
  for (const tools of copy.querySelectorAll(".code-tools")) tools.remove();
  return copy.textContent ?? "";
}

/** Lists the arguments, one per line. @param {ToolItem} item */
function argumentsText(item) {
  const values = Object.entries(argumentsOf(item));
  return values.map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    return `${name}: ${text.includes("\n") ? `\n${text}` : text}`;
  }).join("\n");
}
