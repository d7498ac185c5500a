// The permissions of a session as a person chooses them: a few sets of rules, and which of them is in force. No page is needed here.

/** @typedef {Record<string, string>} Rules allow, ask or deny by name */
/** @typedef {{id: string, name: string, rules: Rules}} Preset rules take the place of those of the same names */

/** @type {Preset[]} */
export const PRESETS = [
  { id: "ask", name: "Ask me", rules: { "*": "ask", "fs.write": "ask", "exec.run": "ask", "net.fetch": "ask" } },
  { id: "edits", name: "Allow edits", rules: { "*": "ask", "fs.write": "allow", "exec.run": "ask", "net.fetch": "ask" } },
  { id: "all", name: "Allow everything", rules: { "*": "allow", "fs.write": "allow", "exec.run": "allow", "net.fetch": "allow" } },
  { id: "deny", name: "Deny", rules: { "*": "deny", "fs.write": "deny", "exec.run": "deny", "net.fetch": "deny" } },
];

/**
 * What the rules decide on a permission: the most specific one counts, and without any it is asked for.
 * @param {Rules} rules @param {string} name @returns {string}
 */
export function decisionOn(rules, name) {
  const byName = new Map(Object.entries(rules).map(([key, decision]) => [key.toLowerCase(), decision]));
  for (let rule = name.toLowerCase(); rule !== ""; rule = rule.includes(".") ? rule.slice(0, rule.lastIndexOf(".")) : "") {
    const found = byName.get(rule);
    if (found) return found;
  }
  return byName.get("*") ?? "ask";
}

/** The preset that the rules decide as, "" if there is none. @param {Rules} rules */
export function presetOf(rules) {
  return PRESETS.find((preset) => Object.entries(preset.rules).every(([name, decision]) => decisionOn(rules, name) === decision))?.id ?? "";
}

/** The rules in words, one a line. @param {Rules} rules */
export const rulesText = (rules) => Object.entries(rules).sort().map(([name, decision]) => `${name === "*" ? "everything else" : name}: ${decision}`).join("\n");
