// A list over the composer to choose from: files of the session's directory behind `@`, commands behind `/`.

import { h } from "../dom.js";

const PAUSE = 80; // ms after a key before the portal is asked

/**
 * What can be chosen, for a text and where the caret is in it; null if the source has nothing to do with it.
 * @typedef {{name: string, hint: string, take: () => void}} Option
 * @typedef {{label: string, look: (text: string, caret: number) => {now: Option[]} | {later: () => Promise<Option[]>} | null}} Source
 */

/** @param {HTMLTextAreaElement} field @param {Source[]} sources the first that has something to do with the text is asked */
export function createCompletion(field, sources) {
  const node = h("ul", { class: "completion", id: `choices-${Math.random().toString(36).slice(2)}`, role: "listbox", hidden: true, "data-testid": "completion" });
  /** @type {Option[]} */
  let found = [];
  let at = 0;
  let asked = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  field.setAttribute("aria-controls", node.id);
  field.setAttribute("aria-autocomplete", "list");

  const close = () => {
    clearTimeout(timer);
    asked++;
    show([]);
  };
  /** @param {number} i */
  const take = (i) => {
    const option = found[i];
    close();
    option.take();
  };
  /** @param {Option[]} options */
  const show = (options) => {
    found = options;
    at = 0;
    draw();
  };
  const draw = () => {
    node.replaceChildren(...found.map(({ name, hint }, i) => h("li", {
      role: "option", id: `${node.id}-${i}`, "aria-selected": String(i === at),
      mousedown: (/** @type {Event} */ event) => {
        event.preventDefault(); // the field keeps the focus
        take(i);
      },
    }, h("span", {}, name), h("span", { class: "muted" }, hint))));
    node.hidden = found.length === 0;
    if (found.length === 0) return field.removeAttribute("aria-activedescendant");
    field.setAttribute("aria-activedescendant", `${node.id}-${at}`);
    node.children[at].scrollIntoView({ block: "nearest" });
  };
  /** @param {() => Promise<Option[]>} find */
  const ask = async (find) => {
    const mine = ++asked;
    const options = await find().catch(() => []);
    if (mine === asked) show(options);
  };
  const look = () => {
    for (const { label, look } of field.selectionStart === field.selectionEnd ? sources : []) {
      const answer = look(field.value, field.selectionStart);
      if (!answer) continue;
      clearTimeout(timer);
      node.setAttribute("aria-label", label);
      if ("later" in answer) {
        timer = setTimeout(() => void ask(answer.later), PAUSE);
        return;
      }
      asked++;
      return show(answer.now);
    }
    close();
  };
  field.addEventListener("input", look);
  field.addEventListener("blur", close);

  return {
    node,
    close,
    /** Whether a key was meant for the list. @param {KeyboardEvent} event */
    key(event) {
      if (found.length === 0 || event.isComposing) return false;
      if (event.key === "ArrowDown") at = (at + 1) % found.length;
      else if (event.key === "ArrowUp") at = (at - 1 + found.length) % found.length;
      else if ((event.key === "Enter" && !event.shiftKey) || event.key === "Tab") {
        take(at);
        return true;
      } else if (event.key === "Escape") {
        close();
        return true;
      } else return false;
      draw();
      return true;
    },
  };
}
