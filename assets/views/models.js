// Models to choose from: as choices of a chip, and in a menu.

import { tokens } from "../blocks/labels.js";
import { showMenu } from "./menu.js";

/**
 * @typedef {{name: string, multiplier: number, vision: boolean, context_window?: number, agent?: string}} Details agent: absent for the first one
 * @typedef {{models: string[], current?: string, details?: Record<string, Details>}} Models the result of model.list
 */

/** The models as choices of a chip. @param {Models} list @returns {import("./chip.js").Choice[]} */
export const modelChoices = ({ models, details = {} }) => models.map((id) => ({
  value: id,
  name: details[id]?.name || id,
  note: costOf(id, details[id]),
  ...(details[id]?.agent && { group: details[id].agent }),
  text: [details[id]?.name && details[id].name !== id ? id : "", factsOf(details[id])].filter(Boolean).join(", "),
}));

/** Returns the model to start with: the previous one, else the current one. @param {Models} list @param {string} last */
export const preferredModel = ({ models, current = "" }, last) => (models.includes(last) ? last : models.includes(current) ? current : models[0] ?? "");

/** What a prompt costs of the quota of Copilot, which only models without a provider or another agent in their id use. @param {string} id @param {Details | undefined} details */
const costOf = (id, details) => (id.includes("/") ? "" : `×${details?.multiplier ?? "?"}`);

/** @param {Details | undefined} details */
const factsOf = (details) => [details?.context_window ? `${tokens(details.context_window)} tokens` : "", details?.vision ? "supports images" : ""].filter(Boolean).join(", ");

/**
 * Offers the models in a menu, unless the button is gone by then.
 * @param {Pick<import("../rpc.js").Connection, "call">} rpc @param {string} current @param {HTMLElement} button @param {(model: string) => void} choose
 */
export async function pickModel(rpc, current, button, choose) {
  /** @type {Models} */
  const { models, details = {} } = await rpc.call("model.list", { include_details: true }).catch(() => ({ models: [] }));
  if (!button.isConnected) return;
  const items = models.map((id) => ({ label: [details[id]?.name || id, details[id]?.agent].filter(Boolean).join(" · "), hint: id, checked: id === current, testid: "model-choice", act: () => choose(id) }));
  showMenu(button, "Model", items.length > 0 ? items : [{ label: "No models available", act: () => {} }]);
}
