// What can be done with a session, by name: `/` in the composer offers it, and Ctrl+K. No page is needed here.

/**
 * @typedef {object} Command
 * @property {string} name what is typed behind the slash
 * @property {string} label what it does
 * @property {string} [hint] the key that does it
 * @property {string} [argument] what may be typed behind the name
 * @property {boolean} [everywhere] it is not about the session, and the palette has it anyway
 * @property {(argument: string) => void} run
 *
 * @typedef {{command: Command, argument: string}} Meant
 */

/**
 * The commands that a text may mean; none if it is a prompt. A text is all that stands in the composer.
 * @param {string} text @param {Command[]} commands @returns {Meant[]}
 */
export function commandsIn(text, commands) {
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
