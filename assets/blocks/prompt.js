// What the user asked for: a quiet tinted block, with the address of its run.

import { h, setText } from "../dom.js";
import { icon } from "../views/icons.js";

const LONG = 1200; // characters from which on a prompt is folded
const LINES = 14;

/** @param {import("../store.js").PromptItem} item @param {import("./block.js").Place} place @returns {import("./block.js").Block} */
export function promptBlock(item, place) {
  const text = h("div", { class: "prompt-text" });
  const node = h("article", { class: "prompt", "aria-label": item.steers ? "You added" : "Your prompt", "data-testid": "prompt-block" }, text);
  if (item.steers) node.classList.add("steers");
  if (item.attachments.length > 0) node.append(h("ul", { class: "chips", "aria-label": "Attachments", "data-testid": "attached" }, ...item.attachments.map(attachment)));
  if (item.run) node.append(h("a", { class: "anchor", href: place.href(item.run), "aria-label": "Link to this run", title: "Link to this run" }, icon("link")));
  return {
    node,
    /** @param {import("../store.js").PromptItem} item */
    update(item) {
      setText(text, item.text);
      if (isLong(item.text)) fold(node, text);
    },
  };
}

/** What went with it: an image is shown, of a file its name and lines. @param {import("../store.js").Attachment} attached */
function attachment({ name, path, first, last, media_type: type, data }) {
  if (type && data) return h("li", {}, h("img", { class: "attached-image", src: `data:${type};base64,${data}`, alt: name }));
  const lines = first ? `:${first}${last && last !== first ? `–${last}` : ""}` : "";
  return h("li", { class: "chip", title: path ?? false }, icon("file"), `${name}${lines}`);
}

/** @param {string} text */
const isLong = (text) => text.length > LONG || text.split("\n", LINES + 1).length > LINES;

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
