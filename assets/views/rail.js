// The sidebar: all sessions by day, a search, and a menu for each session. On phones it is a drawer.

import { age, baseName, debounce, escapeBidi, h, setChildren, setText } from "../dom.js";
import { icon } from "./icons.js";
import { sessionAddress } from "../route.js";
import { groupByDay, newList } from "../store.js";
import { totalHeight, visibleRange } from "./visible-rows.js";
import { sessionMenu } from "./session-menu.js";

/**
 * @typedef {import("../store.js").Info} Info
 * @typedef {import("../list.js").List} List
 * @typedef {{session_id: string, title: string, directory: string, kind: string, snippet: string, hits: [number, number][]}} Found
 * @typedef {{key: string, height: number, label?: string, session?: Info, found?: Found}} Row
 */

const ROW = 52; // px, as in styles/rail.css
const LABEL = 30;
const MAX_ROWS = 200; // in the page; of longer lists only the visible rows are
const OVERSCAN = 400; // px above and below the visible part
const EMPTY = "No sessions yet. Sessions that you or other programs start appear here.";

/**
 * @param {{root: HTMLElement, toggle: HTMLElement, veil: HTMLElement, rpc: import("../rpc.js").Connection, navigate: (address: string) => void}} options
 */
export function createRail({ root, toggle, veil, rpc, navigate }) {
  let list = newList();
  /** @type {Found[]} */
  let found = [];
  /** @type {Row[]} */
  let rows = [];
  /** @type {Map<string, {node: HTMLElement, update: (row: Row, current: string) => void}>} */
  const shown = new Map();

  const search = h("input", { type: "search", placeholder: "Search", "aria-label": "Search sessions", "data-testid": "search", autocomplete: "off", spellcheck: "false" });
  const above = h("div", {});
  const below = h("div", {});
  const empty = h("p", { class: "muted rail-empty" });
  const nav = h("nav", { class: "rail-list", "data-testid": "sessions", "aria-label": "Sessions" });
  const menu = sessionMenu({ root, rpc, navigate, isCurrent: (id) => rail.current === id });
  root.append(
    h("div", { class: "rail-head" },
      h("a", { class: "brand", href: "#/" }, h("img", { src: "favicon.svg", alt: "", width: 20, height: 20 }), "Portal"),
      h("a", { class: "button new", "data-testid": "new-session", href: "#/", title: "Alt+N" }, icon("new"), "New"),
    ),
    h("div", { class: "rail-search" }, icon("search"), search),
    nav,
    h("div", { class: "rail-foot" },
      h("a", { class: "quiet-link", href: "#/jobs", "data-testid": "jobs-link" }, icon("job"), "Jobs"),
      h("a", { class: "quiet-link", href: "#/interfaces", "data-testid": "interfaces-link" }, icon("frame"), "Interfaces"),
      h("a", { class: "quiet-link", href: "#/operations", "data-testid": "operations-link" }, icon("list"), "Operations"),
      h("a", { class: "quiet-link", href: "#/status", "data-testid": "status-link" }, icon("status"), "Status"),
      h("span", { class: "muted" }, h("kbd", {}, "Ctrl"), " ", h("kbd", {}, "K"))),
  );

  /** Builds and shows the rows. */
  const build = () => {
    const groups = groupByDay(list, Date.now(), search.value);
    rows = groups.flatMap(({ label, sessions }) => [labelRow(label), ...sessions.map((session) => ({ key: session.session_id, height: ROW, session }))]);
    const known = new Set(rows.map(({ key }) => key));
    const more = found.filter(({ session_id: id }) => !known.has(id));
    if (more.length > 0) rows.push(labelRow("Found in messages"), ...more.map((one) => ({ key: one.session_id, height: ROW, found: one })));
    setText(empty, search.value.trim() ? "No results." : EMPTY);
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
      const one = old && !row.label ? old : createRow(row, menu.open);
      shown.set(row.key, one);
      if (old && one !== old) old.node.remove();
      one.update(row, rail.current);
      return one.node;
    });
    setChildren(nav, rows.length > 0 ? [above, ...nodes, below] : [empty]);
    above.style.height = `${totalHeight(rows.slice(0, from))}px`;
    below.style.height = `${totalHeight(rows.slice(to))}px`;
  };

  let lastSearch = 0;
  const searchSoon = debounce(180, async () => {
    const query = search.value.trim();
    const request = ++lastSearch;
    const results = query.length < 2 ? [] : await rpc.call("portal.sessions.search", { query, limit: 50 }).then((result) => result.results, () => []);
    if (request !== lastSearch) return;
    found = onePerSession(results);
    build();
  });
  search.addEventListener("input", () => {
    found = [];
    build();
    searchSoon();
  });
  nav.addEventListener("scroll", () => rows.length > MAX_ROWS && draw());

  /** Moves the focus to another session. @param {number} by */
  const move = (by) => {
    const focused = document.activeElement?.closest(".row");
    let at = rows.findIndex(({ key }) => shown.get(key)?.node === focused);
    do at += by;
    while (rows[at]?.label);
    if (at < 0) return search.focus();
    if (!rows[at]) return;
    const top = totalHeight(rows.slice(0, at));
    if (rows.length > MAX_ROWS && (top < nav.scrollTop || top + ROW > nav.scrollTop + nav.clientHeight)) {
      nav.scrollTop = top - nav.clientHeight / 2;
      draw();
    }
    shown.get(rows[at].key)?.node.querySelector("a")?.focus();
  };
  root.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
    else if (event.key === "Enter" && event.target === search) root.querySelector(/** @type {"a"} */ (".row a"))?.click();
    else if (event.key === "Escape" && search.value) {
      search.value = "";
      found = [];
      build();
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
    /** @param {List} updated */
    update(updated) {
      list = updated;
      build();
    },
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

/** @param {string} label @returns {Row} */
const labelRow = (label) => ({ key: `label ${label}`, height: LABEL, label });

/** Keeps the best result of each session. @param {Found[]} results */
function onePerSession(results) {
  /** @type {Map<string, Found>} */
  const best = new Map();
  for (const one of results) if (!best.has(one.session_id)) best.set(one.session_id, one);
  return [...best.values()];
}

/** @type {Record<string, string>} */
const STATES = { idle: "idle", queued: "queued", running: "running", waiting: "waiting for you", closed: "closed", elsewhere: "in use by another program" };

/** @param {Row} row @param {(session: Info, button: HTMLElement) => void} openMenu */
function createRow(row, openMenu) {
  if (row.label) return { node: h("h2", { class: "rail-label" }, row.label), update() {} };
  const id = row.key;
  const state = h("span", { class: "hidden-text" });
  const title = h("span", { class: "row-title" });
  const directory = h("span", { class: "row-directory" });
  const time = h("time", {});
  const link = h("a", { class: "row-link", href: sessionAddress(id) }, h("span", { class: "dot" }, state), title, directory, time);
  const more = h("button", { type: "button", class: "quiet row-more", "aria-haspopup": "menu" }, icon("more"));
  const node = h("div", { class: "row", "data-session": id }, link);
  /** @type {Info | undefined} */
  let session;
  more.addEventListener("click", () => session && openMenu(session, more));
  return {
    node,
    /** @param {Row} row @param {string} current */
    update(row, current) {
      session = row.session;
      node.dataset.state = session?.state ?? "";
      if (session && !more.isConnected) node.append(more);
      setText(state, session ? `${STATES[session.state ?? ""] ?? session.state}: ` : "");
      setText(title, session?.title || session?.last_user_message || row.found?.title || "Untitled");
      title.title = title.textContent ?? "";
      more.setAttribute("aria-label", `Actions for ${title.title}`);
      const path = session?.directory ?? row.found?.directory ?? "";
      directory.title = path;
      if (row.found) directory.replaceChildren(...markHits(row.found));
      else setText(directory, session?.state === "waiting" ? "Waiting for you" : baseName(path));
      showAge(time, session?.updated_at);
      link.toggleAttribute("aria-current", false);
      if (id === current) link.setAttribute("aria-current", "page");
    },
  };
}

/** @param {HTMLTimeElement} time @param {string} [at] */
function showAge(time, at) {
  time.hidden = !at;
  if (!at) return;
  time.dateTime = at;
  time.title = new Date(at).toLocaleString();
  setText(time, age(Date.now() - Date.parse(at)));
}

/** Renders a snippet with its hits marked. @param {Found} found */
function markHits({ snippet, hits }) {
  /** @type {(Node | string)[]} */
  const parts = [];
  let at = 0;
  for (const [from, to] of hits) {
    parts.push(escapeBidi(snippet.slice(at, from)), h("mark", {}, snippet.slice(from, to)));
    at = to;
  }
  return [...parts, escapeBidi(snippet.slice(at))];
}
