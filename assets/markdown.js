// Markdown as models write it → a tree. What is not known here stays text. The page is not needed.

/**
 * @typedef {{type: "text"|"code", text: string} | {type: "strong"|"em", children: Inline[]}
 *   | {type: "link", href: string, children: Inline[]} | {type: "break"}} Inline
 *
 * @typedef {{type: "paragraph", children: Inline[]}
 *   | {type: "heading", level: number, children: Inline[]}
 *   | {type: "code", language: string, text: string}
 *   | {type: "list", ordered: boolean, first: number, items: Block[][]}
 *   | {type: "quote", children: Block[]}
 *   | {type: "table", align: string[], head: Inline[][], rows: Inline[][][]}
 *   | {type: "rule"}} Block
 */

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const ITEM = /^( {0,3})([-*+]|(\d{1,9})[.)])(?:([ \t]+)(.*))?$/;
const QUOTE = /^ {0,3}> ?/;
const DEPTH = 20; // of lists and quotes in each other

/**
 * Returns the blocks of a text.
 * @param {string} source @returns {Block[]}
 */
export const parse = (source) => parseWithOffsets(source).blocks;

/**
 * Returns the blocks of a text and where each begins in it. Text that is added later can change only the last two
 * blocks, which is what makes streaming cheap.
 * @param {string} source @returns {{blocks: Block[], offsets: number[]}}
 */
export function parseWithOffsets(source) {
  const lines = source.split("\n");
  const starts = [0];
  for (const line of lines) starts.push(starts[starts.length - 1] + line.length + 1);
  const clean = lines.map((line) => line.replace(/\r$/, ""));
  /** @type {number[]} */
  const offsets = [];
  const blocks = parseLines(clean, 0, (line) => offsets.push(starts[line]));
  return { blocks, offsets };
}

/** @param {string[]} lines @param {number} depth @param {(line: number) => void} [began] @returns {Block[]} */
function parseLines(lines, depth, began = () => {}) {
  /** @type {Block[]} */
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (isBlank(lines[at])) {
      at++;
      continue;
    }
    began(at);
    const [block, next] = readBlock(lines, at, depth);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

/** @param {string} line */
const isBlank = (line) => line.trim() === "";

/** @typedef {[block: Block, next: number]} Read a block and the line after it */

/** @param {string[]} lines @param {number} at @param {number} depth @returns {Read} */
function readBlock(lines, at, depth) {
  const line = lines[at];
  const fence = FENCE.exec(line);
  if (fence) return readFence(lines, at, fence);
  const heading = HEADING.exec(line);
  if (heading) return [{ type: "heading", level: heading[1].length, children: inlines(headingText(heading[2])) }, at + 1];
  if (RULE.test(line)) return [{ type: "rule" }, at + 1];
  if (depth < DEPTH && QUOTE.test(line)) return readQuote(lines, at, depth);
  const item = ITEM.exec(line);
  if (depth < DEPTH && item) return readList(lines, at, item, depth);
  const align = tableAlign(lines, at);
  if (align) return readTable(lines, at, align);
  return readParagraph(lines, at);
}

/** Headings may end in #. @param {string|undefined} text */
const headingText = (text = "") => text.replace(/(^|[ \t])#+[ \t]*$/, "").trim();

/** @param {string[]} lines @param {number} at @param {RegExpExecArray} open @returns {Read} */
function readFence(lines, at, [line, fence, info]) {
  const indent = line.length - line.trimStart().length;
  /** @param {string} line */
  const closes = (line) => /^ {0,3}(`+|~+)[ \t]*$/.test(line) && line.trim().startsWith(fence);
  let end = at + 1;
  while (end < lines.length && !closes(lines[end])) end++;
  const text = lines.slice(at + 1, end).map((line) => dedent(line, indent)).join("\n");
  return [{ type: "code", language: info.trim().split(/\s/)[0], text }, end + 1];
}

/** @param {string[]} lines @param {number} at @param {number} depth @returns {Read} */
function readQuote(lines, at, depth) {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) end++;
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ""));
  return [{ type: "quote", children: parseLines(inner, depth + 1) }, end];
}

/** @param {string[]} lines @param {number} at @param {RegExpExecArray} first @param {number} depth @returns {Read} */
function readList(lines, at, first, depth) {
  const ordered = first[3] !== undefined;
  const kind = first[2].slice(-1);
  /** @type {Block[][]} */
  const items = [];
  while (at < lines.length) {
    const item = RULE.test(lines[at]) ? null : ITEM.exec(lines[at]);
    if (!item || item[2].slice(-1) !== kind) break;
    const [inner, next] = readItem(lines, at, item);
    items.push(parseLines(inner, depth + 1));
    at = next;
  }
  return [{ type: "list", ordered, first: ordered ? Number(first[3]) : 1, items }, at];
}

/**
 * Returns the lines of an item without their indent, and the line after it and its blank lines. Two blanks are indent
 * enough also under "1.", as models write it.
 * @param {string[]} lines @param {number} at @param {RegExpExecArray} item @returns {[string[], number]}
 */
function readItem(lines, at, [, margin, marker, , space = " ", text = ""]) {
  const indent = margin.length + marker.length + (space.length > 4 ? 1 : space.length);
  const inner = [text];
  let blank = false;
  let next = at + 1;
  for (; next < lines.length; next++) {
    const line = lines[next];
    if (isBlank(line)) {
      blank = true;
      inner.push("");
      continue;
    }
    const belongs = leading(line) >= margin.length + 2;
    if (!belongs && (blank || interrupts(line) || ITEM.test(line))) break;
    inner.push(dedent(line, indent));
    blank = false;
  }
  return [inner, next];
}

/** @param {string} line */
const leading = (line) => /^[ \t]*/.exec(line)?.[0].replaceAll("\t", "    ").length ?? 0;

/** Takes up to so many blanks away. @param {string} line @param {number} indent */
function dedent(line, indent) {
  const wide = line.replace(/^[ \t]+/, (blanks) => blanks.replaceAll("\t", "    "));
  return wide.slice(Math.min(indent, leading(wide)));
}

/** Whether a line ends a paragraph before it. @param {string} line */
const interrupts = (line) => FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || isItem(line);

/** Whether a list begins inside of a paragraph: a number other than 1 does not begin one. @param {string} line */
function isItem(line) {
  const item = ITEM.exec(line);
  return item !== null && Boolean(item[5]) && (item[3] === undefined || item[3] === "1");
}

/** @param {string[]} lines @param {number} at @returns {Read} */
function readParagraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && !isBlank(lines[end]) && !interrupts(lines[end]) && !tableAlign(lines, end)) end++;
  const text = lines.slice(at, end).map((line) => line.trimStart()).join("\n").trimEnd();
  return [{ type: "paragraph", children: inlines(text) }, end];
}

/** Returns the alignment of the columns if a table begins here. @param {string[]} lines @param {number} at @returns {string[]|undefined} */
function tableAlign(lines, at) {
  if (!lines[at].includes("|") || !/^[ \t|:-]+$/.test(lines[at + 1] ?? "")) return undefined;
  const rule = cells(lines[at + 1]);
  if (rule.length !== cells(lines[at]).length || !rule.every((cell) => /^:?-+:?$/.test(cell))) return undefined;
  return rule.map((cell) => (cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "right") : "left"));
}

/** @param {string[]} lines @param {number} at @param {string[]} align @returns {Read} */
function readTable(lines, at, align) {
  /** @param {string} line */
  const row = (line) => {
    const texts = cells(line);
    return align.map((_, column) => inlines(texts[column] ?? ""));
  };
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|") && !interrupts(lines[end])) end++;
  return [{ type: "table", align, head: row(lines[at]), rows: lines.slice(at + 2, end).map(row) }, end];
}

/** @param {string} line */
function cells(line) {
  const row = line.trim().replace(/^\|/, "").replace(/(^|[^\\])\|$/, "$1");
  return row.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

const LINK = /!?\[((?:[^\[\]\\]|\\.)*)\]\(\s*<?((?:[^\s<>()\\]|\([^\s<>()\\]*\))+)>?(?:\s+"[^"]*")?\s*\)/y;
const BARE_URL = /https?:\/\/[^\s<>"`|*]+/y;
const ANGLE_URL = /<(https?:\/\/[^\s<>]+)>/y;
const PLAIN = /[^\\`*_[!<h\n]+/y;
const STACK = 50; // of emphasis in each other

/**
 * Returns the inline parts of a paragraph, in one walk: an opening mark waits on a stack for its closing one, and
 * stays text when none comes.
 * @param {string} source @param {boolean} [linked] inside of a link there are no links
 * @returns {Inline[]}
 */
export function inlines(source, linked = false) {
  /** @type {Inline[]} */
  const out = [];
  /** @type {{mark: string, at: number}[]} */
  const stack = [];
  const lonely = new Set(); // lengths of backtick runs that nothing closes
  let at = 0;

  /** @param {string} value */
  const text = (value) => {
    const last = out[out.length - 1];
    if (last?.type === "text" && stack[stack.length - 1]?.at !== out.length - 1) last.text += value;
    else out.push({ type: "text", text: value });
    at += value.length;
  };

  /** @param {RegExp} pattern sticky */
  const match = (pattern) => {
    pattern.lastIndex = at;
    return pattern.exec(source);
  };

  const readCode = () => {
    const ticks = /** @type {RegExpExecArray} */ (match(/`+/y))[0];
    const end = lonely.has(ticks.length) ? -1 : closingTicks(source, at + ticks.length, ticks.length);
    if (end < 0) {
      lonely.add(ticks.length);
      return text(ticks);
    }
    const inner = source.slice(at + ticks.length, end).replaceAll("\n", " ");
    out.push({ type: "code", text: /^ .*[^ ].* $/.test(inner) ? inner.slice(1, -1) : inner });
    at = end + ticks.length;
  };

  const readLink = () => {
    const link = linked ? null : match(LINK);
    if (!link || !isWebLink(link[2])) return text(source[at]);
    out.push({ type: "link", href: link[2], children: inlines(link[1], true) });
    at += link[0].length;
  };

  const readUrl = () => {
    const url = linked || /\w/.test(source[at - 1] ?? "") ? undefined : match(BARE_URL)?.[0].replace(/[.,;:!?'\])_]+$/, "");
    if (!url || !isWebLink(url)) return text(source[at]);
    out.push({ type: "link", href: url, children: [{ type: "text", text: url }] });
    at += url.length;
  };

  const readAngle = () => {
    const url = linked ? null : match(ANGLE_URL);
    if (!url || !isWebLink(url[1])) return text("<");
    out.push({ type: "link", href: url[1], children: [{ type: "text", text: url[1] }] });
    at += url[0].length;
  };

  const readEmphasis = () => {
    const run = /** @type {RegExpExecArray} */ (match(/\*+|_+/y))[0];
    const before = source[at - 1] ?? " ";
    const after = source[at + run.length] ?? " ";
    const inWord = run[0] === "_";
    const closes = /\S/.test(before) && !(inWord && /[\p{L}\p{N}]/u.test(after));
    const opens = /\S/.test(after) && !(inWord && /[\p{L}\p{N}]/u.test(before));
    if (closes && close(run)) return;
    const mark = run.slice(0, 2);
    if (!opens || run.length > 3 || stack.length >= STACK) return text(run);
    stack.push({ mark, at: out.push({ type: "text", text: mark }) - 1 });
    at += mark.length;
  };

  /** @param {string} run */
  const close = (run) => {
    const i = stack.findLastIndex(({ mark }) => run.startsWith(mark));
    if (i < 0 || stack[i].at === out.length - 1) return false;
    const [{ mark, at: begin }] = stack.splice(i);
    const children = out.splice(begin).slice(1);
    out.push({ type: mark.length === 2 ? "strong" : "em", children });
    at += mark.length;
    return true;
  };

  const readNewline = () => {
    const last = out[out.length - 1];
    const hard = last?.type === "text" && / {2,}$/.test(last.text);
    if (last?.type === "text") last.text = last.text.trimEnd();
    if (!hard) return text("\n");
    out.push({ type: "break" });
    at++;
  };

  while (at < source.length) {
    const plain = match(PLAIN);
    if (plain) text(plain[0]);
    else if (source[at] === "`") readCode();
    else if (source[at] === "*" || source[at] === "_") readEmphasis();
    else if (source[at] === "[" || source.startsWith("![", at)) readLink();
    else if (source[at] === "h") readUrl();
    else if (source[at] === "\n") readNewline();
    else if (source[at] === "\\" && /[!-/:-@[-`{-~]/.test(source[at + 1] ?? "")) {
      at++;
      text(source[at]);
    } else if (source[at] === "<") readAngle();
    else text(source[at]);
  }
  return out;
}

/** @param {string} source @param {number} from @param {number} length */
function closingTicks(source, from, length) {
  for (const run of source.slice(from).matchAll(/`+/g)) {
    if (run[0].length === length) return from + run.index;
  }
  return -1;
}

/** Only these become links. @param {string} href */
const isWebLink = (href) => /^https?:\/\//i.test(href) && URL.canParse(href);

/** Returns an address as the browser reads it, "" if it is none of the web. @param {string} href */
export const webAddress = (href) => (isWebLink(href) ? new URL(href).href : "");
