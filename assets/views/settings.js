// The settings below the composer: model, mode and permissions.

import { h, messageOf } from "../dom.js";
import { presetOf, PRESETS, rulesText } from "./permissions.js";

/** @typedef {import("./conversation.js").Rpc} Rpc @typedef {import("../store.js").Session} Session */

const MODES = [["interactive", "Interactive"], ["plan", "Plan first"], ["autopilot", "Autopilot"]];

/** A select that looks like a chip. @param {string} label @param {string} id @param {(string | null)[][]} options */
function chip(label, id, options) {
  return h("select", { class: "chip-select", "aria-label": label, title: label, "data-testid": id },
    ...options.map(([value, text]) => h("option", { value }, text ?? "")));
}

/** @param {{session: Session, rpc: Rpc, onError: (message: string) => void}} options */
export function createSettings({ session, rpc, onError }) {
  const model = chip("Model", "chip-model", [[session.model, session.model || "Model"]]);
  const mode = chip("Mode", "chip-mode", MODES);
  const permissions = chip("Permissions", "chip-permissions", PRESETS.map(({ id, name }) => [id, name]));
  const custom = h("option", { value: "", disabled: true, hidden: true }, "Custom");
  permissions.append(custom);
  let modelsLoaded = false;

  /** @param {unknown} error */
  const showError = (error) => onError(messageOf(error));

  const loadModels = async () => {
    if (modelsLoaded) return;
    modelsLoaded = true;
    try {
      const { models: ids, details = {} } = await rpc.call("model.list", { include_details: true });
      showModels(model, ids, details, session.model);
    } catch (error) {
      modelsLoaded = false;
      showError(error);
    }
  };
  model.addEventListener("focus", () => void loadModels());
  model.addEventListener("pointerenter", () => void loadModels());
  model.addEventListener("change", async () => {
    try {
      await rpc.call("model.set", { name: model.value, session_id: session.id });
    } catch (error) {
      model.value = session.model;
      showError(error);
    }
  });
  permissions.addEventListener("change", () => void permit(permissions.value));

  /** Applies a preset. An event then updates all windows. @param {string} id */
  const permit = async (id) => {
    const preset = PRESETS.find((preset) => preset.id === id);
    if (!preset) return;
    try {
      await rpc.call("portal.session.permit", { session_id: session.id, permissions: preset.rules });
    } catch (error) {
      showError(error);
      showPermissions();
    }
  };
  /** @type {Record<string, string> | null} */
  let rules = null;
  const showPermissions = () => {
    rules = session.permissions;
    permissions.value = presetOf(rules ?? {});
    const text = rulesText(rules ?? {});
    permissions.title = `Permissions${text ? `\n${text}` : ""}`;
  };

  return {
    nodes: [model, mode, permissions],
    mode: () => mode.value,
    permit,
    choose() {
      model.focus();
      try {
        model.showPicker();
      } catch {
        // the focus must do
      }
    },
    update() {
      if (rules !== session.permissions) showPermissions();
      model.disabled = session.run !== "" || session.closed;
      model.title = session.run ? "You can change the model when the run ends" : "Model";
      if (!session.model || model.value === session.model) return;
      if (![...model.options].some(({ value }) => value === session.model)) model.append(h("option", { value: session.model }, session.model));
      model.value = session.model;
      if (!modelsLoaded) for (const option of [...model.options]) if (option.value !== session.model) option.remove();
    },
  };
}

/** @param {HTMLSelectElement} select @param {string[]} ids @param {Record<string, any>} details @param {string} current */
function showModels(select, ids, details, current) {
  select.replaceChildren(...[...new Set([...ids, current])].filter(Boolean).map((id) => {
    const { name = id, multiplier } = details[id] ?? {};
    return h("option", { value: id }, multiplier ? `${name} ×${multiplier}` : name);
  }));
  select.value = current;
}
