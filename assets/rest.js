// The calls of the REST interface. All of them go to the server that this page came from, relative to the page: a proxy may
// serve it below some path.

/**
 * @typedef {{name: string, id: string, multiplier: number}} Model
 * @typedef {"idle"|"queued"|"running"|"waiting"|"closed"|"elsewhere"} SessionState
 * @typedef {{sessionId: string, title: string, model: string, workingDirectory: string, state: SessionState, createdAt: string, changedAt: string, owner?: number}} Session
 * @typedef {{state: string, message: string}} Storage
 * @typedef {{state: "unknown"|"ready"|"missing"|"signed-out"|"too-old"|"failed", message?: string, hint?: string}} Agent
 * @typedef {import("./store.js").Response} Response
 * @typedef {{approved: boolean, remember?: boolean, reason?: string, answer?: string, fields?: Record<string, unknown>} | {answer: string}} Answer
 */

/** A call that failed. The status is 200 for an error of the domain, such as SessionNotFound, and 0 without a connection. */
export class ApiError extends Error {
  /** @param {string} message @param {number} status */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/**
 * Returns the JSON of an answer, also of one that names an error of the domain.
 * @param {string} path @param {RequestInit} [init] @returns {Promise<any>}
 */
async function request(path, init = {}) {
  let response;
  try {
    response = await fetch(path, { cache: "no-store", credentials: "same-origin", ...init });
  } catch {
    throw new ApiError("The portal cannot be reached.", 0);
  }
  const json = await response.json().catch(() => undefined);
  if (!response.ok) throw new ApiError(json?.error ?? `The portal answered ${response.status}.`, response.status);
  if (json === undefined) throw new ApiError("The answer of the portal was cut off.", 0);
  return json;
}

/**
 * Like request, but an error of the domain is thrown too.
 * @param {string} path @param {RequestInit} [init]
 */
async function call(path, init) {
  const json = await request(path, init);
  if (json.error) throw new ApiError(json.error, 200);
  return json;
}

/** @param {string} body @returns {RequestInit} */
const text = (body) => ({ method: "POST", headers: { "Content-Type": "text/plain; charset=utf-8" }, body });

/** @param {string} id @param {string} rest */
const sessionPath = (id, rest) => `api/copilot/session/${encodeURIComponent(id)}/${rest}`;

/** @returns {Promise<{repoRoot: string}>} */
export const config = () => call("api/config");

/** @returns {Promise<{status: string, version: string, agent?: Agent, storage?: Storage}>} */
export const health = () => call("health");

/** @returns {Promise<Model[]>} */
export const models = async () => (await call("api/copilot/models")).models;

const SHOWN = 200; // sessions in the list

/** @returns {Promise<Session[]>} those first in which something happened last */
export const sessions = async () => (await call(`api/copilot/session?limit=${SHOWN}`)).sessions;

/** @param {string} model @param {string} directory @param {string} permissions @returns {Promise<string>} the session's id */
export async function start(model, directory, permissions) {
  const query = new URLSearchParams({ permissions });
  const path = `api/copilot/session/start/${encodeURIComponent(model)}?${query}`;
  return (await call(path, text(directory))).sessionId;
}

/** @param {string} id @param {string} prompt */
export const query = (id, prompt) => call(sessionPath(id, "query"), text(prompt));

/** Stops the running turn. @param {string} id */
export const cancel = (id) => call(sessionPath(id, "cancel"), { method: "POST" });

/** Closes the session. @param {string} id */
export const stop = (id) => call(sessionPath(id, "stop"), { method: "POST" });

/** @param {string} id */
export const resume = (id) => call(sessionPath(id, "resume"), { method: "POST" });

/** @param {string} id @param {string} requestId @param {Answer} answer */
export const answer = (id, requestId, answer) =>
  call(sessionPath(id, `answer/${encodeURIComponent(requestId)}`), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(answer),
  });

/**
 * Waits up to 5 s for the next responses of a session, for the reader of this token.
 * @param {string} id @param {string} token @param {AbortSignal} signal
 * @returns {Promise<{responses?: Response[], error?: string}>}
 */
export const live = (id, token, signal) => request(sessionPath(id, `live/${encodeURIComponent(token)}`), { signal });
