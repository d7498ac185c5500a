// The commands of a session, for `/` in the composer and Ctrl+K. Pure.

/**
 * @typedef {object} Command
 * @property {string} name typed after the slash
 * @property {string} label what it does
 * @property {string} [hint] its key
 * @property {string} [argument] placeholder of what can follow the name
 * @property {boolean} [everywhere] it is not about the session, so the palette has it anyway
 * @property {(argument: string) => void} run
 *
 * @typedef {{command: Command, argument: string}} Match
 */

/**
 * Returns the commands that the composer's text can mean; none if it is a prompt.
 * @param {string} text @param {Command[]} commands @returns {Match[]}
 */
export function matchCommands(text, commands) {
  const found = /^\/([^\s]*)(?: ([^\n]*))?$/.exec(text);
  if (!found) return [];
  const name = found[1].toLowerCase();
  const argument = found[2];
  if (argument === undefined) return commands.filter((command) => command.name.startsWith(name)).map((command) => ({ command, argument: "" }));
  const typed = `${name} ${argument}`.toLowerCase();
  return commands.flatMap((command) => {
    if (command.argument !== undefined && command.name === name) return [{ command, argument: argument.trim() }];
    return command.name.startsWith(typed.trimEnd()) && command.name.includes(" ") ? [{ command, argument: "" }] : [];
  });
}
