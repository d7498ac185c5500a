// The dialog for a text or a confirmation.

import { h, messageOf } from "../dom.js";
import { isComposing } from "./keys.js";

/**
 * Opens a dialog that performs an action, on Ctrl+Enter in a field of several lines, too, and stays open if that fails.
 * @param {string} title @param {Node[]} content @param {string} label of the button; "" for none @param {() => Promise<unknown>} act @param {string} [kind] of the button
 * @param {string} [failed] why the action has failed before
 */
export function dialog(title, content, label, act, kind = "", failed = "") {
  const problem = h("p", { class: "error-text", role: "alert" }, failed);
  const node = h("dialog", { class: "dialog", "aria-label": title });
  const close = () => node.close();
  const cancel = h("button", { type: "button", click: close }, label ? "Cancel" : "Close");
  const go = h("button", { type: "submit", class: `primary ${kind}` }, label);
  const form = h("form", { method: "dialog" }, h("h2", {}, title), ...content, problem, h("div", { class: "dialog-actions" }, cancel, ...(label ? [go] : [])));
  let isBusy = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isBusy) return;
    isBusy = go.disabled = true;
    try {
      await act();
      close();
    } catch (error) {
      problem.textContent = messageOf(error);
      if (!node.isConnected) show(); // it was closed meanwhile
    }
    isBusy = go.disabled = false;
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || isComposing(event) || event.repeat || !label) return;
    event.preventDefault();
    form.requestSubmit(go);
  });
  node.append(form);
  node.addEventListener("close", () => node.remove());
  const show = () => {
    document.body.append(node);
    node.showModal();
  };
  show();
  return node;
}

/** Opens a dialog that can only be closed. @param {string} title @param {Node[]} content */
export const notice = (title, ...content) => dialog(title, content, "", async () => {});
