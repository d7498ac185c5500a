// Renders the fields of a form (form.js).

import { h } from "./dom.js";
import { controlOf, countProblem, valueOf } from "./form.js";

/** @typedef {import("./form.js").Field} Field @typedef {import("./form.js").Control} Control */

/**
 * Creates the elements of the fields, and a function that reads their values.
 * @param {Field[]} fields @param {string} id unique on the page
 * @returns {{nodes: HTMLElement[], values: () => Record<string, unknown>}}
 */
export function createFields(fields, id) {
  const views = fields.map((field, i) => createField(field, `${id}-${i}`));
  return {
    nodes: views.map(({ node }) => node),
    values() {
      const values = /** @type {Record<string, unknown>} */ (Object.create(null)); // a field may be named __proto__
      views.forEach(({ read }, i) => {
        const value = valueOf(fields[i], read());
        if (value !== undefined) values[fields[i].name] = value;
      });
      return values;
    },
  };
}

/** @param {Field} field @param {string} id @returns {{node: HTMLElement, read: () => string[]}} */
function createField(field, id) {
  const control = controlOf(field);
  const title = `${field.title}${field.required ? "" : " (optional)"}`;
  const detail = field.detail ? [h("span", { class: "muted" }, field.detail)] : [];
  if (control.control === "checks") {
    const { nodes, read } = createChecks(control);
    const node = h("fieldset", { class: "field checks" }, h("legend", {}, title), ...detail, ...nodes);
    checkCount(field, node, node.querySelector("input"), read);
    return { node, read };
  }
  const input = createInput(field, control, id);
  const read = () => [input.value];
  checkCount(field, input, input, read);
  return { node: h("label", { class: "field", for: id }, title, ...detail, input), read };
}

/**
 * Lets the browser refuse a form whose list has too few or too many items.
 * @param {Field} field @param {HTMLElement} node what changes @param {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement | null} input shows the problem @param {() => string[]} read
 */
function checkCount(field, node, input, read) {
  const check = () => input?.setCustomValidity(countProblem(field, read()));
  node.addEventListener("input", check);
  check();
}

/** @param {Control} control */
function createChecks({ choices, chosen }) {
  const boxes = choices.map(({ value }) => h("input", { type: "checkbox", value, checked: chosen.includes(value), "data-testid": "field-check" }));
  return {
    nodes: choices.map(({ title }, i) => h("label", {}, boxes[i], title)),
    read: () => boxes.filter((box) => box.checked).map((box) => box.value),
  };
}

/** @param {Field} field @param {Control} control @param {string} id */
function createInput(field, { control, type, choices, chosen }, id) {
  const [preset = ""] = chosen;
  const props = { id, required: field.required, "data-testid": `field-${field.name}` };
  if (control === "select") {
    return h("select", props, h("option", { value: "" }, "–"), ...choices.map(({ value, title }) => h("option", { value, selected: value === preset }, title)));
  }
  if (control === "lines") return h("textarea", { ...props, rows: 3, placeholder: "One per line" }, preset);
  if (type === "number") {
    return h("input", { ...props, type, value: preset, step: field.type === "integer" ? 1 : "any", min: field.min, max: field.max });
  }
  return h("input", {
    ...props, type, value: preset, minlength: field.min, maxlength: field.max,
    placeholder: field.format === "date-time" ? "2026-01-31T12:00:00Z" : undefined,
  });
}
