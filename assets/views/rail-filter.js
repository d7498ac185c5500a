// The filter of the rail: by state and by what started a session.

import { h } from "../dom.js";
import { NO_FILTER, filterSessions, isInternal } from "../list.js";
import { icon } from "./icons.js";
import { openMenu } from "./menu.js";

/** @typedef {import("../list.js").Filter} Filter @typedef {import("../list.js").List} List */

/** @type {[Filter["state"], string][]} */
const STATES = [["", "Any state"], ["waiting", "Waiting for you"], ["working", "Working"], ["failed", "Failed"], ["archived", "Archived"]];

/** @type {[string, string][]} */
const ORIGINS = [
  ["", "Started by you"], ["all", "Started by anything"], ["ui", "Page and terminals"], ["rest", "Scripts"], ["rpc", "IDE plugins"], ["acp", "Editors"], ["cli", "Desktop apps"],
  ["mcp", "Other agents"], ["ask", "Command line"],
  ["job", "Jobs"], ["operation", "Operations"], ["studio", "Interfaces"],
];

/** @param {{onChange: () => void, list: () => List}} options */
export function createFilter({ onChange, list }) {
  /** @type {Filter} */
  let filter = { ...NO_FILTER };
  const button = h("button", { type: "button", class: "quiet rail-filter", "aria-label": "Filter sessions", "aria-haspopup": "menu", title: "Filter sessions", "data-testid": "filter" }, icon("filter"));
  const chips = h("div", { class: "rail-chips", hidden: true });

  /** @param {Partial<Filter>} change */
  const set = (change) => {
    filter = { ...filter, ...change };
    const active = [["state", STATES, filter.state], ["origin", ORIGINS, filter.origin]].filter(([, , value]) => value !== "");
    chips.hidden = active.length === 0;
    chips.replaceChildren(...active.map(([key, names, value]) => chip(nameOf(/** @type {[string, string][]} */ (names), String(value)), () => {
      set({ [String(key)]: "" });
      button.focus();
    })));
    button.classList.toggle("active", active.length > 0);
    onChange();
  };

  /** @param {"state" | "origin"} key @param {[string, string][]} choices @param {() => void} close */
  const group = (key, choices, close) => h("div", { role: "group", "aria-label": key === "state" ? "State" : "Started by" }, ...choices.map(([value, label]) => {
    const count = filterSessions(list(), { ...filter, search: "", [key]: value }).length;
    return h("button", { type: "button", role: "menuitemradio", "aria-checked": String(filter[key] === value), click: () => {
      close();
      set({ [key]: value });
    } }, h("span", {}, label), h("span", { class: "muted" }, value ? String(count) : ""));
  }));

  button.addEventListener("click", () => {
    const started = new Set([...list().sessions.values()].map(({ origin }) => origin));
    const origins = ORIGINS.filter(([origin]) => origin === "" || origin === "all" || started.has(origin));
    openMenu(button, "Filter sessions", (close) => [group("state", STATES, close), group("origin", origins, close)], "filter-menu");
  });

  return {
    button, chips,
    /** Returns the filter, with the words of the search. @param {string} search @returns {Filter} */
    with: (search) => ({ ...filter, search }),
    /** Says why nothing is shown. @param {List} list @param {string} search */
    emptyText(list, search) {
      if (search.trim()) return "No results.";
      if (filter.state !== "" || filter.origin !== "") return "No sessions like this.";
      const hidden = [...list.sessions.values()];
      if (hidden.some(isInternal)) return "You have not started a session yet. Jobs and operations have some: open the filter to see them.";
      return hidden.length > 0 ? "Your sessions are in the archive. Open the filter to see them." : "Your sessions appear here, including ones started by scripts.";
    },
  };
}

/** @param {[string, string][]} names @param {string} value */
const nameOf = (names, value) => names.find(([key]) => key === value)?.[1] ?? value;

/** @param {string} label @param {() => void} clear */
function chip(label, clear) {
  return h("button", { type: "button", class: "chip", "aria-label": `Remove filter: ${label}`, click: clear }, label, icon("close"));
}
