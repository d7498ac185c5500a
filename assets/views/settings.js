// The settings below the composer of a session: model, mode and permissions.

import { messageOf } from "../dom.js";
import { isCapable } from "../store.js";
import { createChip } from "./chip.js";
import { keep, loadKept } from "./kept.js";
import { modelChoices } from "./models.js";
import { permissionChoices, presetOf, PRESETS, rulesText } from "./permissions.js";

/** @typedef {import("./conversation.js").Rpc} Rpc @typedef {import("../store.js").Session} Session */

/** @type {import("./chip.js").Choice[]} */
export const MODES = [
  { value: "interactive", name: "Interactive", text: "Works step by step with you." },
  { value: "plan", name: "Plan first", text: "Makes a plan and asks you to approve it." },
  { value: "autopilot", name: "Autopilot", text: "Continues until the task is done." },
];

/** A chip for the mode, which applies to the next prompt. @param {string} id @param {string} value the mode at first @param {(value: string) => void} onChoose */
export function modeChip(id, value, onChoose) {
  const chip = createChip({ label: "Mode", id, onChoose });
  chip.show(MODES, MODES.some((mode) => mode.value === value) ? value : "interactive");
  return chip;
}

/** @param {string} session */
const modeKey = (session) => `mode:${session}`;

/** Keeps the mode of a session for the next prompts from this tab. @param {string} session @param {string} mode */
export const keepMode = (session, mode) => keep(sessionStorage, modeKey(session), mode);

/** @param {{session: Session, rpc: Rpc, onError: (message: string) => void}} options */
export function createSettings({ session, rpc, onError }) {
  const model = createChip({ label: "Model", id: "chip-model", onOpen: () => void loadModels(), onChoose: (name) => void setModel(name) });
  const mode = modeChip("chip-mode", loadKept(sessionStorage, modeKey(session.id)), (value) => keepMode(session.id, value));
  const permissions = createChip({ label: "Permissions", id: "chip-permissions", onChoose: (id) => void permit(id) });
  let modelsLoaded = false;

  /** @param {unknown} error */
  const showError = (error) => onError(messageOf(error));
  const loadModels = async () => {
    if (modelsLoaded) return;
    modelsLoaded = true;
    try {
      const found = await rpc.call("model.list", { include_details: true });
      model.show(modelChoices(found), session.model);
    } catch (error) {
      modelsLoaded = false;
      showError(error);
    }
  };
  /** @param {string} name */
  const setModel = async (name) => {
    try {
      await rpc.call("model.set", { name, session_id: session.id });
    } catch (error) {
      model.select(session.model);
      showError(error);
    }
  };
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
    permissions.show(permissionChoices(), presetOf(rules ?? {}), "Custom");
    const text = rulesText(rules ?? {});
    permissions.explain(`Permissions${text ? `\n${text}` : ""}`);
  };
  model.select(session.model, session.model || "Model");
  showPermissions();

  return {
    nodes: [model.node, mode.node, permissions.node],
    mode: () => (isCapable(session, "modes") ? mode.value : "interactive"),
    permit,
    choose: model.open,
    update() {
      if (rules !== session.permissions) showPermissions();
      mode.node.hidden = !isCapable(session, "modes");
      model.disable(session.run !== "");
      model.explain(session.run ? "You can change the model when the run ends" : "Model");
      if (session.model && model.value !== session.model) model.select(session.model);
    },
  };
}
