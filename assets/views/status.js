// The status view: portal, agent, data, providers, MCP servers and skills.

import { age, fileSize, h, withCommands } from "../dom.js";
import { newConnections } from "../rpc.js";
import { icon } from "./icons.js";
import { serverState } from "./server-states.js";
import { setupCard } from "./setup.js";

/**
 * @param {{rpc: import("../rpc.js").Connection}} options
 * @returns {import("../app.js").View}
 */
export function statusView({ rpc }) {
  const body = h("div", { class: "column status-page", "data-testid": "status-page" }, h("p", { class: "muted" }, "Loading…"));
  const refresh = h("button", { type: "button", "data-testid": "refresh", title: "Also checks your account, which starts an agent" }, "Refresh");
  const node = h("section", { class: "page" }, h("header", { class: "top" }, h("h1", {}, "Status"), h("a", { class: "button", href: "#/reference", "data-testid": "reference-link" }, "API reference"), refresh), h("div", { class: "scroll" }, body));
  let lastLoad = 0;
  const isNewConnection = newConnections(rpc);

  /** @param {boolean} all */
  const load = async (all) => {
    const request = ++lastLoad;
    refresh.disabled = true;
    refresh.textContent = all ? "Refreshing…" : "Refresh";
    const calls = [settled(rpc.call("portal.status", { refresh: all })), settled(rpc.call("portal.extensions.list"))];
    const { value, problem } = await calls[0];
    if (request !== lastLoad) return;
    body.replaceChildren(...(problem ? [h("p", { class: "error-text" }, problem)] : statusParts(value, () => void load(true))));
    const added = problem ? [] : extensions(await calls[1]); // they may take long
    if (request !== lastLoad) return;
    body.append(...added);
    refresh.disabled = false;
    refresh.textContent = "Refresh";
  };
  refresh.addEventListener("click", () => void load(true));
  return {
    node,
    update() {
      if (isNewConnection()) void load(false);
    },
    focus() {},
    dispose() {
      lastLoad++;
    },
  };
}

/** @param {Promise<any>} call @returns {Promise<{value?: any, problem: string}>} */
const settled = (call) => call.then((value) => ({ value, problem: "" }), (error) => ({ problem: error.message }));

/** @param {string} title @param {...(Node | string)} content */
const part = (title, ...content) => h("section", { class: "card facts-card" }, h("h2", {}, title), ...content);

/** A list of names and values. @param {[string, Node | string | undefined][]} rows */
const facts = (rows) => h("dl", { class: "facts" }, ...rows.filter(([, value]) => value !== undefined && value !== "").flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value ?? "")]));

/** A text with an icon for good, bad, or neither. @param {"good" | "bad" | ""} kind @param {string} text */
const stateLabel = (kind, text) => h("span", { class: `sign ${kind}` }, ...(kind ? [icon(kind === "good" ? "check" : "warn")] : []), text);

/** @param {any} status @param {() => void} retry */
function statusParts(status, retry) {
  const { agent, agents = [], pool, sessions, storage, providers, configuration } = status;
  const card = setupCard(agent, retry);
  const counts = Object.entries(sessions).filter(([, count]) => count > 0).map(([state, count]) => `${count} ${state}`).join(", ");
  return [
    ...(card ? [card] : []),
    part("Portal", facts([
      ["Version", status.version],
      ["Uptime", age(status.uptime_s * 1000) === "now" ? "less than a minute" : age(status.uptime_s * 1000)],
      ["Sessions", counts || "none"],
      ["Configuration", configuration.file ? h("code", {}, configuration.file) : "none (defaults)"],
      ["Permissions", permissionsOf(configuration.permissions)],
    ])),
    part("Agent", facts([
      ["Copilot CLI", stateOf(agent)],
      ...agents.map((/** @type {any} */ other) => [other.name, stateOf(other)]),
      ["Processes", `${pool.running} running, ${pool.starts} started, ${pool.deaths} ended unexpectedly`],
      ...account(status.account, agent.state),
    ])),
    part("Data", facts([
      ["Storage", stateLabel(storage.ok ? "good" : "bad", storage.ok ? "sessions are saved" : storage.message || "sessions are not saved")],
      ["Directory", storage.directory ? h("code", {}, storage.directory) : undefined],
      ["Size", storage.bytes ? fileSize(storage.bytes) : undefined],
    ])),
    part("Model providers", providers.length === 0
      ? h("p", { class: "muted" }, "Only Copilot models. You can add providers in the configuration.")
      : facts(providers.map((/** @type {any} */ { name, type, models }) => [name, `${type}${models.length > 0 ? `: ${models.join(", ")}` : ""}`]))),
  ];
}

/** @param {{state: string, version: string}} agent */
const stateOf = ({ state, version }) => stateLabel(state === "ready" ? "good" : state === "unknown" || state === "starting" ? "" : "bad", `${version || "unknown version"}, ${AGENT[state] ?? state}`);

/** @type {Record<string, string>} */
const AGENT = { ready: "ready", unknown: "not started yet", starting: "starting", missing: "not found", "signed-out": "not signed in", "too-old": "too old", failed: "did not start" };

/** @param {any} permissions */
function permissionsOf({ rest = "", headless = "", rules = {} } = {}) {
  const own = Object.entries(rules).map(([name, decision]) => `${name}: ${decision}`).join(", ");
  return [own, rest && `REST: ${rest}`, headless && `unattended: ${headless}`].filter(Boolean).join("; ");
}

/** @param {any} info @param {string} agent its state @returns {[string, Node | string | undefined][]} */
function account(info, agent) {
  if (!info) return [["Account", h("span", { class: "muted" }, "Refresh to check.")]];
  const user = info.signed_in ? stateLabel("good", [info.login, info.host].filter(Boolean).join(" at ") || "signed in") : stateLabel(agent === "signed-out" ? "bad" : "", "not signed in");
  const message = info.message ? h("span", {}, ...withCommands(info.message)) : undefined;
  return [["Account", user], ["", message], ...info.quotas.map(quota)];
}

/** @param {any} q @returns {[string, Node | string]} */
function quota(q) {
  if (q.unlimited) return [q.name, "unlimited"];
  const left = Math.max(0, Math.min(100, q.remaining_percent));
  const reset = q.reset_at ? `, resets ${new Date(q.reset_at).toLocaleDateString()}` : "";
  return [q.name, h("span", { class: "quota" }, h("progress", { value: 100 - left, max: 100, "aria-label": `${q.name} used` }), `${q.used} of ${q.limit} used${reset}`)];
}

/** @param {{value?: any, problem: string}} result of portal.extensions.list */
function extensions({ value, problem }) {
  const settings = h("p", {}, h("a", { href: "#/settings" }, "Change them in the settings."));
  if (problem) return [part("MCP servers and skills", h("p", { class: "muted" }, problem))];
  return [part("MCP servers", named(value.servers, serverText), settings), part("Skills", named(value.skills, skillText))];
}

/** @param {any[]} list @param {(one: any) => Node} text */
const named = (list, text) => (list.length > 0 ? facts(list.map((one) => [one.name, text(one)])) : h("p", { class: "muted" }, "None."));

/** @param {import("./settings-servers.js").Server} server */
function serverText(server) {
  const [text, sign] = serverState(server);
  return h("span", {}, stateLabel(sign, text), [server.source, server.transport].filter(Boolean).map((part) => `, ${part}`).join(""),
    ...(server.error ? [h("span", { class: "error-text" }, ` ${server.error}`)] : []));
}

/** @param {import("./settings-skills.js").Skill} skill */
const skillText = ({ description, path, enabled }) => h("span", { title: path ?? "" }, enabled ? description : `Off. ${description}`);
