// The field for a directory: completes paths, and shows the git branch.

import { h, debounce, setText } from "../dom.js";
import { icon } from "./icons.js";
import { createChoices } from "./choices.js";

const PAUSE = 80; // ms after a key before asking the portal

/** @typedef {{path: string, name: string}} Entry */

/** @param {{rpc: import("../rpc.js").Connection}} options */
export function directoryField({ rpc }) {
  const input = h("input", {
    id: "directory", "data-testid": "directory", type: "text", spellcheck: "false", autocomplete: "off", autocapitalize: "off",
    role: "combobox", "aria-expanded": "false", "aria-controls": "directories", "aria-autocomplete": "list", placeholder: "~/project",
  });
  const shown = h("ul", { id: "directories", class: "choices", role: "listbox", "aria-label": "Directories", hidden: true });
  const about = h("p", { class: "about muted", role: "status" });
  const node = h("div", { class: "field" }, h("label", { for: "directory" }, "Directory"), h("div", { class: "combo" }, input, shown), about);

  const draw = () => {
    const { list, at } = choices;
    shown.replaceChildren(...list.map(({ path, name }, i) => h("li", {
      id: `directory-${i}`, role: "option", title: path, "aria-selected": String(i === at),
      mousedown: (/** @type {Event} */ event) => {
        event.preventDefault(); // the field keeps the focus
        accept(i);
      },
    }, name)));
    shown.hidden = list.length === 0;
    input.setAttribute("aria-expanded", String(list.length > 0));
    if (at < 0) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", `directory-${at}`);
    shown.children[at].scrollIntoView({ block: "nearest" });
  };
  /** @type {ReturnType<typeof createChoices<Entry>>} */
  const choices = createChoices({ key: ({ path }) => path, first: -1, draw });
  /** @param {number} i */
  const accept = (i) => {
    input.value = `${choices.list[i].path}/`;
    complete(0);
    describeSoon();
  };
  /** @param {number} pause */
  const complete = (pause) => choices.ask(() => rpc.call("portal.directory.complete", { path: input.value }).then(({ entries }) => entries), pause);
  const describe = async () => {
    const path = input.value.trim();
    if (!path) return setText(about, "");
    const result = await rpc.call("portal.directory.describe", { path }).catch((error) => error);
    if (path !== input.value.trim()) return;
    node.classList.toggle("wrong", result.exists === false);
    if (result.exists === undefined) setText(about, result.code === "gone" ? "" : result.message);
    else if (!result.exists) setText(about, "Directory not found.");
    else if (!result.git) setText(about, "Not a git repository.");
    else about.replaceChildren(icon("branch"), result.git.branch, h("span", {}, changes(result.git.changed)));
  };
  const describeSoon = debounce(150, describe);

  input.addEventListener("input", () => {
    complete(PAUSE);
    describeSoon();
  });
  input.addEventListener("focus", () => complete(PAUSE));
  input.addEventListener("blur", () => choices.offer([]));
  input.addEventListener("keydown", (event) => {
    const { list, at } = choices;
    if (event.key === "ArrowDown" && list.length > 0) choices.move(1);
    else if (event.key === "ArrowUp" && list.length > 0) choices.move(-1);
    else if ((event.key === "Enter" || (event.key === "Tab" && !event.shiftKey)) && at >= 0) accept(at);
    else if (event.key === "Escape" && list.length > 0) choices.offer([]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return {
    node,
    get value() {
      return input.value.trim().replace(/(.)[\\/]+$/, "$1");
    },
    set value(path) {
      input.value = path;
      describeSoon();
    },
    focus: () => input.focus(),
  };
}

/** @param {number | undefined} changed */
function changes(changed) {
  if (changed === undefined) return "";
  if (changed === 0) return "no changes";
  return changed === 1 ? "1 file changed" : `${changed >= 1000 ? "1000+" : changed} files changed`;
}

const STORAGE_KEY = "portal.directory";
const MAX_SUGGESTIONS = 5; // directories to look at

/** Remembers the last directory. @param {string} path */
export const saveDirectory = (path) => localStorage.setItem(STORAGE_KEY, path);

/**
 * Fills an empty field with the directory to suggest.
 * @param {{value: string}} field @param {import("../rpc.js").Connection} rpc @param {import("../list.js").List} list
 */
export async function fillDirectory(field, rpc, list) {
  if (field.value) return;
  const found = await suggestDirectory(rpc, list);
  if (!field.value) field.value = found; // it may have been typed meanwhile
}

/**
 * Returns the directory to suggest: the last one, else that of the newest session, else the portal's own. Directories that no
 * longer exist are skipped. Returns "" if the connection is lost.
 * @param {import("../rpc.js").Connection} rpc @param {import("../list.js").List} list
 */
async function suggestDirectory(rpc, list) {
  const newest = [...list.sessions.values()].sort((a, b) => (b.updated_at ?? "").localeCompare(a.updated_at ?? ""));
  const used = new Set([localStorage.getItem(STORAGE_KEY), ...newest.map(({ directory }) => directory)]);
  const exists = (/** @type {string} */ path) => rpc.call("portal.directory.describe", { path }).then((found) => found.exists, () => false);
  for (const path of [...used].slice(0, MAX_SUGGESTIONS)) if (path && await exists(path)) return path;
  return rpc.call("portal.status").then((status) => status.configuration.directory, () => "");
}
