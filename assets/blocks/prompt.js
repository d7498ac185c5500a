// A prompt, with a link to its run.

import { h, setText } from "../dom.js";
import { icon } from "../views/icons.js";

const MAX_LENGTH = 1200; // characters; longer prompts are folded
const MAX_LINES = 14;

/** @param {import("../store.js").PromptItem} item @param {import("./block.js").BlockContext} context @returns {import("./block.js").Block} */
export function promptBlock(item, context) {
  const text = h("div", { class: "prompt-text" });
  const node = h("article", { class: "prompt", "aria-label": item.steers ? "You added" : "Your prompt", "data-testid": "prompt-block" }, text);
  if (item.steers) node.classList.add("steers");
  if (item.attachments.length > 0) node.append(h("ul", { class: "chips", "aria-label": "Attachments", "data-testid": "attached" }, ...item.attachments.map(attachment)));
  if (item.run) node.append(h("a", { class: "anchor", href: context.href(item.run), "aria-label": "Link to this run", title: "Link to this run" }, icon("link")));
  return {
    node,
    /** @param {import("../store.js").PromptItem} item */
    update(item) {
      setText(text, item.text);
      if (isLong(item.text)) fold(node, text);
    },
  };
}

/** Shows an image, or the name and lines of a file. @param {import("../store.js").Attachment} attached */
function attachment({ name, path, first, last, media_type: type, data }) {
  if (type && data) return h("li", {}, h("img", { class: "attached-image", src: `data:${type};base64,${data}`, alt: name }));
  const lines = first ? `:${first}${last && last !== first ? `–${last}` : ""}` : "";
  return h("li", { class: "chip", title: path ?? false }, icon("file"), `${name}${lines}`);
}

/** @param {string} text */
const isLong = (text) => text.length > MAX_LENGTH || text.split("\n", MAX_LINES + 1).length > MAX_LINES;

/** @param {HTMLElement} node @param {HTMLElement} text */
function fold(node, text) {
  if (node.querySelector("button")) return;
  text.classList.add("folded");
  const button = h("button", { type: "button", class: "quiet small", "aria-expanded": "false" }, "Show more");
  button.addEventListener("click", () => {
    const folded = text.classList.toggle("folded");
    button.setAttribute("aria-expanded", String(!folded));
    button.textContent = folded ? "Show more" : "Show less";
  });
  node.append(button);
}
