// The command palette (Ctrl+K) and the keyboard help (?).

import { age, baseName, h } from "../dom.js";
import { sessionAddress } from "../route.js";
import { filterSessions, NO_FILTER } from "../list.js";
import { isComposing } from "./keys.js";

/** @typedef {{label: string, hint?: string, run: () => void}} Command */

/** @type {[string, string][]} */
const KEYS = [
  ["Ctrl+K", "Search commands and sessions"], ["Alt+N", "New session"], ["↑ ↓", "Move through the session list"], ["Enter", "Send; on a question, allow or answer"],
  ["Ctrl+Enter", "Send into the current run"], ["1–9", "Choose an answer of a question"], ["Shift+Enter", "New line"],
  ["Esc", "Stop the run; on a question, deny"], ["↑", "Previous prompt, when the prompt is empty"], ["/", "Commands, at the start of the prompt"], ["F2", "Rename session"],
  ["j k", "Move between changed files and hunks"], ["g", "Go to a line, in a file"], ["Ctrl+F6", "Leave the terminal"], ["Ctrl+,", "Settings"], ["?", "Keyboard shortcuts"],
];

const MAX_SESSIONS = 50;

/** @param {{list: () => import("../list.js").List, commands: () => Command[], navigate: (address: string) => void}} options */
export function createPalette({ list, commands, navigate }) {
  const input = h("input", { type: "text", placeholder: "Search commands and sessions", "aria-label": "Commands and sessions", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", autocomplete: "off", spellcheck: "false" });
  const options = h("ul", { id: "palette-list", role: "listbox", "aria-label": "Commands and sessions" });
  const dialog = h("dialog", { class: "palette", "aria-label": "Commands and sessions", "data-testid": "palette" }, input, options);
  const keys = h("dialog", { class: "dialog", "aria-label": "Keyboard shortcuts", "data-testid": "help" },
    h("form", { method: "dialog" }, h("h2", {}, "Keyboard shortcuts"), h("dl", { class: "facts keys-list" }, ...KEYS.flatMap(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])),
      h("div", { class: "dialog-actions" }, h("button", { class: "primary" }, "Close"))));
  document.body.append(dialog, keys);
  /** @type {Command[]} */
  let found = [];
  let at = 0;

  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (/** @type {string} */ text) => words.every((word) => text.toLowerCase().includes(word));
    const sessions = filterSessions(list(), { ...NO_FILTER, search: input.value }).slice(0, MAX_SESSIONS);
    found = [
      ...[...commands(), { label: "Keyboard shortcuts", hint: "?", run: help }].filter(({ label }) => matches(label)),
      ...sessions.map((s) => ({
        label: s.title || s.last_user_message || "Untitled",
        hint: `${baseName(s.directory ?? "")}, ${age(Date.now() - Date.parse(s.updated_at ?? ""))}`,
        run: () => navigate(sessionAddress(s.session_id)),
      })),
    ];
    options.replaceChildren(...found.map(({ label, hint = "" }, i) => h("li", { id: `palette-${i}`, role: "option", click: () => run(i) }, h("span", { class: "palette-label" }, label), h("span", { class: "muted" }, hint))));
    if (found.length === 0) options.replaceChildren(h("li", { class: "muted", role: "option", "aria-disabled": "true" }, "No results."));
    select(0);
  };
  /** @param {number} to */
  const select = (to) => {
    if (found.length === 0) return input.removeAttribute("aria-activedescendant");
    at = (to + found.length) % found.length;
    [...options.children].forEach((child, i) => child.setAttribute("aria-selected", String(i === at)));
    options.children[at].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", `palette-${at}`);
  };
  /** @param {number} i */
  const run = (i) => {
    dialog.close();
    found[i]?.run();
  };
  const help = () => {
    if (!keys.open) keys.showModal();
  };

  input.addEventListener("input", search);
  dialog.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (isComposing(event)) return;
    if (event.key === "ArrowDown") select(at + 1);
    else if (event.key === "ArrowUp") select(at - 1);
    else if (event.key === "Enter") run(at);
    else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") dialog.close();
    else return;
    event.preventDefault();
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close()); // on the backdrop

  return {
    /** Opens or closes it. */
    toggle() {
      if (dialog.open) return dialog.close();
      input.value = "";
      search();
      dialog.showModal();
    },
    help,
  };
}
