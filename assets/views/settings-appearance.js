// Settings of this browser: appearance and notifications. theme.js applies the appearance.

import { section, segments, setting } from "./settings-parts.js";
import { h, setText } from "../dom.js";

const KEYS = { theme: "portal.theme", density: "portal.density" };

export function appearanceSection() {
  /** @param {keyof typeof KEYS} name @param {string} value "": the default */
  const store = (name, value) => {
    if (value) localStorage.setItem(KEYS[name], value);
    else localStorage.removeItem(KEYS[name]);
    dispatchEvent(new Event("appearance"));
  };
  const theme = segments({ name: "theme", value: localStorage.getItem(KEYS.theme) ?? "", onChange: (value) => store("theme", value), choices: [["", "System"], ["light", "Light"], ["dark", "Dark"]] });
  const density = segments({ name: "density", value: localStorage.getItem(KEYS.density) ?? "", onChange: (value) => store("density", value), choices: [["", "Comfortable"], ["compact", "Compact"]] });
  return section("Appearance", "settings-appearance",
    setting({ name: "Theme", id: "setting-theme", control: theme, text: "Applies to this browser." }),
    setting({ name: "Density", id: "setting-density", control: density, text: "Compact shows more, with smaller text and rows." }));
}

/** @type {Record<string, string>} */
const TEXTS = {
  on: "You are told when a session needs you, or when a run of more than 30 s ended while this tab is hidden.",
  off: "Know when a session needs you, even in another tab.",
  denied: "The browser blocks notifications of this page. Allow them in the browser's site settings, then reload.",
  none: "This browser can't show notifications of this page.",
};

/** @param {{state: () => string, turn: (on: boolean) => Promise<void>}} notifications */
export function notificationSection(notifications) {
  const button = h("button", { type: "button", role: "switch", class: "switch", "data-testid": "notifications-switch" });
  const text = h("p", { class: "muted setting-note" });
  const show = () => {
    const state = notifications.state();
    button.setAttribute("aria-checked", String(state === "on"));
    button.disabled = state === "denied" || state === "none";
    setText(button, state === "on" ? "On" : "Off");
    setText(text, TEXTS[state]);
    text.hidden = false;
  };
  button.addEventListener("click", async () => {
    await notifications.turn(notifications.state() !== "on");
    show();
  });
  const node = section("Notifications", "settings-notifications", setting({ name: "Desktop notifications", id: "setting-notifications", control: button, text }));
  show();
  return node;
}
