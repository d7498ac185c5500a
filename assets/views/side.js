// The side panel of a session: plan, changed files, remembered permissions, usage, MCP servers and skills.

import { h, setHTML, setText } from "../dom.js";
import { tokens, relativePath } from "../blocks/labels.js";
import { extensionsSection } from "./extensions.js";
import { icon } from "./icons.js";
import { rememberedSection } from "./remembered.js";

/** @typedef {import("../store.js").Session} Session @typedef {import("../store.js").Part} Part */

const STORAGE_KEY = "side"; // whether it is open
const NARROW = "(max-width: 1100px)"; // where it covers the conversation

/** @param {{session: Session, rpc: import("./conversation.js").Rpc}} options */
export function createSide({ session, rpc }) {
  const narrow = matchMedia(NARROW);
  const plan = planSection(session);
  const files = filesSection(session, rpc);
  const remembered = rememberedSection(session, rpc);
  const usage = usageSection(session);
  const extensions = extensionsSection(session, rpc);
  const id = `side-${session.id}`;
  const toggle = h("button", { type: "button", class: "quiet round side-toggle", "aria-controls": id, "data-testid": "side-toggle", click: () => set(node.hidden, true) }, icon("side"));
  const closeButton = h("button", { type: "button", class: "quiet round", "aria-label": "Close details", click: () => set(false, true) }, icon("close"));
  const node = h("aside", { class: "side", id, "aria-label": "Session details", "data-testid": "side" },
    h("div", { class: "side-head" }, h("h2", {}, "Details"), closeButton),
    plan.node, files.node, remembered.node, usage.node, extensions.node);

  /** @param {boolean} open @param {boolean} [byUser] */
  const set = (open, byUser = false) => {
    node.hidden = !open;
    toggle.setAttribute("aria-expanded", String(open));
    toggle.setAttribute("aria-label", open ? "Hide details" : "Show details");
    toggle.title = open ? "Hide details" : "Show details";
    if (!byUser) return;
    if (!narrow.matches) localStorage.setItem(STORAGE_KEY, open ? "open" : "closed");
    if (open && narrow.matches) closeButton.focus();
    else if (!open) toggle.focus();
  };
  const updateByWidth = () => set(!narrow.matches && localStorage.getItem(STORAGE_KEY) !== "closed");
  narrow.addEventListener("change", updateByWidth);
  updateByWidth();

  return {
    node,
    toggle,
    /** @param {Set<Part>} parts */
    update(parts) {
      if (parts.has("plan")) plan.update();
      if (parts.has("files")) files.update();
      if (parts.has("files") || parts.has("head")) void files.check();
      if (parts.has("permissions")) remembered.update();
      if (parts.has("usage") || parts.has("head")) usage.update();
      if (parts.has("servers")) extensions.update();
    },
    /** Closes the panel if it covers the conversation; returns false otherwise. */
    close() {
      if (node.hidden || !narrow.matches) return false;
      set(false, true);
      return true;
    },
    dispose: () => narrow.removeEventListener("change", updateByWidth),
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

/** @param {Session} session @param {import("./conversation.js").Rpc} rpc */
function filesSection(session, rpc) {
  const list = h("ul", { class: "files" });
  const node = section("Changed files", "side-files", list);
  /** Files that were removed again. @type {Set<string>} */
  let missing = new Set();
  let checked = "";
  const update = () => {
    const files = Object.entries(session.files).filter(([path]) => !missing.has(path));
    node.hidden = files.length === 0;
    list.replaceChildren(...files.map(([path, { added, removed }]) => h("li", { title: path },
      h("bdi", { class: "path" }, relativePath(path, session.directory)),
      h("span", { class: "added" }, added ? `+${added}` : ""), h("span", { class: "removed" }, removed ? `−${removed}` : ""))));
  };
  /** Checks which files still exist, after changes and after runs. */
  const check = async () => {
    const paths = Object.keys(session.files).slice(0, 1000);
    const state = `${session.run} ${paths.length}`;
    if (paths.length === 0 || state === checked) return;
    checked = state;
    const result = await rpc.call("portal.files.missing", { session_id: session.id, paths }).catch(() => undefined);
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
