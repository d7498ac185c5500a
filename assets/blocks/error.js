// An error, with buttons for its remedies.

import { h, setText, whileBusy, withCode } from "../dom.js";
import { remedies } from "./labels.js";

/** @typedef {import("../store.js").ErrorItem} ErrorItem @typedef {import("./block.js").BlockContext} BlockContext */

/** @param {ErrorItem} item @param {BlockContext} context @returns {import("./block.js").Block} */
export function errorBlock(item, context) {
  const message = h("p");
  const hint = h("p", { class: "muted" });
  const node = h("div", { class: "error", role: "group", "aria-label": "Error", "data-testid": "error" }, message, hint, remedyButtons(item, context));
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

/** @param {{run: string, cause?: string, message: string, hint?: string}} item @param {BlockContext} context */
export function remedyButtons(item, context) {
  /** @type {Record<import("./labels.js").Remedy, [string, () => void | Promise<void>]>} */
  const buttons = {
    retry: ["Try again", () => context.retry(item.run)],
    "sign-in": ["How to sign in", context.signIn],
    model: ["Switch model", context.chooseModel],
  };
  if (context.readOnly) return h("div", { class: "answers", hidden: true });
  return h("div", { class: "answers" }, ...remedies(item).filter((name) => name !== "retry" || item.run).map((name) => {
    const [label, act] = buttons[name];
    const button = h("button", { type: "button", class: "small", "data-testid": name, click: () => void whileBusy(button, act, () => {}) }, label); // what fails is shown at the prompt
    return button;
  }));
}
