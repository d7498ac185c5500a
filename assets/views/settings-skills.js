// Settings of the agent: its skills and custom agents.

import { h, messageOf, setText } from "../dom.js";
import { note, section } from "./settings-parts.js";

/**
 * @typedef {{name: string, description: string, source: string, path?: string, enabled: boolean}} Skill
 * @typedef {{name: string, description: string, source?: string, path?: string, model?: string, tools?: string[]}} CustomAgent
 */

/** @param {{rpc: Pick<import("../rpc.js").Connection, "call">, reload: () => Promise<void>}} options reload: loads and shows all extensions again */
export function skillsSection({ rpc, reload }) {
  const list = h("ul", { class: "settings-list", "aria-label": "Skills" }, h("li", { class: "muted loading" }, "Looking for skills…"));
  const problem = h("p", { class: "error-text", role: "alert" });
  const node = section("Skills", "settings-skills", list, problem, note("Instructions that the agent reads when it needs them: folders with a SKILL.md in .github/skills of a project, or in ~/.copilot/skills."));
  /** @param {Skill} skill @param {HTMLButtonElement} button */
  const toggle = async ({ name, enabled }, button) => {
    button.disabled = true;
    setText(problem, "");
    try {
      await rpc.call("portal.skill.enable", { name, enabled: !enabled });
      await reload();
      list.querySelector(/** @type {"button"} */ (`[data-skill="${CSS.escape(name)}"] button`))?.focus();
    } catch (error) {
      setText(problem, messageOf(error));
      button.disabled = false;
    }
  };
  return {
    node,
    /** @param {Skill[]} skills */
    show(skills) {
      list.replaceChildren(...(skills.length > 0 ? skills.map((skill) => {
        const button = h("button", { type: "button", role: "switch", class: "small switch", "aria-checked": String(skill.enabled), "aria-label": skill.name, click: () => void toggle(skill, button) }, skill.enabled ? "On" : "Off");
        return row(skill, { "data-skill": skill.name }, skill.source, button);
      }) : [h("li", { class: "muted" }, "No skills found.")]));
    },
  };
}

export function agentsSection() {
  const list = h("ul", { class: "settings-list", "aria-label": "Custom agents" }, h("li", { class: "muted loading" }, "Looking for custom agents…"));
  const node = section("Custom agents", "settings-agents", list, note("Agents that the Copilot CLI finds in .github/agents of the portal's directory, or in ~/.copilot/agents. Edit their files to change them. The CLI itself offers them; sessions of the portal do not load them yet."));
  return {
    node,
    /** @param {CustomAgent[]} agents */
    show(agents) {
      list.replaceChildren(...(agents.length > 0
        ? agents.map((agent) => row(agent, { "data-agent": agent.name }, [agent.source, agent.model, agent.tools && !agent.tools.includes("*") ? `tools: ${agent.tools.join(", ") || "none"}` : ""].filter(Boolean).join(", ")))
        : [h("li", { class: "muted" }, "No custom agents found.")]));
    },
  };
}

/** @param {{name: string, description: string, path?: string}} one @param {Record<string, string>} data @param {string} about @param {...HTMLElement} buttons */
const row = ({ name, description, path }, data, about, ...buttons) => h("li", { ...data, title: path ?? "" },
  h("div", { class: "settings-row" }, h("div", { class: "settings-what" }, h("strong", {}, name), h("span", { class: "muted" }, about)), h("div", { class: "settings-buttons" }, ...buttons)),
  ...(description ? [h("p", { class: "muted setting-note clamp" }, description)] : []));
