// The field for a directory: offers those that the user knows, browses, completes paths and bare words, and shows the git branch.

import { h, debounce, setText } from "../dom.js";
import { icon } from "./icons.js";
import { createChoices } from "./choices.js";
import { isRoot, isWord, parentOf, pathsToComplete } from "./directories.js";
import { isComposing } from "./keys.js";
import { isGone } from "../rpc.js";

const PAUSE = 80; // ms after a key before asking the portal

/**
 * @typedef {{path: string, name: string, group?: string, isKnown?: boolean}} Entry group is the heading above it, "" for none; a known one
 *   is chosen, others are browsed
 * @typedef {{path: string, exists?: boolean, git?: {branch: string, changed?: number}}} Described
 *
 * @typedef {object} Options
 * @property {import("../rpc.js").Connection} rpc
 * @property {() => Entry[]} [known] directories to offer before the user types
 * @property {(described: Described) => void} [onDescribe]
 * @property {() => void} [onPick] the user chose a known directory
 */

/** @param {Options} options */
export function directoryField({ rpc, known = () => [], onDescribe = () => {}, onPick = () => {} }) {
  const input = h("input", {
    id: "directory", "data-testid": "directory", type: "text", spellcheck: "false", autocomplete: "off", autocapitalize: "off",
    role: "combobox", "aria-expanded": "false", "aria-controls": "directories", "aria-autocomplete": "list", placeholder: "Path or name",
  });
  const shown = h("div", { id: "directories", class: "choices", role: "listbox", "aria-label": "Directories", hidden: true });
  const about = h("p", { class: "about muted", role: "status" });
  const node = h("div", { class: "field" }, h("label", { for: "directory" }, "Directory"), h("div", { class: "combo" }, input, shown), about);
  let isTyped = false; // since the field got the focus
  let current = ""; // the directory before the user typed

  /** @param {Entry} entry @param {number} i */
  const option = ({ path, name, isKnown }, i) => h("div", {
    id: `directory-${i}`, role: "option", title: path, "aria-selected": String(i === choices.at),
    mousedown: (/** @type {Event} */ event) => {
      event.preventDefault(); // the field keeps the focus
      accept(i);
    },
  }, name, ...(isKnown ? [h("span", { class: "choice-path" }, path)] : []));
  const draw = () => {
    const { list, at } = choices;
    const options = list.map(option);
    const groups = [...new Set(list.map(({ group = "" }) => group))];
    shown.replaceChildren(...groups.flatMap((group) => {
      const some = options.filter((_, i) => (list[i].group ?? "") === group);
      return group ? [h("div", { role: "group", "aria-label": group }, h("span", { class: "choices-head", "aria-hidden": "true" }, group), ...some)] : some;
    }));
    shown.hidden = list.length === 0;
    input.setAttribute("aria-expanded", String(list.length > 0));
    if (at < 0) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", `directory-${at}`);
    options[at].scrollIntoView({ block: "nearest" });
  };
  /** @type {ReturnType<typeof createChoices<Entry>>} */
  const choices = createChoices({ key: ({ path, group = "" }) => `${group}\n${path}`, first: -1, draw });
  /** @param {number} i */
  const accept = (i) => {
    const { path, isKnown } = choices.list[i];
    isTyped = true;
    if (isKnown) {
      input.value = path;
      choices.offer([]);
      onPick();
    } else {
      input.value = `${path.replace(/[\\/]$/, "")}/`;
      complete(0);
    }
    describeSoon();
  };
  /** @param {string} path @returns {Promise<Entry[]>} */
  const below = (path) => rpc.call("portal.directory.complete", { path }).then(({ entries }) => entries, () => []);
  /** Lists the subdirectories of a directory, after the way up. @param {string} path with a slash at its end */
  const browse = async (path) => [...(isRoot(path) ? [] : [{ path: parentOf(path), name: ".." }]), ...(await below(path))];
  const find = async () => {
    const typed = input.value;
    if (!isTyped) {
      const some = known();
      const group = some.length > 0 ? "Browse" : "";
      return [...some, ...(await browse(`${typed.replace(/[\\/]$/, "")}/`)).map((entry) => ({ ...entry, group }))];
    }
    if (/[\\/]$/.test(typed) && !isWord(typed)) return browse(typed);
    const word = typed.trim().toLowerCase();
    const same = isWord(typed) ? known().filter(({ path }) => path.toLowerCase().includes(word)) : [];
    const found = (await Promise.all(pathsToComplete(typed, current).map(below))).flat();
    const seen = new Set(same.map(({ path }) => path));
    return [...same, ...found.filter(({ path }) => !seen.has(path) && seen.add(path))];
  };
  /** @param {number} pause */
  const complete = (pause) => choices.ask(find, pause);
  const describe = async () => {
    const path = input.value.trim();
    node.classList.remove("wrong");
    if (!path) return setText(about, "");
    if (isWord(path)) return setText(about, "Choose a directory from the list.");
    const result = await rpc.call("portal.directory.describe", { path }).catch((error) => error);
    if (path !== input.value.trim()) return;
    node.classList.toggle("wrong", result.exists === false);
    if (result.exists === undefined) setText(about, isGone(result) ? "" : result.message);
    else if (!result.exists) setText(about, "Directory not found.");
    else if (!result.git) setText(about, "Not a git repository.");
    else about.replaceChildren(icon("branch"), result.git.branch, h("span", {}, changes(result.git.changed)));
    if (result.exists !== undefined) onDescribe(result);
  };
  const describeSoon = debounce(150, describe);

  input.addEventListener("input", () => {
    isTyped = true;
    complete(PAUSE);
    describeSoon();
  });
  input.addEventListener("focus", () => {
    isTyped = false;
    if (!isWord(input.value)) current = input.value;
    complete(PAUSE);
  });
  input.addEventListener("blur", () => choices.offer([]));
  input.addEventListener("keydown", (event) => {
    if (isComposing(event)) return;
    const { list, at } = choices;
    if (event.key === "ArrowDown" && list.length > 0) choices.move(1);
    else if (event.key === "ArrowUp" && list.length > 0) choices.move(-1);
    else if ((event.key === "Enter" || (event.key === "Tab" && !event.shiftKey)) && at >= 0) accept(at);
    else if (event.key === "Enter" && isWord(input.value) && list.length > 0) accept(0);
    else if (event.key === "Escape" && list.length > 0) choices.offer([]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return {
    node,
    input,
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
