// Settings of new sessions, which this browser stores, and the permissions of the portal's configuration.

import { h, setText } from "../dom.js";
import { getDefault, setDefault } from "../preferences.js";
import { fillMenu, menu, note, section, setting } from "./settings-parts.js";
import { permissionChoices, rulesText } from "./permissions.js";
import { MODES } from "./settings.js";

/** @typedef {{file?: string, model?: string, permissions: {rest: string, headless: string, rules: Record<string, string>}}} Configuration of portal.status */

const LAST_USED = /** @type {[string, string]} */ (["", "Last used"]);

export function newSessionSection() {
  const models = menu([LAST_USED, .../** @type {[string, string][]} */ (stored("model"))], getDefault(localStorage, "model"), (value) => setDefault(localStorage, "model", value));
  const modes = menu(MODES.map(({ value, name }) => [value === "interactive" ? "" : value, name]), getDefault(localStorage, "mode"), (value) => setDefault(localStorage, "mode", value));
  const permissions = menu([LAST_USED, ...permissionChoices().map(({ value, name }) => /** @type {[string, string]} */ ([value, name]))], getDefault(localStorage, "permissions"),
    (value) => setDefault(localStorage, "permissions", value));
  const aboutModel = note("Used when you start a session in this browser.");
  const node = section("New sessions", "settings-new",
    setting({ name: "Default model", id: "setting-model", control: models, text: aboutModel }),
    setting({ name: "Default mode", id: "setting-mode", control: modes, text: "Applies to the first prompt." }),
    setting({ name: "Default permissions", id: "setting-permissions", control: permissions, text: "You can change them for each session." }));
  return {
    node,
    /** @param {import("./models.js").Models} found @param {string} configured the model of the portal's configuration, or "" */
    show({ models: ids, details = {} }, configured) {
      const choices = ids.map((id) => /** @type {[string, string]} */ ([id, details[id]?.name || id]));
      if (document.activeElement !== models) fillMenu(models, [LAST_USED, ...choices], getDefault(localStorage, "model"));
      if (configured) setText(aboutModel, `The portal's configuration sets ${configured}. A choice here overrides it in this browser.`);
    },
  };
}

/** The stored default as a choice, before the models are known. @param {import("../preferences.js").Name} name */
const stored = (name) => (getDefault(localStorage, name) ? [[getDefault(localStorage, name), getDefault(localStorage, name)]] : []);

export function permissionSection() {
  const body = h("div", { class: "settings-rules" }, note("Loading…"));
  const node = section("Permissions", "settings-permissions", body,
    note("Answers that you remember are rules of one session. Its Details list and revoke them."));
  return {
    node,
    /** @param {Configuration} configuration */
    show({ file, permissions: { rest, headless, rules } }) {
      const text = rulesText(rules);
      body.replaceChildren(
        note(text ? "Every session starts with these rules of the portal's configuration:" : "The portal's configuration has no rules: sessions ask, unless you choose otherwise."),
        ...(text ? [h("pre", { class: "rules", tabindex: "0", "aria-label": "Rules of the portal" }, text)] : []),
        h("dl", { class: "facts" }, ...[["Unattended", headless], ["REST", rest], ["Configuration", file ?? ""]].filter(([, value]) => value).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, h("code", {}, value))])),
      );
    },
  };
}
