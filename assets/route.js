// The addresses of the page: what is shown, by what stands behind the #.

/** @typedef {{view: "start" | "status" | "operations" | "jobs" | "interfaces"} | {view: "operation" | "job" | "interface", id: string} | {view: "session", id: string, run: string}} Route */

/** What an address shows, also one of the first page (#/session/…); what is unknown shows the start. @param {string} hash @returns {Route} */
export function routeOf(hash) {
  const [, place = "", id = "", run = ""] = hash.split("/").map(decoded);
  if ((place === "s" || place === "session") && id) return { view: "session", id, run };
  if (place === "o" && id) return { view: "operation", id };
  if (place === "j" && id) return { view: "job", id };
  if (place === "i" && id) return { view: "interface", id };
  return { view: place === "jobs" || place === "status" || place === "operations" || place === "interfaces" ? place : "start" };
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a session, or of a run in it. @param {string} id @param {string} [run] */
export function addressOf(id, run = "") {
  return `#/s/${encodeURIComponent(id)}${run && `/${encodeURIComponent(run)}`}`;
}

/** The address of a job. @param {string} id */
export const addressOfJob = (id) => `#/j/${encodeURIComponent(id)}`;

/** The address of an interface. @param {string} id */
export const addressOfInterface = (id) => `#/i/${encodeURIComponent(id)}`;
