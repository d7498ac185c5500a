// Parts of the settings: sections, settings and controls.

import { h } from "../dom.js";

/** A section with a heading. @param {string} title @param {string} id its data-testid @param {...(Node | string)} content */
export const section = (title, id, ...content) => h("section", { class: "card settings-card", "data-testid": id, "aria-label": title }, h("h2", {}, title), ...content);

/** @param {string} text @param {string} [id] */
export const note = (text, id) => h("p", { class: "muted setting-note", id }, text);

/**
 * A named setting with its control on the right. The control gets the name as its label, and the note as its description.
 * @param {{name: string, id: string, control: HTMLElement, text?: string | HTMLElement}} options text: a note below the name
 */
export function setting({ name, id, control, text = "" }) {
  const label = control instanceof HTMLSelectElement || control instanceof HTMLInputElement ? h("label", { for: id }, name) : h("span", { id: `${id}-name` }, name);
  control.id = id;
  if (label instanceof HTMLSpanElement) control.setAttribute("aria-labelledby", label.id);
  const below = typeof text === "string" ? note(text) : text;
  below.id = `${id}-note`;
  below.hidden = !below.textContent;
  control.setAttribute("aria-describedby", below.id);
  return h("div", { class: "setting" }, h("div", { class: "setting-text" }, label, below), control);
}

/**
 * A choice among few values, side by side.
 * @param {{name: string, choices: [string, string][], value: string, onChange: (value: string) => void}} options choices: values and texts
 */
export function segments({ name, choices, value, onChange }) {
  return h("div", { class: "segments", role: "radiogroup" }, ...choices.map(([id, text]) => h("label", {},
    h("input", { type: "radio", name, value: id, checked: id === value, change: () => onChange(id) }), text)));
}

/** A list to choose from. @param {[string, string][]} choices values and texts @param {string} value @param {(value: string) => void} onChange */
export function menu(choices, value, onChange) {
  const node = h("select", { change: () => onChange(node.value) });
  fillMenu(node, choices, value);
  return node;
}

/** Replaces the choices of a menu; a value that is none of them is kept as the last one. @param {HTMLSelectElement} node @param {[string, string][]} choices @param {string} value */
export function fillMenu(node, choices, value) {
  const all = choices.some(([id]) => id === value) ? choices : [...choices, /** @type {[string, string]} */ ([value, `${value} (not available)`])];
  node.replaceChildren(...all.map(([id, text]) => h("option", { value: id }, text)));
  node.value = value;
}
