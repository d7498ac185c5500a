// A prompt, with a link to its run.

import { h, setText } from "../dom.js";
import { isCapable } from "../store.js";
import { addActions, copyText } from "./actions.js";
import { attachmentList } from "./attachment.js";
import { editPrompt } from "./prompt-edit.js";
import { icon } from "../views/icons.js";

const MAX_LENGTH = 1200; // characters; longer prompts are folded
const MAX_LINES = 14;

/** @param {import("../store.js").PromptItem} item @param {import("./block.js").BlockContext} context @returns {import("./block.js").Block} */
export function promptBlock(item, context) {
  const text = h("div", { class: "prompt-text" });
  const node = h("article", { class: "prompt", "aria-label": context.readOnly ? "Prompt" : item.steers ? "You added" : "Your prompt", "data-testid": "prompt-block" }, text);
  if (item.steers) node.classList.add("steers");
  if (item.attachments.length > 0) node.append(attachmentList(item.attachments));
  if (item.run) node.append(h("a", { class: "anchor", href: context.href(item.run), "aria-label": "Link to this run", title: "Link to this run" }, icon("link")));
  addActions(node, "Prompt actions", () => promptActions(item, node, text, context));
  return {
    node,
    /** @param {import("../store.js").PromptItem} item */
    update(item) {
      setText(text, item.text);
      if (isLong(item.text)) fold(node, text);
    },
  };
}

/**
 * @param {import("../store.js").PromptItem} item @param {HTMLElement} node @param {HTMLElement} text @param {import("./block.js").BlockContext} context
 * @returns {import("./actions.js").Action[]}
 */
function promptActions({ run, text: prompt, steers }, node, text, context) {
  const copy = { name: "copy", label: "Copy prompt", icon: /** @type {const} */ ("copy"), act: (/** @type {HTMLElement} */ button) => void copyText(prompt, button) };
  if (!run || steers || context.readOnly) return [copy];
  const link = { name: "link", label: "Link to this run", act: () => (location.hash = context.href(run)) };
  if (!isCapable(context.session, "forking")) return [copy, link]; // an edited prompt is sent in a fork
  return [copy, {
    name: "edit", label: "Edit and send again", icon: "edit", act: () => editPrompt(node, text, {
      draft: context.edits.get(run) ?? prompt,
      keep: (draft) => context.edits.set(run, draft),
      send: async (text) => {
        await context.resend(run, { text });
        context.edits.delete(run);
      },
    }),
  }, { name: "fork", label: "Fork from here", icon: "branch", act: () => context.fork(run) }, link];
}

/** @param {string} text */
const isLong = (text) => text.length > MAX_LENGTH || text.split("\n", MAX_LINES + 1).length > MAX_LINES;

/** @param {HTMLElement} node @param {HTMLElement} text */
function fold(node, text) {
  if (node.querySelector(".unfold")) return;
  text.classList.add("folded");
  const button = h("button", { type: "button", class: "quiet small unfold", "aria-expanded": "false" }, "Show more");
  button.addEventListener("click", () => {
    const folded = text.classList.toggle("folded");
    button.setAttribute("aria-expanded", String(!folded));
    button.textContent = folded ? "Show more" : "Show less";
  });
  text.after(button);
}
