// The field in which an earlier prompt is edited and sent again.

import { h, hasKeyboard, messageOf } from "../dom.js";
import { isComposing, isSubmit } from "../views/keys.js";

/**
 * Shows the field in place of a prompt's text. Escape and Cancel bring the text back, and keep what was typed for the next time.
 * @param {HTMLElement} node of the prompt @param {HTMLElement} text the part that the field replaces
 * @param {{draft: string, keep: (draft: string) => void, send: (text: string) => Promise<unknown>}} edit keep: stores what was typed
 */
export function editPrompt(node, text, { draft, keep, send }) {
  if (node.classList.contains("editing")) return;
  const field = h("textarea", { rows: 3, "aria-label": "Edit prompt", "data-testid": "edit-text" });
  const problem = h("p", { class: "error-text", role: "alert" });
  const submit = h("button", { type: "submit", class: "primary", "data-testid": "edit-send" }, "Send");
  const cancel = h("button", { type: "button", "data-testid": "edit-cancel", click: () => close() }, "Cancel");
  const form = h("form", { class: "prompt-edit", "aria-label": "Edit prompt" }, field,
    h("div", { class: "answers" }, submit, cancel, h("span", { class: "muted edit-note" }, "Continues in a new session. This one stays as it is.")), problem);
  const close = () => {
    form.remove();
    text.hidden = false;
    node.classList.remove("editing");
    /** @type {HTMLElement | null} */ (node.querySelector("[data-testid=more]"))?.focus({ preventScroll: true });
  };
  field.value = draft;
  field.addEventListener("input", () => keep(field.value));
  field.addEventListener("keydown", (event) => {
    if (isComposing(event)) return;
    if (event.key === "Escape") close();
    else if (!isSubmit(event, !hasKeyboard())) return;
    else if (!event.repeat) form.requestSubmit();
    event.preventDefault(); // Escape does not stop the run
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!field.value.trim() || submit.disabled) return;
    submit.disabled = true;
    problem.textContent = "";
    try {
      await send(field.value.trim());
      close();
    } catch (error) {
      problem.textContent = messageOf(error);
      submit.disabled = false;
    }
  });
  node.classList.add("editing");
  text.hidden = true;
  text.after(form);
  field.focus();
  field.setSelectionRange(field.value.length, field.value.length);
}
