// Forms of MCP servers: the control of each field, and its value. Pure.

/**
 * @typedef {{value: string, title: string}} Choice
 * @typedef {object} Field see spec/rest.md
 * @property {string} name
 * @property {string} title
 * @property {string} [detail]
 * @property {"string"|"number"|"integer"|"boolean"|"array"} type
 * @property {boolean} required
 * @property {Choice[]} [choices]
 * @property {any} [default]
 * @property {string} [format]
 * @property {number} [min]
 * @property {number} [max]
 *
 * @typedef {{control: "select"|"checks"|"lines"|"input", type: string, choices: Choice[], chosen: string[]}} Control
 * chosen: the initial values, one unless control is checks
 */

/** @type {Record<string, string>} input types by text format */
const FORMATS = { email: "email", uri: "url", date: "date" };

/** @type {Choice[]} */
const YES_OR_NO = [{ value: "yes", title: "Yes" }, { value: "no", title: "No" }];

/** @param {Field} field @returns {Control} */
export function controlOf(field) {
  const choices = field.choices ?? [];
  const preset = field.default;
  const chosen = Array.isArray(preset) ? preset.map(String) : preset === undefined || preset === null ? [] : [String(preset)];
  switch (field.type) {
    case "boolean":
      return { control: "select", type: "", choices: YES_OR_NO, chosen: preset === true ? ["yes"] : preset === false ? ["no"] : [] };
    case "array":
      return choices.length > 0 ? { control: "checks", type: "", choices, chosen } : { control: "lines", type: "", choices, chosen: [chosen.join("\n")] };
    case "number":
    case "integer":
      return { control: "input", type: "number", choices: [], chosen };
    default:
      if (choices.length > 0) return { control: "select", type: "", choices, chosen };
      return { control: "input", type: Object.hasOwn(FORMATS, field.format ?? "") ? FORMATS[field.format ?? ""] : "text", choices: [], chosen };
  }
}

/**
 * Returns the value of a field, or undefined to leave it out.
 * @param {Field} field @param {string[]} raw the input, one text unless control is checks
 * @returns {string|number|boolean|string[]|undefined}
 */
export function valueOf(field, raw) {
  const [text = ""] = raw;
  if (field.type === "array") {
    const list = field.choices?.length ? raw : text.split("\n").map((line) => line.trim()).filter(Boolean);
    return list.length > 0 || field.required ? list : undefined;
  }
  if (text === "") return undefined;
  switch (field.type) {
    case "boolean":
      return text === "yes";
    case "number":
    case "integer":
      return Number(text);
    default:
      return text;
  }
}

/** Returns what is wrong with the number of items of a list, which browsers do not check; "" if nothing is. @param {Field} field @param {string[]} raw as of valueOf */
export function countProblem(field, raw) {
  const value = valueOf(field, raw);
  if (!Array.isArray(value)) return "";
  const { min = 0, max = Infinity } = field;
  if (value.length < min) return min === 1 ? "At least 1 item is required." : `At least ${min} items are required.`;
  return value.length <= max ? "" : max === 1 ? "At most 1 item is allowed." : `At most ${max} items are allowed.`;
}
