// The card that says what is missing before the agent can work.

import { copyButton, h } from "./dom.js";

/** @typedef {import("./rest.js").Agent} Agent @typedef {import("./rest.js").Model} Model */

/** @type {Record<string, string>} */
const TITLES = {
  missing: "The Copilot CLI is missing",
  "signed-out": "Copilot is not signed in",
  "too-old": "The Copilot CLI is too old",
  failed: "The agent did not start",
};

/**
 * Returns a card, or nothing when the agent is ready.
 * @param {Agent|undefined} agent @param {string} problem why there are no models, or "" @param {Model[]} models
 * @param {() => void} retry
 */
export function setupCard(agent, problem, models, retry) {
  const state = agent && agent.state in TITLES ? agent.state : problem ? "failed" : undefined;
  if (!state) return undefined;
  const texts = [...new Set([agent?.message ?? "", problem, agent?.hint ?? ""])];
  const parts = texts.filter((text) => !texts.some((other) => other !== text && other.includes(text)));
  const goOn = state === "signed-out" && models.length > 0 ? [h("p", {}, goOnText(models))] : [];
  return h("section", { class: "card setup", "data-testid": "setup", "aria-labelledby": "setup-title" },
    h("h2", { id: "setup-title" }, TITLES[state]),
    ...parts.map((text) => h("p", {}, ...withCommands(text))),
    ...goOn,
    h("button", { type: "button", click: retry }, "Retry"));
}

/** @param {Model[]} models */
function goOnText(models) {
  const names = models.slice(0, 3).map(({ name }) => name).join(", ");
  return `You can go on without signing in: ${names}${models.length > 3 ? " and others" : ""} ${models.length === 1 ? "needs" : "need"} no account.`;
}

/** The card for a page that stayed open while the portal started again with another token. */
export function tokenCard() {
  return h("section", { class: "card setup", "data-testid": "setup", "aria-labelledby": "setup-title" },
    h("h2", { id: "setup-title" }, "This portal asks for its token"),
    h("p", {}, "Open the page once with ", h("code", {}, `${location.pathname}?token=…`), ", the address that the portal printed at start-up. The browser then remembers it."));
}

/** Each part in backticks gets a button to copy it. @param {string} text @returns {(Node | string)[]} */
function withCommands(text) {
  return text.split(/`([^`]+)`/).map((part, i) => {
    if (i % 2 === 0) return part;
    const code = h("code", {}, part);
    return h("span", { class: "command" }, code, copyButton(() => part, code, `Copy ${part}`));
  });
}
