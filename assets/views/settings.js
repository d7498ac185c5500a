// What a prompt is carried out with: model, mode and permissions, as chips under the composer.

import { h } from "../dom.js";

/** @typedef {import("./conversation.js").Rpc} Rpc @typedef {import("../store.js").Session} Session */

const MODES = [["interactive", "Step by step"], ["plan", "Plan first"], ["autopilot", "Autopilot"]];

/** Rules that take the place of those the session has. @type {[string, string, Record<string, string> | null][]} */
const PERMISSIONS = [
  ["", "Permissions", null],
  ["ask", "Ask me", { "*": "ask", "fs.write": "ask", "exec.run": "ask", "net.fetch": "ask" }],
  ["edits", "Allow edits", { "fs.read": "allow", "fs.write": "allow", "exec.run": "ask", "net.fetch": "ask" }],
  ["all", "Allow everything", { "*": "allow", "fs.write": "allow", "exec.run": "allow", "net.fetch": "allow" }],
];

/** A select that looks like a chip. @param {string} label @param {string} id @param {(string | null)[][]} options */
function chip(label, id, options) {
  return h("select", { class: "chip-select", "aria-label": label, title: label, "data-testid": id },
    ...options.map(([value, text]) => h("option", { value }, text ?? "")));
}

/** @param {{session: Session, rpc: Rpc, onError: (message: string) => void}} options */
export function createSettings({ session, rpc, onError }) {
  const model = chip("Model", "chip-model", [[session.model, session.model || "Model"]]);
  const mode = chip("Mode", "chip-mode", MODES);
  const permissions = chip("Permissions of this session", "chip-permissions", PERMISSIONS.map(([value, text]) => [value, text]));
  let models = false;

  /** @param {unknown} error */
  const fail = (error) => onError(error instanceof Error ? error.message : String(error));

  const loadModels = async () => {
    if (models) return;
    models = true;
    try {
      const { models: ids, details = {} } = await rpc.call("model.list", { include_details: true });
      showModels(model, ids, details, session.model);
    } catch (error) {
      models = false;
      fail(error);
    }
  };
  model.addEventListener("focus", () => void loadModels());
  model.addEventListener("pointerenter", () => void loadModels());
  model.addEventListener("change", async () => {
    try {
      await rpc.call("model.set", { name: model.value, session_id: session.id });
    } catch (error) {
      model.value = session.model;
      fail(error);
    }
  });
  permissions.addEventListener("change", async () => {
    const rules = PERMISSIONS.find(([value]) => value === permissions.value)?.[2];
    if (!rules) return;
    try {
      await rpc.call("portal.session.permit", { session_id: session.id, permissions: rules });
      permissions.title = "Permissions of this session";
    } catch (error) {
      permissions.value = "";
      fail(error);
    }
  });

  return {
    nodes: [model, mode, permissions],
    mode: () => mode.value,
    choose() {
      model.focus();
      try {
        model.showPicker();
      } catch {
        // it has the focus, at least
      }
    },
    update() {
      model.disabled = session.run !== "" || session.closed;
      model.title = session.run ? "The model can be changed when the run is over" : "Model";
      if (!session.model || model.value === session.model) return;
      if (![...model.options].some(({ value }) => value === session.model)) model.append(h("option", { value: session.model }, session.model));
      model.value = session.model;
      if (!models) for (const option of [...model.options]) if (option.value !== session.model) option.remove();
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
