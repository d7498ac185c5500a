// The sidebar: all sessions by project, a search, a filter, and a menu for each session. On phones it is a drawer.

import { debounce, h, messageOf, setChildren, setText } from "../dom.js";
import { icon } from "./icons.js";
import { groupByProject, newList } from "../list.js";
import { isComposing } from "./keys.js";
import { createFilter } from "./rail-filter.js";
import { createRow, detailOf } from "./rail-row.js";
import { totalHeight, visibleRange } from "./visible-rows.js";
import { showSessionMenu } from "./session-menu.js";
import { shareSession } from "./share.js";

/** @typedef {import("../list.js").List} List @typedef {import("./rail-row.js").Found} Found @typedef {import("./rail-row.js").Row} Row */

// Heights in px, as in styles/rail.css: of a row with one line and with two, for a mouse, for fingers, and with compact density.
const HEIGHTS = { mouse: [34, 50], touch: [44, 56], compact: [28, 42] };
const LABELS = { mouse: 30, touch: 44, compact: 30 }; // heights of headings
const MAX_ROWS = 200; // in the page; of longer lists only the visible rows are
const OVERSCAN = 400; // px above and below the visible part
const LEAST_QUERY = 2; // characters to search for in messages
const AIMING = 1000; // ms after a move of the pointer over the rows, in which they stay where they are

/**
 * @param {{root: HTMLElement, toggle: HTMLElement, veil: HTMLElement, notice: HTMLElement, rpc: import("../rpc.js").Connection, navigate: (address: string) => void}} options
 *   notice: shown above the foot
 */
export function createRail({ root, toggle, veil, notice, rpc, navigate }) {
  let list = newList();
  /** @type {Found[]} */
  let found = [];
  let searchState = ""; // why there are no results of the search in messages yet
  /** @type {Row[]} */
  let rows = [];
  /** @type {Map<string, {node: HTMLElement, update: (row: Row, current: string) => void}>} */
  const shown = new Map();

  const search = h("input", { type: "search", placeholder: "Search", "aria-label": "Search sessions", "data-testid": "search", autocomplete: "off", spellcheck: "false" });
  const above = h("div", {});
  const below = h("div", {});
  const empty = h("p", { class: "muted rail-empty" });
  const filter = createFilter({ onChange: () => build(), list: () => list });
  const nav = h("nav", { class: "rail-list", "data-testid": "sessions", "aria-label": "Sessions" });
  /** What follows sessions, such as an open dialog. @type {Set<() => void>} */
  const followers = new Set();
  /** @type {import("./session-menu.js").Follow} */
  const follow = (id, show) => {
    const follower = () => {
      const session = list.sessions.get(id);
      if (session) show(session);
    };
    followers.add(follower);
    return () => void followers.delete(follower);
  };
  /** @param {string} id @returns {import("../store.js").Info} */
  const infoOf = (id) => list.sessions.get(id) ?? { session_id: id };
  const actions = { rpc, navigate, isCurrent: (/** @type {string} */ id) => rail.current === id, follow };
  root.append(
    h("div", { class: "rail-head" },
      h("a", { class: "brand", href: "#/" }, h("img", { src: "favicon.svg", alt: "", width: 20, height: 20 }), "Portal"),
      h("a", { class: "button new", "data-testid": "new-session", href: "#/", title: "Alt+N" }, icon("new"), "New"),
    ),
    h("div", { class: "rail-search" }, icon("search"), search, filter.button),
    filter.chips,
    nav, notice,
    h("div", { class: "rail-foot" },
      h("a", { class: "quiet-link", href: "#/jobs", "data-testid": "jobs-link" }, icon("job"), "Jobs"),
      h("a", { class: "quiet-link", href: "#/interfaces", "data-testid": "interfaces-link" }, icon("frame"), "Interfaces"),
      h("a", { class: "quiet-link", href: "#/operations", "data-testid": "operations-link" }, icon("list"), "Operations"),
      h("a", { class: "quiet-link", href: "#/settings", "data-testid": "settings-link", title: "Ctrl+," }, icon("settings"), "Settings")),
  );

  const touch = matchMedia("(pointer: coarse)");
  const size = () => (touch.matches ? "touch" : document.documentElement.dataset.density === "compact" ? "compact" : "mouse");
  /** @param {Omit<Row, "height">} row @returns {Row} */
  const rowOf = (row) => ({ ...row, height: HEIGHTS[size()][detailOf(/** @type {Row} */ (row)) ? 1 : 0] });
  touch.addEventListener("change", () => build());
  for (const type of ["appearance", "storage"]) addEventListener(type, () => build()); // after theme.js

  /** Builds and shows the rows. */
  const build = () => {
    const groups = groupByProject(list, filter.with(search.value));
    rows = groups.flatMap(({ key, label, title, sessions }) => [
      { key: `label ${key}`, height: LABELS[size()], label, title },
      ...sessions.map((session) => rowOf({ key: session.session_id, session, inGroup: key !== "pinned" })),
    ]);
    const known = new Set(rows.map(({ key }) => key));
    const more = found.filter(({ session_id: id }) => !known.has(id));
    const words = search.value.trim();
    if (more.length > 0 || searchState) rows.push({ key: "label found", height: LABELS[size()], label: searchState || "Found in messages" }, ...more.map((one) => rowOf({ key: one.session_id, found: one, words })));
    setText(empty, filter.emptyText(list, search.value));
    draw();
  };

  /** Shows the visible rows, or all of a short list. */
  const draw = () => {
    const [from, to] = rows.length <= MAX_ROWS ? [0, rows.length] : visibleRange(rows, nav.scrollTop - OVERSCAN, nav.scrollTop + nav.clientHeight + OVERSCAN);
    const visible = rows.slice(from, to);
    const keys = new Set(visible.map(({ key }) => key));
    for (const [key, { node }] of shown) {
      if (keys.has(key)) continue;
      node.remove();
      shown.delete(key);
    }
    const nodes = visible.map((row) => {
      const old = shown.get(row.key);
      const one = old ?? createRow(row, (session, button) => showSessionMenu(actions, session, button));
      shown.set(row.key, one);
      one.update(row, rail.current);
      return one.node;
    });
    setChildren(nav, rows.length > 0 ? [above, ...nodes, below] : [empty]);
    above.style.height = `${totalHeight(rows.slice(0, from))}px`;
    below.style.height = `${totalHeight(rows.slice(to))}px`;
  };

  let isAiming = false;
  const releaseLater = debounce(AIMING, () => {
    isAiming = false;
    build();
  });
  for (const type of ["pointermove", "pointerdown"]) {
    nav.addEventListener(type, () => {
      isAiming = true;
      releaseLater();
    });
  }

  let lastSearch = 0;
  /** @param {Found[]} results @param {string} [state] */
  const showFound = (results, state = "") => {
    found = results;
    searchState = state;
    build();
  };
  const searchSoon = debounce(180, async () => {
    const query = search.value.trim();
    if (query.length < LEAST_QUERY) return;
    const request = lastSearch;
    try {
      const { results } = await rpc.call("portal.sessions.search", { query, limit: 50 });
      if (request === lastSearch) showFound(onePerSession(results));
    } catch (error) {
      if (request === lastSearch) showFound([], `Can't search messages: ${messageOf(error)}`);
    }
  });
  /** Searches for what is written. Earlier results stay until the new ones arrive. */
  const find = () => {
    lastSearch++;
    if (search.value.trim().length < LEAST_QUERY) return showFound([]);
    showFound(found, "Searching messages…");
    searchSoon();
  };
  search.addEventListener("input", find);
  nav.addEventListener("scroll", () => rows.length > MAX_ROWS && draw());

  /** Moves the focus to another session. @param {number} by */
  const move = (by) => {
    const focused = document.activeElement?.closest(".row");
    let at = rows.findIndex(({ key }) => shown.get(key)?.node === focused);
    do at += by;
    while (rows[at]?.label !== undefined);
    if (at < 0) return search.focus();
    if (!rows[at]) return;
    const top = totalHeight(rows.slice(0, at));
    if (rows.length > MAX_ROWS && (top < nav.scrollTop || top + rows[at].height > nav.scrollTop + nav.clientHeight)) {
      nav.scrollTop = top - nav.clientHeight / 2;
      draw();
    }
    shown.get(rows[at].key)?.node.querySelector("a")?.focus();
  };
  /** Opens the first session, but not a result of an earlier search. */
  const openFirst = () => {
    const first = rows.find(({ label }) => label === undefined);
    if (first?.session || !searchState) root.querySelector(/** @type {"a"} */ (".row a"))?.click();
  };
  root.addEventListener("keydown", (event) => {
    if (isComposing(event)) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
    else if (event.key === "Enter" && event.target === search) openFirst();
    else if (event.key === "Escape" && search.value) {
      search.value = "";
      find();
    } else if (event.key === "Escape" && root.hasAttribute("data-open")) {
      rail.close();
      toggle.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });

  const narrow = matchMedia("(max-width: 760px)"); // a drawer, as in styles/rail.css
  const stage = document.querySelector(/** @type {"div"} */ (".stage"));
  narrow.addEventListener("change", () => setDrawer(false));
  /** @param {boolean} open */
  const setDrawer = (open) => {
    toggle.setAttribute("aria-expanded", String(open));
    root.toggleAttribute("data-open", open);
    veil.toggleAttribute("data-open", open);
    if (stage) stage.inert = open && narrow.matches; // nothing below the drawer can get the focus
    if (open) search.focus({ preventScroll: true });
  };
  toggle.addEventListener("click", () => setDrawer(!root.hasAttribute("data-open")));
  veil.addEventListener("click", () => setDrawer(false));
  root.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("a")) setDrawer(false);
  });

  const rail = {
    /** The id of the shown session, or "". */
    current: "",
    /** Shows changes, but not while the user aims at a row, which would move away, unless one is gone. @param {List} updated */
    update(updated) {
      list = updated;
      const isGone = rows.some(({ session }) => session && !list.sessions.has(session.session_id));
      if (isAiming && rows.length > 0 && !isGone) draw();
      else build();
      for (const follower of followers) follower();
    },
    /** Opens the menu of a session at a button. @param {string} id @param {HTMLElement} button */
    menu: (id, button) => showSessionMenu(actions, infoOf(id), button),
    /** Opens the dialog that shares a session. @param {string} id */
    share: (id) => shareSession(rpc, infoOf(id), follow),
    /** Focuses the search. */
    search() {
      setDrawer(true);
      search.focus();
      search.select();
    },
    /** Closes the drawer. */
    close() {
      if (root.hasAttribute("data-open")) setDrawer(false);
    },
  };
  return rail;
}

/** Keeps the best result of each session. @param {Found[]} results */
function onePerSession(results) {
  /** @type {Map<string, Found>} */
  const best = new Map();
  for (const one of results) if (!best.has(one.session_id)) best.set(one.session_id, one);
  return [...best.values()];
}
