// Short texts about tool calls, runs and errors. Pure.

/**
 * @typedef {object} ToolItem the fields used of an item of kind "tool"
 * @property {string} tool
 * @property {any} [args]
 * @property {string} [title]
 * @property {string} [state] running, completed, error, waiting
 * @property {boolean} [error]
 * @property {boolean} [denied]
 * @property {number | null} [added]
 * @property {number | null} [removed]
 * @property {number | null} [started]
 * @property {number | null} [ended]
 * @property {number | null} [took]
 *
 * @typedef {{verb: string, object: string, literal: boolean, isFile?: boolean, line?: number}} Words literal: whether the object is code; isFile: it is the path of a file; line: that was read first
 */

/** Verbs: while running, afterwards, and before permission. @type {Record<string, [string, string, string]>} */
const VERBS = {
  run: ["Running", "Ran", "Run"],
  read: ["Reading", "Read", "Read"],
  edit: ["Editing", "Edited", "Edit"],
  create: ["Creating", "Created", "Create"],
  search: ["Searching for", "Searched for", "Search for"],
  find: ["Looking for", "Looked for", "Look for"],
  list: ["Listing", "Listed", "List"],
  fetch: ["Fetching", "Fetched", "Fetch"],
  web: ["Searching the web for", "Searched the web for", "Search the web for"],
  ask: ["Asking", "Asked", "Ask"],
  delegate: ["Delegating", "Delegated", "Delegate"],
  intend: ["Working on", "Worked on", "Work on"],
  skill: ["Using the skill", "Used the skill", "Use the skill"],
  wait: ["Waiting for", "Waited for", "Wait for"],
  write: ["Writing to", "Wrote to", "Write to"],
  stop: ["Stopping", "Stopped", "Stop"],
  propose: ["Proposing", "Proposed", "Propose"],
  todo: ["Updating to-dos", "Updated to-dos", "Update to-dos"],
  call: ["Calling", "Called", "Call"],
};

/** @typedef {{verb: string, keys: string[], object: string, literal: boolean}} ToolWords */

/** @type {Map<string, ToolWords>} */
const TOOLS = new Map();
for (const [names, verb, keys, object, literal] of /** @type {[string, string, string, string, boolean][]} */ ([
  ["bash shell sh powershell run_command run_in_terminal", "run", "command script", "a command", true],
  ["read_bash read_powershell", "wait", "", "a command", false],
  ["write_bash write_powershell", "write", "", "a command", false],
  ["stop_bash stop_powershell", "stop", "", "a command", false],
  ["view read read_file open_file", "read", "path file_path filePath file", "a file", true],
  ["edit edit_file str_replace str_replace_editor write write_file insert", "edit", "path file_path filePath file", "a file", true],
  ["apply_patch", "edit", "path file_path filePath file", "files", true],
  ["create create_file", "create", "path file_path filePath file", "a file", true],
  ["grep rg search code_search", "search", "pattern query", "text", true],
  ["glob find", "find", "pattern path", "files", true],
  ["ls list_dir", "list", "path", "a directory", true],
  ["web_fetch fetch fetch_url", "fetch", "url", "a page", true],
  ["web_search", "web", "query", "something", false],
  ["ask_user", "ask", "question", "you", false],
  ["task", "delegate", "description prompt", "a task", false],
  ["report_intent", "intend", "intent", "the next step", false],
  ["sql", "todo", "description", "", false],
  ["skill", "skill", "skill name", "", false],
  ["exit_plan_mode", "propose", "", "a plan", false],
  ["update_todo", "todo", "", "", false],
])) {
  for (const name of names.split(" ")) TOOLS.set(name, { verb, keys: keys ? keys.split(" ") : [], object, literal });
}

/**
 * Describes a tool call by a verb and an object: "Ran" and "go test ./…". Unknown tools are "Called" by name.
 * @param {ToolItem} item @param {string} [directory] paths in it become relative @returns {Words}
 */
export function describeTool(item, directory = "") {
  const known = TOOLS.get(item.tool);
  const tense = item.state === "waiting" || item.denied ? 2 : item.state === "running" ? 0 : 1;
  if (!known) return { verb: VERBS.call[tense], object: item.title || item.tool || "a tool", literal: true };
  const values = argumentsOf(item);
  const key = known.keys.find((key) => typeof values[key] === "string" && values[key].trim());
  const verb = VERBS[known.verb][tense];
  if (!key) return { verb, object: known.object, literal: false };
  const words = { verb, object: relativePath(values[key].trim(), directory), literal: known.literal };
  if (!["read", "edit", "create"].includes(known.verb)) return words;
  return { ...words, isFile: true, line: Array.isArray(values.view_range) ? Number(values.view_range[0]) || 0 : 0 };
}

/** @param {ToolItem} item @returns {Record<string, any>} */
export function argumentsOf({ args }) {
  if (args && typeof args === "object") return args;
  if (typeof args !== "string") return {};
  try {
    const values = JSON.parse(args);
    return values && typeof values === "object" ? values : {};
  } catch {
    return {};
  }
}

/** Makes a path relative to a directory that contains it. @param {string} path @param {string} directory */
export function relativePath(path, directory) {
  const root = directory.replace(/[/\\]+$/, "");
  if (!root || !path.startsWith(root)) return path;
  if (path.length === root.length) return ".";
  return "/\\".includes(path[root.length]) ? path.slice(root.length + 1) || "." : path;
}

/**
 * Makes the path in the title of a permission relative: "Write src/a.go". Commands stay as they are.
 * @param {string} title @param {string} [directory]
 */
export function relativeTitle(title, directory = "") {
  const [, verb, path] = /^((?:Write|Read|Delete|Move) )(.+)$/s.exec(title) ?? [];
  return verb ? verb + relativePath(path, directory) : title;
}

/** What grouped calls are counted in, by verb. @type {Record<string, string>} */
const GROUPED = { read: "files", todo: "times" };

/** Returns the verb under which such calls are grouped, or "". @param {{kind: string} & Partial<ToolItem>} item */
export function groupingVerb(item) {
  if (item.kind !== "tool" || item.error || item.state === "error" || item.state === "waiting") return "";
  const verb = TOOLS.get(item.tool ?? "")?.verb ?? "";
  return verb in GROUPED ? verb : "";
}

/**
 * Describes several calls with one verb: "Read 3 files", and their names.
 * @param {ToolItem[]} items @param {string} [directory] @returns {{verb: string, object: string, names: string}}
 */
export function describeGroup(items, directory = "") {
  const kind = groupingVerb({ ...items[0], kind: "tool" }) || "read";
  const paths = [...new Set(items.map((item) => describeTool(item, directory).object))];
  const names = paths.map((path) => path.split(/[/\\]/).pop() || path);
  const verb = VERBS[kind][items.some(({ state }) => state === "running") ? 0 : 1];
  const count = kind === "read" ? paths.length : items.length;
  return { verb, object: paths.length === 1 ? paths[0] : `${count} ${GROUPED[kind]}`, names: paths.length === 1 ? "" : names.join(", ") };
}

/** Notices of the agent that are shown, besides those of the portal. */
const VISIBLE_NOTICES = new Set(["session.info", "session.warning", "session.custom_notification", "session.mcp_server_needs_reconnect"]);

/** Types of session.info that are not shown. */
const HIDDEN_INFO = new Set(["timing", "context_window", "snapshot", "configuration"]);

/**
 * Returns the text of a notice, or "" if it is not shown.
 * @param {Record<string, any>} item
 */
export function noticeText({ notice = "", raw }) {
  if (!VISIBLE_NOTICES.has(notice) && !notice.startsWith("portal.")) return "";
  if (!raw || typeof raw !== "object" || HIDDEN_INFO.has(raw.infoType)) return "";
  const text = ["message", "text", "content", "summary"].map((key) => raw[key]).find((value) => typeof value === "string" && value) ?? "";
  return /^\/\S+$/.test(text) ? "" : text; // a path alone is not useful
}

/** Formats the lines a diff adds and removes, "" for none. @param {Pick<ToolItem, "added" | "removed">} item */
export function diffCounts({ added, removed }) {
  return [added && `+${added}`, removed && `−${removed}`].filter(Boolean).join(" ");
}

/** Describes the outcome of a tool call: "0.4 s", "failed, 3 s". @param {ToolItem} item */
export function toolOutcome(item) {
  if (item.state === "waiting") return "waiting for you";
  if (item.denied) return "denied";
  const time = took(item);
  if (item.state === "error" || item.error) return time ? `failed, ${time}` : "failed";
  return time;
}

/** @param {{started?: number | null, ended?: number | null, took?: number | null}} item took: ms, measured by the agent */
export function took({ started, ended, took }) {
  if (typeof took === "number") return duration(took / 1000);
  if (!started || !ended || ended < started) return "";
  return duration((ended - started) / 1000);
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 0.95) return `${Math.max(0.1, seconds).toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** @param {{done?: boolean, started?: number | null, ended?: number | null}} item */
export function reasoningLabel(item) {
  if (!item.done && !item.ended) return "Thinking…";
  const time = took(item);
  if (time.startsWith("0.")) return "Thought briefly";
  return time ? `Thought for ${time}` : "Thought";
}

/** Formats a number of tokens: 980, 12.3k, 1.2M. @param {number} count */
export function tokens(count) {
  if (count < 1000) return String(count);
  if (count < 100_000) return `${(count / 1000).toFixed(1)}k`;
  return count < 1_000_000 ? `${Math.round(count / 1000)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

/** Outcomes other than completed. @type {Record<string, string>} */
const ENDINGS = { cancelled: "Stopped", error: "Failed" };

/**
 * Summarizes a run: "12 s · 3.1k tokens · ×1".
 * @param {{status?: string, took?: number | null, input?: number, output?: number, multiplier?: number | null}} item took in ms
 */
export function runSummary({ status = "", took, input = 0, output = 0, multiplier }) {
  const parts = [Object.hasOwn(ENDINGS, status) ? ENDINGS[status] : "", took ? duration(took / 1000) : ""];
  if (input + output > 0) parts.push(`${tokens(input + output)} tokens`);
  if (multiplier) parts.push(`×${multiplier}`);
  return parts.filter(Boolean).join(" · ");
}

/**
 * Returns the last lines of a text, at most 2000 characters.
 * @param {string} text @param {number} count
 */
export function lastLines(text, count) {
  let end = text.length;
  while (end > 0 && text[end - 1] === "\n") end--;
  const first = Math.max(0, end - 2000);
  const tail = text.slice(first, end).split("\n");
  return tail.slice(-count).join("\n");
}

/** @typedef {"retry" | "sign-in" | "model"} Remedy */

/**
 * Returns the remedies for an error.
 * @param {{cause?: string, message?: string, hint?: string}} item cause: its kind; hint: names the command if the account is to sign in, not the key of a provider
 * @returns {Remedy[]}
 */
export function remedies({ cause = "", message = "", hint = "" }) {
  if (cause === "unauthenticated" && hint && !hint.includes(" login`")) return ["retry", "model"];
  if (cause === "unauthenticated" || /\b(authenticat|sign.?in|log.?in|401)/i.test(message)) return ["sign-in", "retry"];
  if (/rate.?limit|quota|\b429\b|model.*(not|un)/i.test(`${cause} ${message}`)) return ["retry", "model"];
  return ["retry"];
}
