// The configuration of an MCP server as people write it: a command line, and lines of names and values. Pure.

/**
 * Splits a command line into words as a shell does, without expanding anything.
 * @param {string} line @returns {string[]} @throws {Error} if a quote is not closed
 */
export function splitWords(line) {
  /** @type {string[]} */
  const words = [];
  let word = "";
  let inWord = false;
  let quote = "";
  for (let i = 0; i < line.length; i++) {
    const char = line[i];
    if (quote) {
      if (char === quote) quote = "";
      else if (char === "\\" && quote === '"' && /["\\$`]/.test(line[i + 1] ?? "")) word += line[++i];
      else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      inWord = true;
    } else if (/\s/.test(char)) {
      if (inWord) words.push(word);
      word = "";
      inWord = false;
    } else {
      word += char === "\\" && i + 1 < line.length ? line[++i] : char;
      inWord = true;
    }
  }
  if (quote) throw new Error(`Close the quote ${quote} in the command.`);
  if (inWord) words.push(word);
  return words;
}

/**
 * Parses lines of names and values.
 * @param {string} text @param {"=" | ":"} separator @returns {Record<string, string>} @throws {Error} if a line lacks the separator
 */
export function parsePairs(text, separator) {
  /** @type {Record<string, string>} */
  const pairs = Object.create(null);
  for (const line of text.split("\n").filter((line) => line.trim())) {
    const at = line.indexOf(separator);
    if (at < 1) throw new Error(`Write each line as NAME${separator === "=" ? "=" : ": "}value: “${line.trim().slice(0, 20)}” is not.`);
    pairs[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return pairs;
}
