// The MCP servers and skills of a session, loaded when opened.

import { h, messageOf } from "../dom.js";
import { httpURL } from "./question-text.js";
import { needsSignIn, serverState } from "./server-states.js";

/** @typedef {{id: string, state: string, enabled: boolean, last_error?: string, transport: string}} Server */
/** @typedef {{id: string, name: string, description: string, scope: string}} Skill */

/** @param {import("../store.js").Session} session @param {import("./conversation.js").Rpc} rpc */
export function extensionsSection(session, rpc) {
  const body = h("div", { class: "extensions" }, h("p", { class: "muted" }, "Loading…"));
  const node = h("details", { class: "side-part", "data-testid": "side-extensions" }, h("summary", {}, h("h3", {}, "MCP servers and skills")), body);

  /** @param {Server} server */
  const signIn = async (server) => {
    try {
      const { url } = await rpc.call("portal.server.signin", { session_id: session.id, server: server.id });
      const target = httpURL(url ?? "");
      body.prepend(target ? h("a", { class: "address", href: target, target: "_blank", rel: "noopener noreferrer" }, target) : h("p", {}, "Signed in."));
    } catch (error) {
      showError(error);
    }
  };
  /** @param {unknown} error */
  const showError = (error) => body.prepend(h("p", { class: "error-text", role: "alert" }, messageOf(error)));
  let loads = 0; // so far
  const load = async () => {
    if (!node.open) return;
    const mine = ++loads;
    try {
      const { servers, skills } = await rpc.call("portal.session.extensions", { session_id: session.id });
      if (mine === loads) body.replaceChildren(serverList(servers, (server) => void signIn(server)), skillList(skills));
    } catch (error) {
      if (mine !== loads) return;
      body.replaceChildren();
      showError(error);
    }
  };
  node.addEventListener("toggle", () => void load());
  return { node, update: () => void load() };
}

/** @param {Server[]} servers @param {(server: Server) => void} signIn */
function serverList(servers, signIn) {
  if (servers.length === 0) return h("p", { class: "muted" }, "No MCP servers.");
  return h("ul", { "aria-label": "MCP servers" }, ...servers.map((server) => h("li", { "data-state": server.state, title: server.last_error },
    h("span", {}, server.id), h("span", { class: "muted" }, serverState(server)[0]),
    ...(needsSignIn(server) ? [h("button", { type: "button", class: "small", click: () => signIn(server) }, "Sign in")] : []))));
}

/** @param {Skill[]} skills */
function skillList(skills) {
  if (skills.length === 0) return h("p", { class: "muted" }, "No skills.");
  return h("ul", { "aria-label": "Skills" }, ...skills.map(({ name, description, scope }) => h("li", { title: description },
    h("span", {}, name), h("span", { class: "muted" }, scope === "repo" ? "project" : ""))));
}
