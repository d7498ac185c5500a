// The permission presets of a session, and which one its rules match. Pure.

/** @typedef {Record<string, string>} Rules allow, ask or deny by name */
/** @typedef {{id: string, name: string, text: string, rules: Rules}} Preset rules replace those of the same names */

/** @type {Preset[]} */
export const PRESETS = [
  { id: "ask", name: "Ask me", text: "Reads freely. Asks before changing files or running commands.", rules: { "*": "ask", "fs.write": "ask", "exec.run": "ask", "net.fetch": "ask" } },
  { id: "edits", name: "Allow edits", text: "Changes files without asking. Asks before running commands.", rules: { "*": "ask", "fs.write": "allow", "exec.run": "ask", "net.fetch": "ask" } },
  { id: "all", name: "Allow everything", text: "Changes files and runs any command without asking.", rules: { "*": "allow", "fs.write": "allow", "exec.run": "allow", "net.fetch": "allow" } },
  { id: "deny", name: "Deny", text: "Denies everything that needs your permission.", rules: { "*": "deny", "fs.write": "deny", "exec.run": "deny", "net.fetch": "deny" } },
];

/**
 * Returns the decision of the rules: the most specific one wins, the default is ask.
 * @param {Rules} rules @param {string} name @returns {string}
 */
export function decide(rules, name) {
  const byName = new Map(Object.entries(rules).map(([key, decision]) => [key.toLowerCase(), decision]));
  for (let rule = name.toLowerCase(); rule !== ""; rule = rule.includes(".") ? rule.slice(0, rule.lastIndexOf(".")) : "") {
    const found = byName.get(rule);
    if (found) return found;
  }
  return byName.get("*") ?? "ask";
}

/** Returns the id of the preset that decides like the rules, or "". @param {Rules} rules */
export function presetOf(rules) {
  return PRESETS.find((preset) => Object.entries(preset.rules).every(([name, decision]) => decide(rules, name) === decision))?.id ?? "";
}

/** The presets as choices of a chip. @returns {import("./chip.js").Choice[]} */
export const permissionChoices = () => PRESETS.map(({ id, name, text }) => ({ value: id, name, text }));

/** Formats the rules, one per line. @param {Rules} rules */
export const rulesText = (rules) => Object.entries(rules).sort().map(([name, decision]) => `${name === "*" ? "everything else" : name}: ${decision}`).join("\n");
