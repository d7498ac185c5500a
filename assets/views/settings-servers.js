// Settings of the agent: its MCP servers. The Copilot CLI stores them; a check starts them as a new session would.

import { h, messageOf, setText } from "../dom.js";
import { dialog } from "./dialog.js";
import { icon } from "./icons.js";
import { httpURL } from "./question-text.js";
import { serverForm } from "./server-form.js";
import { serverState } from "./server-states.js";
import { note, section } from "./settings-parts.js";

/**
 * @typedef {{command?: string, args?: string[], variables?: string[], url?: string, headers?: string[]}} Config without values of variables and headers
 * @typedef {{name: string, state: string, error?: string, source?: string, transport?: string, config?: Config}} Server of portal.extensions.list
 */

/** @type {Record<string, string>} */
const SOURCES = { user: "yours", workspace: "project", plugin: "plugin", builtin: "built in", managed: "managed" };

/** @param {{rpc: Pick<import("../rpc.js").Connection, "call">, reload: () => Promise<void>}} options reload: loads and shows all extensions again */
export function serversSection({ rpc, reload }) {
  const list = h("ul", { class: "settings-list", "aria-label": "MCP servers" }, h("li", { class: "muted loading" }, "Looking for MCP servers…"));
  const problem = h("p", { class: "error-text", role: "alert" });
  const status = h("p", { class: "muted setting-note", role: "status" });
  const checkButton = h("button", { type: "button", "data-testid": "check-servers", click: () => void check() }, "Check all");
  const addButton = h("button", { type: "button", "data-testid": "add-server", "aria-expanded": "false", click: () => toggleForm(form.node.hidden) }, icon("new"), "Add server");
  const form = serverForm({ onAdd: (server) => add(server), onCancel: () => toggleForm(false) });
  const node = section("MCP servers", "settings-servers", list, form.node, status, problem, h("div", { class: "settings-actions" }, addButton, checkButton),
    note("Programs and services whose tools the agent can use. The Copilot CLI stores them. Changes apply to sessions that you start or resume later."));

  /** @type {Server[]} */
  let servers = [];
  /** States and errors of the last check, by name. @type {Map<string, Server>} */
  const checked = new Map();

  /** @param {boolean} isOpen */
  const toggleForm = (isOpen) => {
    form.node.hidden = !isOpen;
    addButton.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) form.focus();
    else addButton.focus();
  };
  /** Does something, and shows its error. @param {string} text what happens meanwhile @param {() => Promise<void>} act */
  const perform = async (text, act) => {
    const focused = document.activeElement;
    setText(problem, "");
    setText(status, text);
    node.setAttribute("aria-busy", "true");
    for (const button of node.querySelectorAll("button")) button.disabled = true;
    try {
      await act();
    } catch (error) {
      setText(problem, messageOf(error));
    }
    for (const button of node.querySelectorAll("button")) button.disabled = false;
    node.removeAttribute("aria-busy");
    setText(status, "");
    if (document.activeElement === document.body && focused instanceof HTMLElement) focused.focus(); // it was disabled meanwhile
  };
  const check = () => perform("Starting the servers…", async () => {
    const result = await rpc.call("portal.servers.check");
    checked.clear();
    for (const server of result.servers) checked.set(server.name, server);
    draw();
  });
  /** @param {Record<string, unknown>} server */
  const add = async (server) => {
    await rpc.call("portal.server.add", server);
    toggleForm(false);
    await reload();
    void check();
  };
  /** @param {Server} server @param {boolean} enabled */
  const enable = (server, enabled) => perform("", async () => {
    await rpc.call("portal.server.enable", { name: server.name, enabled });
    checked.delete(server.name);
    await reload();
    focus(server.name);
  });
  /** Removes a server once it is confirmed. @param {Server} server */
  const remove = ({ name }) => {
    const text = h("p", {}, "The Copilot CLI forgets this server, with the values of its variables and headers.");
    const node = dialog(`Remove ${name}?`, [text], "Remove", async () => {
      await rpc.call("portal.server.remove", { name });
      checked.delete(name);
      await reload();
      node.addEventListener("close", () => addButton.focus()); // the one that was clicked is gone
    }, "danger");
  };
  /** @param {Server} server @param {HTMLElement} place */
  const signIn = (server, place) => perform("", async () => {
    const { url } = await rpc.call("portal.server.signin", { server: server.name });
    const target = httpURL(url ?? "");
    place.replaceChildren(target
      ? h("p", { class: "setting-note" }, "Open this page to sign in, then check again: ", h("a", { class: "address", href: target, target: "_blank", rel: "noopener noreferrer" }, target))
      : h("p", { class: "setting-note" }, "You are signed in."));
  });
  /** @param {string} name */
  const focus = (name) => {
    const row = [...list.children].find((row) => row instanceof HTMLElement && row.dataset.server === name);
    const button = row?.querySelector("button");
    if (button) button.disabled = false;
    button?.focus();
  };
  const draw = () => list.replaceChildren(...(servers.length > 0
    ? servers.map((server) => serverRow({ ...server, ...(server.state === "disabled" ? {} : stateOf(checked.get(server.name))) }, { enable, remove, signIn }))
    : [h("li", { class: "muted" }, "No MCP servers yet. Add one to give the agent more tools.")]));

  return {
    node,
    /** @param {Server[]} found */
    show(found) {
      servers = found;
      draw();
    },
  };
}

/** @param {Server | undefined} server */
const stateOf = (server) => (server ? { state: server.state, error: server.error } : {});

/**
 * @param {Server} server
 * @param {{enable: (server: Server, enabled: boolean) => void, remove: (server: Server) => void, signIn: (server: Server, place: HTMLElement) => void}} act
 */
function serverRow(server, act) {
  const [text, sign] = serverState(server);
  const isOn = server.state !== "disabled";
  const place = h("div", { class: "settings-place" });
  const button = (/** @type {string} */ label, /** @type {() => void} */ click, more = {}) => h("button", { type: "button", class: "small", "aria-label": `${label} ${server.name}`, click, ...more }, label);
  return h("li", { "data-server": server.name, "data-state": server.state },
    h("div", { class: "settings-row" },
      h("div", { class: "settings-what" }, h("strong", {}, server.name), h("span", { class: `sign ${sign}` }, ...(sign ? [icon(sign === "good" ? "check" : "warn")] : []), text),
        h("span", { class: "muted" }, [SOURCES[server.source ?? ""] ?? server.source, server.transport].filter(Boolean).join(", "))),
      h("div", { class: "settings-buttons" },
        ...(server.state === "needs-sign-in" ? [button("Sign in", () => act.signIn(server, place))] : []),
        button(isOn ? "Turn off" : "Turn on", () => act.enable(server, !isOn)),
        ...(server.config ? [button("Remove", () => act.remove(server))] : []))),
    ...(server.config ? [h("code", { class: "settings-command" }, commandOf(server.config))] : []),
    ...(server.error ? [h("details", { class: "settings-error", open: true }, h("summary", {}, "What went wrong"), h("pre", { tabindex: "0", "aria-label": `Error of ${server.name}` }, server.error))] : []),
    place);
}

/** What runs, in one line. @param {Config} config */
function commandOf({ command = "", args = [], variables = [], url = "", headers = [] }) {
  if (url) return [url, ...(headers.length > 0 ? [`(${headers.join(", ")})`] : [])].join(" ");
  return [...variables.map((name) => `${name}=…`), ...[command, ...args].map(quote)].join(" ");
}

/** @param {string} word */
const quote = (word) => (/^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);
