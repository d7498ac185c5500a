// The side panel of a session, with tabs: its changes, a file, a terminal, and its details (plan, changed files, remembered permissions, usage, MCP servers and
// skills).

import { h, setHTML, setText } from "../dom.js";
import { tokens, relativePath } from "../blocks/labels.js";
import { workOf } from "../store.js";
import { extensionsSection } from "./extensions.js";
import { icon } from "./icons.js";
import { rememberedSection } from "./remembered.js";

/** @typedef {import("../store.js").Session} Session @typedef {import("../store.js").Part} Part */

const STORAGE_KEY = "side"; // whether it is open
const TAB_KEY = "side.tab"; // the tab that the button opens
const WIDTH_KEY = "side.width"; // px of the changes
const NARROW = "(max-width: 1100px)"; // where it covers the conversation
const LEAST_WIDTH = 340; // px
const LEFT_WIDTH = 380; // px that the conversation keeps
const WIDTH_STEP = 40; // px
const BORDER = 1; // px

/** @typedef {"changes" | "file" | "terminal" | "details"} Tab @typedef {Exclude<Tab, "details">} WideTab */

/** @type {Record<Tab, string>} */
const NAMES = { changes: "Changes", file: "File", terminal: "Terminal", details: "Details" };
const TABS = /** @type {Tab[]} */ (Object.keys(NAMES));

/**
 * @param {object} options
 * @param {Session} options.session
 * @param {import("./conversation.js").Rpc} options.rpc
 * @param {{changes: {node: HTMLElement, button: HTMLElement, focus: () => void}} & Record<WideTab, {node: HTMLElement, focus: () => void}>} options.panels the wide tabs, and the
 *   button that opens that of changes
 * @param {(path: string) => string} options.fileHref returns the address of a file
 * @param {() => void} options.onTab another tab is open, or none
 */
export function createSide({ session, rpc, panels, fileHref, onTab }) {
  const { changes } = panels;
  const narrow = matchMedia(NARROW);
  const plan = planSection(session);
  const files = filesSection(session, rpc, fileHref);
  const remembered = rememberedSection(session, rpc);
  const usage = usageSection(session);
  const extensions = extensionsSection(session, rpc);
  const id = `side-${session.id}`;
  const toggle = h("button", { type: "button", class: "quiet round side-toggle", "aria-controls": id, "data-testid": "side-toggle", click: () => (node.hidden ? open(lastTab()) : close(true)) }, icon("side"));
  const closeButton = h("button", { type: "button", class: "quiet round", "aria-label": "Close panel", "data-testid": "side-close", click: () => close(true) }, icon("close"));
  const tabButton = (/** @type {Tab} */ name) => h("button", { type: "button", role: "tab", id: `${id}-${name}-tab`, class: "quiet small side-tab", "aria-controls": `${id}-${name}`, "data-testid": `tab-${name}`, click: () => open(name) }, NAMES[name]);
  const tabs = { changes: tabButton("changes"), file: tabButton("file"), terminal: tabButton("terminal"), details: tabButton("details") };
  tabs.file.hidden = tabs.terminal.hidden = true; // until there is one
  const tabPanel = (/** @type {Tab} */ name, /** @type {HTMLElement[]} */ ...nodes) => h("div", { class: `side-body side-${name}`, role: "tabpanel", id: `${id}-${name}`, "aria-labelledby": `${id}-${name}-tab` }, ...nodes);
  const bodies = {
    changes: tabPanel("changes", h("h2", { class: "hidden-text" }, "Changes"), changes.node),
    file: tabPanel("file", h("h2", { class: "hidden-text" }, "File"), panels.file.node),
    terminal: tabPanel("terminal", h("h2", { class: "hidden-text" }, "Terminal"), panels.terminal.node),
    details: tabPanel("details", h("h2", { class: "hidden-text" }, "Details"), plan.node, files.node, remembered.node, usage.node, extensions.node),
  };
  const edge = widthHandle();
  const node = h("aside", { class: "side", id, "aria-label": "Session details", "data-testid": "side" }, edge.node,
    h("div", { class: "side-head" }, h("div", { class: "side-tabs", role: "tablist", "aria-label": "Panel" }, ...TABS.map((name) => tabs[name])), closeButton),
    ...TABS.map((name) => bodies[name]));
  edge.attach(node);
  node.addEventListener("click", (event) => event.target === node && isBeside(event) && close(true));

  /** @type {Tab} */
  let tab = "details";
  let returnTo = /** @type {Element | null} */ (null); // the focus before it opened
  let wasOpen = false; // the details were, before a wide tab took their place
  const isWide = () => tab !== "details";

  /** @param {boolean} isOpen @param {Tab} [next] */
  const show = (isOpen, next = tab) => {
    tab = next;
    node.hidden = !isOpen;
    node.dataset.tab = tab;
    node.classList.toggle("wide", isWide());
    if (isOpen) tabs[tab].hidden = false;
    for (const name of TABS) {
      tabs[name].setAttribute("aria-selected", String(name === tab));
      bodies[name].hidden = name !== tab;
    }
    edge.update();
    const label = isOpen ? "Hide panel" : "Show panel";
    toggle.setAttribute("aria-expanded", String(isOpen));
    toggle.setAttribute("aria-label", label);
    toggle.title = label;
    changes.button.setAttribute("aria-expanded", String(isOpen && tab === "changes"));
  };
  const lastTab = () => (localStorage.getItem(TAB_KEY) === "changes" && !changes.button.hidden ? "changes" : "details");
  const remember = () => {
    if (!narrow.matches) localStorage.setItem(STORAGE_KEY, node.hidden ? "closed" : "open");
  };
  /** Opens a tab, for the user. @param {Tab} next */
  const open = (next) => {
    if (node.hidden || !node.contains(document.activeElement)) returnTo = document.activeElement;
    if (!isWide() || node.hidden) wasOpen = !node.hidden && !narrow.matches;
    if (next === "changes" || next === "details") localStorage.setItem(TAB_KEY, next);
    show(true, next);
    remember();
    if (next !== "details") panels[next].focus();
    else if (narrow.matches) closeButton.focus();
    onTab();
  };
  /** Closes it, for the user. Without `all`, the details that a wide tab replaced come back. @param {boolean} all */
  const close = (all) => {
    const back = isWide() && wasOpen && !all;
    const hadFocus = node.contains(document.activeElement);
    show(back, "details");
    if (!back) remember();
    const to = returnTo instanceof HTMLElement && returnTo.isConnected && returnTo !== document.body ? returnTo : changes.button.hidden ? toggle : changes.button;
    if (hadFocus || all) to.focus();
    returnTo = null;
    onTab();
  };
  const updateByWidth = () => {
    if (!isWide() || node.hidden) show(!narrow.matches && localStorage.getItem(STORAGE_KEY) !== "closed", "details");
    else show(true);
  };
  changes.button.setAttribute("aria-controls", id);
  changes.button.addEventListener("click", () => (!node.hidden && tab === "changes" ? close(false) : open("changes")));
  tabs.changes.parentElement?.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const shown = TABS.map((name) => tabs[name]).filter(({ hidden }) => !hidden);
    const at = shown.findIndex((other) => other === document.activeElement) + (event.key === "ArrowRight" ? 1 : -1);
    shown[(at + shown.length) % shown.length].focus();
    event.preventDefault();
  });
  narrow.addEventListener("change", updateByWidth);
  updateByWidth();

  return {
    node,
    toggle,
    /** Returns the tab that is open; "" if it is closed. */
    tab: () => (node.hidden ? "" : tab),
    open,
    /** Whether there is room for changes of this width, in px. @param {number} width */
    fits: (width) => !narrow.matches && edge.most() >= width,
    /** Makes the changes at least so wide, in px. @param {number} width */
    widen: (width) => edge.widen(width),
    /** Shows a wide tab without moving the focus, as after a reload. @param {WideTab} next */
    showQuietly(next) {
      wasOpen = !node.hidden && !isWide() && !narrow.matches;
      show(true, next);
    },
    /** Moves the focus to the open tab's name. */
    focusTab: () => tabs[tab].focus(),
    /** Offers a tab that is hidden. @param {Tab} name */
    offer: (name) => void (tabs[name].hidden = false),
    /** Leaves a wide tab, if one is open. */
    leave() {
      if (!node.hidden && isWide()) close(false);
    },
    /** @param {Set<Part>} parts */
    update(parts) {
      if (parts.has("plan")) plan.update();
      if (parts.has("files")) files.update();
      if (parts.has("files") || parts.has("head") || parts.has("changes")) void files.check(parts.has("changes"));
      if (parts.has("permissions")) remembered.update();
      if (parts.has("usage") || parts.has("head")) usage.update();
      if (parts.has("servers")) extensions.update();
    },
    /** Closes the panel on Escape, if it covers the conversation or the focus is in a wide tab; returns false otherwise. */
    escape() {
      if (node.hidden || !(narrow.matches || (isWide() && node.contains(document.activeElement)))) return false;
      close(false);
      return true;
    },
    dispose: () => narrow.removeEventListener("change", updateByWidth),
  };
}

/** Reports whether a click on the panel is on the dimmed area, which belongs to it. @param {MouseEvent} event */
function isBeside({ currentTarget, clientX, clientY }) {
  const { left, right, top, bottom } = /** @type {HTMLElement} */ (currentTarget).getBoundingClientRect();
  return clientX < left || clientX > right || clientY < top || clientY > bottom;
}

/** The edge of the panel, which changes the width of the changes by mouse or arrow keys. */
function widthHandle() {
  const node = h("div", { class: "side-edge", role: "separator", tabindex: "0", "aria-orientation": "vertical", "aria-label": "Width of the panel", "data-testid": "side-edge" });
  /** @type {HTMLElement | undefined} */
  let panel;
  const most = () => Math.max(LEAST_WIDTH, (panel?.parentElement?.clientWidth ?? 0) - LEFT_WIDTH);
  const wanted = () => Number(localStorage.getItem(WIDTH_KEY)) || (panel?.parentElement?.clientWidth ?? 0) / 2;
  const update = () => {
    if (!panel) return;
    const width = Math.round(Math.min(Math.max(wanted(), LEAST_WIDTH), most()));
    panel.style.setProperty("--changes-width", `${width}px`);
    node.setAttribute("aria-valuemin", String(LEAST_WIDTH));
    node.setAttribute("aria-valuemax", String(most()));
    node.setAttribute("aria-valuenow", String(width));
  };
  /** @param {number} width */
  const resize = (width) => {
    localStorage.setItem(WIDTH_KEY, String(Math.round(Math.min(Math.max(width, LEAST_WIDTH), most()))));
    update();
  };
  node.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    resize(Number(node.getAttribute("aria-valuenow")) + (event.key === "ArrowLeft" ? WIDTH_STEP : -WIDTH_STEP));
    event.preventDefault();
  });
  node.addEventListener("pointerdown", (event) => {
    node.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  node.addEventListener("pointermove", (event) => {
    if (panel && node.hasPointerCapture(event.pointerId)) resize(panel.getBoundingClientRect().right - event.clientX);
  });
  return {
    node,
    update,
    most,
    /** @param {number} width */
    widen: (width) => resize(Math.max(width + BORDER, Number(node.getAttribute("aria-valuenow")))),
    /** @param {HTMLElement} to */
    attach(to) {
      panel = to;
    },
  };
}

/** @param {string} title @param {string} id @param {HTMLElement[]} nodes */
function section(title, id, ...nodes) {
  return h("section", { class: "side-part", "data-testid": id, "aria-label": title }, h("h3", {}, title), ...nodes);
}

/** @type {Record<string, [import("./icons.js").IconName, string]>} */
const STATES = { pending: ["ring", "to do"], running: ["half", "in progress"], completed: ["check", "done"] };

/** @param {Session} session */
function planSection(session) {
  const list = h("ul", { class: "todos" });
  const text = h("div", { class: "markdown plan-text" });
  const fold = h("details", { hidden: true }, h("summary", {}, "Full plan"), text);
  const node = section("Plan", "side-plan", list, fold);
  const update = () => {
    const { todos = [], html = "", text: source = "" } = session.plan ?? {};
    node.hidden = todos.length === 0 && !source;
    fold.hidden = !source;
    list.replaceChildren(...(todos ?? []).map(({ title, detail, state }) => {
      const [sign, name] = STATES[state] ?? STATES.pending;
      return h("li", { "data-state": state, title: detail }, icon(sign), h("span", { class: "hidden-text" }, `${name}: `), h("span", {}, title));
    }));
    if (html) setHTML(text, html);
    else setText(text, source);
  };
  update();
  return { node, update };
}

/** @param {Session} session @param {import("./conversation.js").Rpc} rpc @param {(path: string) => string} href */
export function filesSection(session, rpc, href) {
  const list = h("ul", { class: "files" });
  const node = section("Changed files", "side-files", list);
  /** Files that were removed again. @type {Set<string>} */
  let missing = new Set();
  let checked = "";
  const update = () => {
    const files = Object.entries(session.files).filter(([path]) => !missing.has(path));
    node.hidden = files.length === 0;
    list.replaceChildren(...files.map(([path, { added, removed }]) => h("li", { title: path },
      h("bdi", { class: "path" }, h("a", { class: "path-link", href: href(path) }, relativePath(path, session.directory))),
      h("span", { class: "added" }, added ? `+${added}` : ""), h("span", { class: "removed" }, removed ? `−${removed}` : ""))));
  };
  let checks = 0; // so far
  /** Checks which files still exist, after changes, after runs, and when files were restored. */
  const check = async (isRestored = false) => {
    const paths = Object.keys(session.files).slice(0, 1000);
    const state = `${workOf(session)} ${paths.length}`;
    if (paths.length === 0 || (state === checked && !isRestored)) return;
    checked = state;
    const mine = ++checks;
    const result = await rpc.call("portal.files.missing", { session_id: session.id, paths }).catch(() => undefined);
    if (mine !== checks) return; // a later call tells more
    if (!result) return void (checked = ""); // no connection: try again later
    missing = new Set(result.paths);
    update();
  };
  update();
  void check();
  return { node, update, check };
}

/** @param {Session} session */
function usageSection(session) {
  const bar = h("div", { class: "meter-bar" });
  const meter = h("div", { class: "meter", role: "meter", "aria-label": "Context window used", "aria-valuemin": 0, "aria-valuemax": 100 }, bar);
  const text = h("p", { class: "muted" });
  const runs = h("p", { class: "muted" });
  const watchers = h("p", { class: "muted", "data-testid": "watchers" });
  const node = section("Usage", "side-usage", meter, text, runs, watchers);
  const update = () => {
    const { usage } = session;
    const left = usage?.left;
    const percent = typeof left === "number" ? Math.round(100 - left) : 0;
    meter.hidden = typeof left !== "number";
    meter.setAttribute("aria-valuenow", String(percent));
    meter.dataset.level = percent > 85 ? "high" : "";
    bar.style.inlineSize = `${percent}%`;
    setText(text, usage?.limit ? `${tokens(usage.used)} of ${tokens(usage.limit)} context tokens` : meter.hidden ? "No usage yet" : `${percent}% of the context window`);
    setText(runs, tokenSummary(session));
    const others = session.watchers - 1;
    watchers.hidden = others < 1;
    setText(watchers, others === 1 ? "1 other window is watching" : `${others} other windows are watching`);
  };
  update();
  return { node, update };
}

/** Summarizes the tokens of all runs. @param {Session} session */
function tokenSummary({ runs }) {
  const all = Object.values(runs);
  const total = all.reduce((sum, { input, output }) => sum + input + output, 0);
  return total > 0 ? `${tokens(total)} tokens in ${all.length === 1 ? "1 run" : `${all.length} runs`}` : "";
}
