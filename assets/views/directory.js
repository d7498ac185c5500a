// The field for a directory: completes what is typed, and says what lies there.

import { h, icon, later, setText } from "../dom.js";

/** @typedef {{path: string, name: string}} Entry */

/** @param {{rpc: import("../rpc.js").Connection}} options */
export function directoryField({ rpc }) {
  const input = h("input", {
    id: "directory", "data-testid": "directory", type: "text", spellcheck: "false", autocomplete: "off", autocapitalize: "off",
    role: "combobox", "aria-expanded": "false", "aria-controls": "directories", "aria-autocomplete": "list", placeholder: "~/project",
  });
  const choices = h("ul", { id: "directories", class: "choices", role: "listbox", "aria-label": "Directories", hidden: true });
  const about = h("p", { class: "about muted", role: "status" });
  const node = h("div", { class: "field" }, h("label", { for: "directory" }, "Directory"), h("div", { class: "combo" }, input, choices), about);
  /** @type {Entry[]} */
  let entries = [];
  let chosen = -1;
  let asked = 0;

  /** @param {Entry[]} list */
  const offer = (list) => {
    const before = entries[chosen]?.path;
    entries = list;
    chosen = -1;
    choices.replaceChildren(...list.map(({ path, name }, i) => h("li", { id: `directory-${i}`, role: "option", title: path, mousedown: (/** @type {Event} */ event) => {
      event.preventDefault(); // the field keeps the focus
      take(i);
    } }, name)));
    choices.hidden = list.length === 0;
    input.setAttribute("aria-expanded", String(list.length > 0));
    input.removeAttribute("aria-activedescendant");
    const again = list.findIndex(({ path }) => path === before); // an answer can come after the choice
    if (again >= 0) point(again);
  };
  /** @param {number} at */
  const point = (at) => {
    chosen = (at + entries.length) % entries.length;
    [...choices.children].forEach((child, i) => child.setAttribute("aria-selected", String(i === chosen)));
    choices.children[chosen].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", `directory-${chosen}`);
  };
  /** @param {number} i */
  const take = (i) => {
    input.value = `${entries[i].path}/`;
    void complete();
    tell();
  };
  const complete = async () => {
    const mine = ++asked;
    const list = await rpc.call("portal.directory.complete", { path: input.value }).then((result) => result.entries, () => []);
    if (mine === asked && document.activeElement === input) offer(list);
  };
  const describe = async () => {
    const path = input.value.trim();
    if (!path) return setText(about, "");
    const result = await rpc.call("portal.directory.describe", { path }).catch((error) => error);
    if (path !== input.value.trim()) return;
    node.classList.toggle("wrong", result.exists === false);
    if (result.exists === undefined) setText(about, result.code === "gone" ? "" : result.message);
    else if (!result.exists) setText(about, "There is no such directory.");
    else if (!result.git) setText(about, "Not in a git repository.");
    else about.replaceChildren(icon("branch"), result.git.branch, h("span", {}, changes(result.git.changed)));
  };
  const completeSoon = later(80, complete);
  const tell = later(150, describe);

  input.addEventListener("input", () => {
    completeSoon();
    tell();
  });
  input.addEventListener("focus", completeSoon);
  input.addEventListener("blur", () => {
    asked++;
    offer([]);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && entries.length > 0) point(chosen + 1);
    else if (event.key === "ArrowUp" && entries.length > 0) point(chosen < 0 ? -1 : chosen - 1);
    else if ((event.key === "Enter" || (event.key === "Tab" && !event.shiftKey)) && chosen >= 0) take(chosen);
    else if (event.key === "Escape" && entries.length > 0) offer([]);
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
      tell();
    },
    focus: () => input.focus(),
  };
}

/** @param {number | undefined} changed */
function changes(changed) {
  if (changed === undefined) return "";
  if (changed === 0) return "nothing changed";
  return changed === 1 ? "1 file changed" : `${changed >= 1000 ? "1000 and more" : changed} files changed`;
}

const LAST = "portal.directory"; // in the browser's storage

/** Remembers where something was begun. @param {string} path */
export const keepDirectory = (path) => localStorage.setItem(LAST, path);

/**
 * Where somebody wants to begin: where they did last, else where the newest session works, else where the portal was started;
 * "" if the connection broke: it has to be asked for again.
 * @param {import("../rpc.js").Connection} rpc @param {import("../list.js").List} list
 */
export async function likelyDirectory(rpc, list) {
  const newest = [...list.sessions.values()].sort((a, b) => (b.updated_at ?? "").localeCompare(a.updated_at ?? ""))[0];
  const own = async () => (await rpc.call("portal.status")).configuration.directory;
  return localStorage.getItem(LAST) || newest?.directory || (await own().catch(() => ""));
}
