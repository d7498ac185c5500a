// The state of a generated interface, and texts about it. Pure.

/**
 * @typedef {{number: number, description: string, prompt?: string, assumptions?: string[], components: number, bytes: number, based?: number, created_at: string}} Version
 * @typedef {{interface_id: string, title: string, format: string, operations: number, base_url: string, allowed: string, created_at: string, current: number,
 *   version_count: number, error?: string, work?: {prompt: string, since: string}}} Listed an interface in lists
 * @typedef {Listed & {versions: Version[], question?: {prompt: string, text: string, options: string[]}, request?: string}} Info
 * @typedef {{info: Info, draft: string, saveError: string, failed: string, deleted: boolean}} Interface draft: the code generated so far; saveError: why the result was not stored;
 *   failed: the request that the user wrote and that had no result, or ""
 */

/** @type {Record<string, string>} */
export const FORMATS = { openapi3: "OpenAPI", swagger2: "Swagger", graphql: "GraphQL" };

/** @param {Info} info @returns {Interface} */
export const newInterface = (info) => ({ info, draft: "", saveError: "", failed: failedRequest(info), deleted: false });

/** Applies a notification. Returns false if it is about something else. @param {Interface} state @param {import("./rpc.js").Notification} message */
export function applyMessage(state, { method, params }) {
  if (method !== "portal.interface.event" || params.interface_id !== state.info.interface_id) return false;
  if (params.interface) update(state, params.interface, params.type === "ended");
  if (params.type === "piece") state.draft += params.text;
  if (params.type === "began" || params.type === "ended") state.draft = "";
  if (params.type === "began") state.saveError = "";
  if (params.type === "ended") state.saveError = params.text ?? "";
  if (params.type === "deleted") state.deleted = true;
  return true;
}

/** Applies a new state. Without an end or an error, another portal may work on a request that has no result. @param {Interface} state @param {Info} info @param {boolean} isEnd */
function update(state, info, isEnd) {
  if (isEnd || info.error) state.failed = failedRequest(info);
  else if (info.work || info.request !== state.info.request) state.failed = "";
  state.info = info;
}

/** Summarizes an interface. @param {Listed} info */
export function summaryOf({ format, operations, version_count: count, work, error }) {
  const parts = [FORMATS[format] ?? format, operations === 1 ? "1 operation" : `${operations} operations`];
  if (work) parts.push(count === 0 ? "creating…" : "updating…");
  else if (count === 0) parts.push(error ? "failed" : "not created yet");
  else parts.push(count === 1 ? "1 version" : `${count} versions`);
  return parts.join(" · ");
}

/** Reports whether a URL names this machine or its local network, by the portal's rules. @param {string} url */
export function isPrivateURL(url) {
  let host;
  try {
    host = new URL(url).hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  } catch {
    return false;
  }
  if (host === "localhost" || host.endsWith(".localhost") || host === "::1" || /^f[cd][0-9a-f]{2}:/.test(host)) return true;
  const parts = /^(\d+)\.(\d+)\.\d+\.\d+$/.exec(host);
  if (!parts) return false;
  const [a, b] = [Number(parts[1]), Number(parts[2])];
  return a === 127 || a === 10 || (a === 192 && b === 168) || (a === 172 && b >= 16 && b < 32) || (a === 100 && b >= 64 && b < 128);
}

const REPAIR = "The interface fails with this error. Fix it and change nothing else:\n";

/** Returns the prompt that asks for a fix. @param {string} error */
export const repairPrompt = (error) => `${REPAIR}${error.slice(0, 2000)}`;

/** Returns the request without a result; "" for none, and for one that a button repeats. @param {Info} info */
function failedRequest({ work, request = "", question }) {
  return work || request.startsWith(REPAIR) || question?.options.includes(request) ? "" : request;
}

/** Returns the version that one was based on, or the previous one. @param {Info} info @param {number} number */
export function baseVersion({ versions }, number) {
  const version = versions.find((one) => one.number === number);
  return versions.find((one) => one.number === (version?.based || number - 1));
}
