// Models to choose from: as choices of a chip, and as a field.

import { tokens } from "../blocks/labels.js";
import { h } from "../dom.js";
import { showMenu } from "./menu.js";

/**
 * @typedef {{name: string, multiplier: number, vision: boolean, context_window?: number, agent?: string}} Details agent: absent for the first one
 * @typedef {{models: string[], current?: string, details?: Record<string, Details>}} Models the result of model.list
 */

const FILTER_FROM = 12; // models

/** @param {{onChange: () => void}} options */
export function modelField({ onChange }) {
  const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter models", hidden: true });
  const grid = h("div", { class: "models", role: "radiogroup", "aria-label": "Model", "data-testid": "model" }, h("p", { class: "muted" }, "Loading models…"));
  const node = h("div", { class: "field" }, h("div", { class: "field-head" }, h("span", { class: "field-name" }, "Model"), filter), grid);
  grid.addEventListener("change", onChange);
  filter.addEventListener("input", () => {
    for (const label of grid.querySelectorAll("label")) label.hidden = !(label.textContent ?? "").toLowerCase().includes(filter.value.toLowerCase());
  });

  return {
    node,
    /** @param {Models} list @param {string} last the previous choice */
    show(list, last) {
      const { models, details = {} } = list;
      const chosen = preferredModel(list, last);
      grid.replaceChildren(...models.flatMap((id, i) => {
        const agent = details[id]?.agent ?? "";
        const isFirst = agent !== "" && agent !== details[models[i - 1]]?.agent;
        return [...(isFirst ? [h("p", { class: "model-agent muted" }, agent)] : []), modelCard(id, details[id], id === chosen)];
      }));
      if (models.length === 0) grid.replaceChildren(h("p", { class: "muted" }, "No models available."));
      filter.hidden = models.length <= FILTER_FROM;
      grid.querySelector("input:checked")?.scrollIntoView({ block: "nearest" });
      onChange();
    },
    /** The id of the chosen model, or "". */
    get value() {
      return grid.querySelector(/** @type {"input"} */ ("input:checked"))?.value ?? "";
    },
  };
}

/** The models as choices of a chip. @param {Models} list @returns {import("./chip.js").Choice[]} */
export const modelChoices = ({ models, details = {} }) => models.map((id) => ({
  value: id,
  name: details[id]?.name || id,
  note: costOf(details[id]),
  ...(details[id]?.agent && { group: details[id].agent }),
  text: [details[id]?.name && details[id].name !== id ? id : "", factsOf(details[id])].filter(Boolean).join(", "),
}));

/** Returns the model to start with: the previous one, else the current one. @param {Models} list @param {string} last */
export const preferredModel = ({ models, current = "" }, last) => (models.includes(last) ? last : models.includes(current) ? current : models[0] ?? "");

/** What a prompt costs of the quota of Copilot, which the models of other agents do not use. @param {Details | undefined} details */
const costOf = (details) => (details?.agent ? "" : `×${details?.multiplier ?? "?"}`);

/** @param {Details | undefined} details */
const factsOf = (details) => [details?.context_window ? `${tokens(details.context_window)} tokens` : "", details?.vision ? "supports images" : ""].filter(Boolean).join(", ");

/**
 * Offers the models in a menu.
 * @param {Pick<import("../rpc.js").Connection, "call">} rpc @param {string} current @param {HTMLElement} button @param {(model: string) => void} choose
 */
export async function pickModel(rpc, current, button, choose) {
  /** @type {Models} */
  const { models, details = {} } = await rpc.call("model.list", { include_details: true }).catch(() => ({ models: [] }));
  const items = models.map((id) => ({ label: [details[id]?.name || id, details[id]?.agent].filter(Boolean).join(" · "), hint: id, checked: id === current, testid: "model-choice", act: () => choose(id) }));
  showMenu(button, "Model", items.length > 0 ? items : [{ label: "No models available", act: () => {} }]);
}

/** @param {string} id @param {Details | undefined} details @param {boolean} checked */
function modelCard(id, details, checked) {
  const name = details?.name || id;
  return h("label", { class: "model", title: [name, id, factsOf(details)].filter(Boolean).join("\n") },
    h("input", { type: "radio", name: "model", value: id, checked }),
    h("span", { class: "model-name" }, name),
    h("span", { class: "model-cost", title: "Quota used per prompt" }, costOf(details)),
    h("code", { class: "model-id" }, id));
}
