// The settings: of this browser, of new sessions, and of the agent.

import { h, messageOf, setText } from "../dom.js";
import { isGone, newConnections } from "../rpc.js";
import { appearanceSection, notificationSection } from "./settings-appearance.js";
import { serversSection } from "./settings-servers.js";
import { newSessionSection, permissionSection } from "./settings-session.js";
import { agentsSection, skillsSection } from "./settings-skills.js";

/**
 * @param {{rpc: import("../rpc.js").Connection, notifications: {state: () => string, turn: (on: boolean) => Promise<void>}}} options
 * @returns {import("../app.js").View}
 */
export function settingsView({ rpc, notifications }) {
  const newSessions = newSessionSection();
  const permissions = permissionSection();
  let loads = 0; // so far
  const loadExtensions = async () => {
    const mine = ++loads;
    const { servers: found, skills: instructions, agents: custom } = await rpc.call("portal.extensions.list");
    if (isDisposed || mine !== loads) return;
    servers.show(found);
    skills.show(instructions);
    agents.show(custom);
  };
  const servers = serversSection({ rpc, reload: loadExtensions });
  const skills = skillsSection({ rpc, reload: loadExtensions });
  const agents = agentsSection();
  const problem = h("p", { class: "error-text", role: "alert" });
  const node = h("section", { class: "page", "data-testid": "settings" },
    h("header", { class: "top" }, h("h1", {}, "Settings"), h("a", { class: "button", href: "#/status", "data-testid": "status-link" }, "Portal status")),
    h("div", { class: "scroll" }, h("div", { class: "column settings-page" }, problem,
      appearanceSection(), notificationSection(notifications), newSessions.node, permissions.node, servers.node, skills.node, agents.node)));
  const isNewConnection = newConnections(rpc);
  let isDisposed = false;

  const load = async () => {
    const models = rpc.call("model.list", { include_details: true });
    models.catch(() => {}); // without an agent there are none to choose from
    try {
      const { configuration } = await rpc.call("portal.status");
      if (isDisposed) return;
      setText(problem, "");
      permissions.show(configuration);
      const extensions = loadExtensions();
      extensions.catch(() => {}); // reported below
      newSessions.show(await models.catch(() => ({ models: [] })), configuration.model ?? "");
      await extensions;
    } catch (error) {
      if (isGone(error)) return; // it is loaded after a reconnect
      setText(problem, messageOf(error));
      for (const line of node.querySelectorAll(".loading")) line.remove();
    }
  };
  return {
    node,
    update() {
      if (isNewConnection()) void load();
    },
    focus() {},
    dispose() {
      isDisposed = true;
    },
  };
}
