// The addresses of the page, in the fragment of its URL.

/** @typedef {{view: "start", directory?: string} | {view: "status" | "settings" | "reference" | "operations" | "jobs" | "interfaces"} | {view: "operation" | "job" | "interface", id: string} | {view: "session", id: string, run: string, find?: string, changes?: true, file?: import("./paths.js").Place, terminal?: true}} Route find: words to find in the run; directory: of the new session; changes: its panel of changes is open; file: the panel shows it */

/** Parses an address; unknown ones are the start. #/session/… is an older form of #/s/…. @param {string} hash @returns {Route} */
export function parseRoute(hash) {
  const [path, query] = hash.split("?");
  const [, view = "", id = "", run = "", find = ""] = path.split("/").map(decode);
  if ((view === "s" || view === "session") && id) return { view: "session", id, run, ...(find && { find }), ...parsePanel(query) };
  if (view === "o" && id) return { view: "operation", id };
  if (view === "j" && id) return { view: "job", id };
  if (view === "i" && id) return { view: "interface", id };
  if (view === "jobs" || view === "status" || view === "settings" || view === "reference" || view === "operations" || view === "interfaces") return { view };
  const directory = new URLSearchParams(query).get("directory");
  return { view: "start", ...(directory && { directory }) };
}

/** Parses what the panel of a session shows. @param {string} [query] @returns {{changes?: true, file?: import("./paths.js").Place, terminal?: true}} */
function parsePanel(query) {
  const params = new URLSearchParams(query);
  if (params.has("changes")) return { changes: true };
  if (params.has("terminal")) return { terminal: true };
  const path = params.get("file");
  return path ? { file: { path, line: Number(/^\d{1,7}$/.exec(params.get("line") ?? "")?.[0] ?? 0) } } : {};
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the address of a new session in a directory. @param {string} directory */
export const startAddress = (directory) => `#/?directory=${encodeURIComponent(directory)}`;

/** Returns the address of a session, of a run in it, or of words in a run. @param {string} id @param {string} [run] @param {string} [words] */
export function sessionAddress(id, run = "", words = "") {
  return `#/s/${encodeURIComponent(id)}${run && `/${encodeURIComponent(run)}`}${run && words && `/${encodeURIComponent(words)}`}`;
}

/** Returns the address of the changes of a session, or of a run in it. @param {string} id @param {string} [run] */
export const changesAddress = (id, run = "") => `${sessionAddress(id, run)}?changes`;

/** Returns the address of a file of a session, at a line if it is not 0. @param {string} id @param {string} path @param {number} [line] */
export const fileAddress = (id, path, line = 0) => `${sessionAddress(id)}?file=${encodeURIComponent(path)}${line > 0 ? `&line=${line}` : ""}`;

/** Returns the address of the terminal of a session. @param {string} id */
export const terminalAddress = (id) => `${sessionAddress(id)}?terminal`;

/** @param {string} id */
export const jobAddress = (id) => `#/j/${encodeURIComponent(id)}`;

/** @param {string} id */
export const interfaceAddress = (id) => `#/i/${encodeURIComponent(id)}`;

/** @param {string} id */
export const operationAddress = (id) => `#/o/${encodeURIComponent(id)}`;
