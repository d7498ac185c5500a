// What went wrong, and what can be done about it.

import { h, setText } from "../dom.js";
import { remedies } from "./words.js";

/** @typedef {import("../store.js").ErrorItem} ErrorItem @typedef {import("./block.js").Place} Place */

/** @param {ErrorItem} item @param {Place} place @returns {import("./block.js").Block} */
export function errorBlock(item, place) {
  const message = h("p");
  const hint = h("p", { class: "muted" });
  const node = h("div", { class: "error", role: "group", "aria-label": "Error", "data-testid": "error" }, message, hint, remedyButtons(item, place));
  return {
    node,
    /** @param {ErrorItem} item */
    update(item) {
      setText(message, item.message);
      hint.replaceChildren(...withCode(item.hint));
      hint.hidden = !item.hint;
    },
  };
}

/** A hint, in which commands and names stand in backticks. @param {string} text */
const withCode = (text) => text.split("`").map((part, i) => (i % 2 === 1 ? h("code", {}, part) : part));

/** @param {{run: string, cause?: string, message: string}} item @param {Place} place */
export function remedyButtons(item, place) {
  /** @type {Record<import("./words.js").Remedy, [string, () => void]>} */
  const buttons = {
    retry: ["Try again", () => place.retry(item.run)],
    "sign-in": ["How to sign in", place.signIn],
    model: ["Switch model", place.chooseModel],
  };
  return h("div", { class: "answers" }, ...remedies(item).filter((name) => name !== "retry" || item.run).map((name) => {
    const [label, act] = buttons[name];
    return h("button", { type: "button", class: "small", "data-testid": name, click: act }, label);
  }));
}
