// `@` in the composer: files of the session's directory to choose from.

import { h } from "../dom.js";
import { mentionAt } from "./drafts.js";

const PAUSE = 80; // ms after a key before the portal is asked

/** @typedef {{path: string, name: string}} Found */

/**
 * @param {HTMLTextAreaElement} field
 * @param {(query: string) => Promise<Found[]>} ask
 * @param {(path: string, from: number, caret: number) => void} choose
 */
export function createCompletion(field, ask, choose) {
  const node = h("ul", { class: "completion", id: `files-${Math.random().toString(36).slice(2)}`, role: "listbox", "aria-label": "Files of the directory", hidden: true, "data-testid": "completion" });
  /** @type {Found[]} */
  let found = [];
  let at = 0;
  let from = -1;
  let asked = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  field.setAttribute("aria-controls", node.id);
  field.setAttribute("aria-autocomplete", "list");

  const close = () => {
    clearTimeout(timer);
    asked++;
    found = [];
    node.hidden = true;
    field.removeAttribute("aria-activedescendant");
  };
  /** @param {number} i */
  const take = (i) => {
    const { path } = found[i];
    const place = from;
    close();
    choose(path, place, field.selectionStart);
  };
  const draw = () => {
    node.replaceChildren(...found.map(({ path, name }, i) => h("li", {
      role: "option", id: `${node.id}-${i}`, "aria-selected": String(i === at),
      mousedown: (/** @type {Event} */ event) => {
        event.preventDefault(); // the field keeps the focus
        take(i);
      },
    }, h("span", {}, name), h("span", { class: "muted" }, path.slice(0, path.length - name.length)))));
    node.hidden = found.length === 0;
    if (found.length === 0) return field.removeAttribute("aria-activedescendant");
    field.setAttribute("aria-activedescendant", `${node.id}-${at}`);
    node.children[at].scrollIntoView({ block: "nearest" });
  };
  /** @param {string} query */
  const find = async (query) => {
    const mine = ++asked;
    const files = await ask(query).catch(() => []);
    if (mine !== asked) return;
    found = files;
    at = 0;
    draw();
  };
  const look = () => {
    const mention = field.selectionStart === field.selectionEnd ? mentionAt(field.value, field.selectionStart) : null;
    if (!mention) return close();
    from = mention.from;
    clearTimeout(timer);
    timer = setTimeout(() => void find(mention.query), PAUSE);
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
