// The card that says what the agent needs before it can work, with commands.

import { h, withCommands } from "../dom.js";

/** @typedef {{state: string, version: string, message: string, hint: string}} Agent of portal.status */

/** @type {Record<string, string>} */
const TITLES = {
  missing: "Copilot CLI not found",
  "signed-out": "You are not signed in to Copilot",
  "too-old": "Copilot CLI is out of date",
  failed: "The agent failed to start",
};

/** Creates the card, or returns undefined if the agent is ready. @param {Agent} agent @param {() => void} retry */
export function setupCard({ state, message, hint }, retry) {
  if (!(state in TITLES)) return undefined;
  const texts = message.includes(hint) ? [message] : hint.includes(message) ? [hint] : [message, hint];
  return h("section", { class: "card setup", "data-testid": "setup", "aria-label": TITLES[state] },
    h("h2", {}, TITLES[state]),
    ...texts.map((text) => h("p", {}, ...withCommands(text))),
    h("button", { type: "button", click: retry }, "Try again"));
}

/**
 * Creates one line that says what the agent still needs, with an action, or returns undefined if it is ready.
 * @param {Agent | undefined} agent @param {string} problem why there are no models, or "" @param {() => void} retry
 */
export function setupLine(agent, problem, retry) {
  const state = agent && agent.state in TITLES ? agent.state : problem ? "failed" : "";
  if (!state) return undefined;
  const text = [agent?.message, problem, agent?.hint].filter(Boolean).join("\n");
  const command = /`[^`]+`/.exec(agent?.hint ?? "")?.[0];
  return h("p", { class: "setup-line", "data-testid": "setup", role: "status", title: text },
    h("strong", {}, `${TITLES[state]}.`), h("span", {}, ...withCommands(command ? `Run ${command}` : agent?.hint || text)), h("button", { type: "button", class: "small", click: retry }, "Try again"));
}
