// The completion list above the composer: files after `@`, commands after `/`.

import { h } from "../dom.js";
import { createChoices } from "./choices.js";
import { isComposing } from "./keys.js";

const PAUSE = 80; // ms after a key before asking the portal

/**
 * A source of options. `match` returns the options for a text and caret position, or null.
 * @typedef {{name: string, hint: string, accept: () => void}} Option
 * @typedef {{label: string, match: (text: string, caret: number) => {now: Option[]} | {later: () => Promise<Option[]>} | null}} Source
 */

/** @param {HTMLTextAreaElement} field @param {Source[]} sources the first that matches is used */
export function createCompletion(field, sources) {
  const node = h("ul", { class: "completion", id: `choices-${Math.random().toString(36).slice(2)}`, role: "listbox", hidden: true, "data-testid": "completion" });
  field.setAttribute("aria-controls", node.id);
  field.setAttribute("aria-autocomplete", "list");

  const close = () => choices.offer([]);
  /** @param {number} i */
  const accept = (i) => {
    const option = choices.list[i];
    close();
    option.accept();
  };
  const draw = () => {
    const { list, at } = choices;
    node.replaceChildren(...list.map(({ name, hint }, i) => h("li", {
      role: "option", id: `${node.id}-${i}`, "aria-selected": String(i === at),
      mousedown: (/** @type {Event} */ event) => {
        event.preventDefault(); // the field keeps the focus
        accept(i);
      },
    }, h("span", {}, name), h("span", { class: "muted" }, hint))));
    node.hidden = list.length === 0;
    if (list.length === 0) return field.removeAttribute("aria-activedescendant");
    field.setAttribute("aria-activedescendant", `${node.id}-${at}`);
    node.children[at].scrollIntoView({ block: "nearest" });
  };
  /** @type {ReturnType<typeof createChoices<Option>>} */
  const choices = createChoices({ key: ({ name, hint }) => `${hint}\n${name}`, first: 0, draw });
  let caret = 0; // at the last change
  const update = () => {
    caret = field.selectionStart;
    for (const { label, match } of field.selectionStart === field.selectionEnd ? sources : []) {
      const answer = match(field.value, field.selectionStart);
      if (!answer) continue;
      node.setAttribute("aria-label", label);
      return "later" in answer ? choices.ask(answer.later, PAUSE) : choices.offer(answer.now);
    }
    close();
  };
  field.addEventListener("input", update);
  field.addEventListener("blur", close);
  for (const type of ["keyup", "click"]) field.addEventListener(type, () => field.selectionStart !== caret && close()); // the options are for another place

  return {
    node,
    close,
    /** Handles a key. Returns false if it is not for the list. @param {KeyboardEvent} event */
    key(event) {
      if (choices.list.length === 0 || isComposing(event)) return false;
      if (event.key === "ArrowDown") choices.move(1);
      else if (event.key === "ArrowUp") choices.move(-1);
      else if ((event.key === "Enter" && !event.shiftKey) || event.key === "Tab") accept(choices.at);
      else if (event.key === "Escape") close();
      else return false;
      return true;
    },
  };
}
