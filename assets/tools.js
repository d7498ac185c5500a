// Says in a few words what a tool call does.

/** Verbs, while it runs and afterwards. @type {Record<string, [string, string]>} */
const VERBS = {
  run: ["Running", "Ran"],
  read: ["Reading", "Read"],
  edit: ["Editing", "Edited"],
  create: ["Creating", "Created"],
  search: ["Searching", "Searched"],
  find: ["Finding", "Found"],
  fetch: ["Fetching", "Fetched"],
  ask: ["Asking", "Asked"],
  delegate: ["Delegating", "Delegated"],
};

/** Which verb and which argument. @type {Map<string, [string, string[]]>} */
const TOOLS = new Map();
for (const [names, verb, keys] of /** @type {[string, string, string][]} */ ([
  ["bash shell sh powershell run_command run_in_terminal", "run", "command script"],
  ["view read read_file open_file", "read", "path file_path filePath file"],
  ["edit edit_file str_replace str_replace_editor write write_file insert apply_patch", "edit", "path file_path filePath file"],
  ["create create_file", "create", "path file_path filePath file"],
  ["grep rg search code_search", "search", "pattern query"],
  ["glob ls list_dir find", "find", "pattern path"],
  ["web_fetch fetch fetch_url", "fetch", "url"],
  ["web_search", "search", "query"],
  ["ask_user", "ask", "question"],
  ["task", "delegate", "description prompt"],
])) {
  for (const name of names.split(" ")) TOOLS.set(name, [verb, keys.split(" ")]);
}

/**
 * Returns a verb and an object: "Ran" and "go test ./…". A tool that is not known here is "Called" by its name.
 * @param {string} name @param {string} args JSON text or "" @param {boolean} running
 * @returns {{verb: string, object: string}}
 */
export function describeTool(name, args, running) {
  const [verb, keys] = TOOLS.get(name) ?? ["", []];
  const values = parse(args);
  const key = keys.find((key) => typeof values[key] === "string" && values[key].trim());
  if (!key) return { verb: running ? "Calling" : "Called", object: name || "a tool" };
  return { verb: VERBS[verb][running ? 0 : 1], object: values[key].trim() };
}

/** @param {string} args @returns {Record<string, any>} */
function parse(args) {
  try {
    const values = JSON.parse(args);
    return values && typeof values === "object" ? values : {};
  } catch {
    return {};
  }
}

/**
 * Returns the last lines of a text, at most 2000 characters, without walking through all of it.
 * @param {string} text @param {number} count
 */
export function lastLines(text, count) {
  let end = text.length;
  while (end > 0 && text[end - 1] === "\n") end--;
  const first = Math.max(0, end - 2000);
  const tail = text.slice(first, end).split("\n");
  return tail.slice(-count).join("\n");
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 1) return "under 1 s";
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
