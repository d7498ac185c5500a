// The states of MCP servers, in words. Settings, the status and the details of a session share them. Pure.

/** @typedef {"good" | "bad" | ""} Sign */

/** Texts and signs of states: of portal.extensions.list, and those that mcp.list has instead. @type {Record<string, [string, Sign]>} */
const STATES = {
  connected: ["Connected", "good"], ready: ["Connected", "good"],
  failed: ["Failed", "bad"], error: ["Failed", "bad"],
  "needs-sign-in": ["Needs a sign-in", "bad"],
  disabled: ["Off", ""],
  pending: ["Starting", ""], connecting: ["Starting", ""],
  configured: ["Starts with a session", ""],
};

/**
 * Returns the text and the sign of a server's state.
 * @param {{state: string, last_error?: string}} server @returns {[string, Sign]}
 */
export const serverState = (server) => (needsSignIn(server) ? STATES["needs-sign-in"] : STATES[server.state] ?? [server.state, ""]);

/** Reports whether the server needs a sign-in. mcp.list says so in the error. @param {{state: string, last_error?: string}} server */
export const needsSignIn = ({ state, last_error: error = "" }) => state === "needs-sign-in" || (state === "error" && error === "a sign-in is needed");
