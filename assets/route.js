// The addresses of the page, in the fragment of its URL.

/** @typedef {{view: "start" | "status" | "operations" | "jobs" | "interfaces"} | {view: "operation" | "job" | "interface", id: string} | {view: "session", id: string, run: string}} Route */

/** Parses an address; unknown ones are the start. #/session/… is an older form of #/s/…. @param {string} hash @returns {Route} */
export function parseRoute(hash) {
  const [, view = "", id = "", run = ""] = hash.split("/").map(decode);
  if ((view === "s" || view === "session") && id) return { view: "session", id, run };
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

/** Returns the address of a session, or of a run in it. @param {string} id @param {string} [run] */
export function sessionAddress(id, run = "") {
  return `#/s/${encodeURIComponent(id)}${run && `/${encodeURIComponent(run)}`}`;
}

/** @param {string} id */
export const jobAddress = (id) => `#/j/${encodeURIComponent(id)}`;

/** @param {string} id */
export const interfaceAddress = (id) => `#/i/${encodeURIComponent(id)}`;

/** @param {string} id */
export const operationAddress = (id) => `#/o/${encodeURIComponent(id)}`;
