// The addresses of the page, in the fragment of its URL.

/** @typedef {{view: "start" | "status" | "operations" | "jobs" | "interfaces"} | {view: "operation" | "job" | "interface", id: string} | {view: "session", id: string, run: string, find?: string, changes?: true}} Route find: words to find in the run; changes: its panel of changes is open */

/** Parses an address; unknown ones are the start. #/session/… is an older form of #/s/…. @param {string} hash @returns {Route} */
export function parseRoute(hash) {
  const [path, query] = hash.split("?");
  const [, view = "", id = "", run = "", find = ""] = path.split("/").map(decode);
  if ((view === "s" || view === "session") && id) return { view: "session", id, run, ...(find && { find }), ...(query === "changes" && { changes: /** @type {const} */ (true) }) };
  if (view === "o" && id) return { view: "operation", id };
  if (view === "j" && id) return { view: "job", id };
  if (view === "i" && id) return { view: "interface", id };
  return { view: view === "jobs" || view === "status" || view === "operations" || view === "interfaces" ? view : "start" };
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the address of a session, of a run in it, or of words in a run. @param {string} id @param {string} [run] @param {string} [words] */
export function sessionAddress(id, run = "", words = "") {
  return `#/s/${encodeURIComponent(id)}${run && `/${encodeURIComponent(run)}`}${run && words && `/${encodeURIComponent(words)}`}`;
}

/** Returns the address of the changes of a session, or of a run in it. @param {string} id @param {string} [run] */
export const changesAddress = (id, run = "") => `${sessionAddress(id, run)}?changes`;

/** @param {string} id */
export const jobAddress = (id) => `#/j/${encodeURIComponent(id)}`;

/** @param {string} id */
export const interfaceAddress = (id) => `#/i/${encodeURIComponent(id)}`;

/** @param {string} id */
export const operationAddress = (id) => `#/o/${encodeURIComponent(id)}`;
