// What is known of interfaces to APIs: how one is, and what is told of it.

/**
 * @typedef {{number: number, description: string, prompt?: string, assumptions?: string[], components: number, bytes: number, based?: number, created_at: string}} Version
 * @typedef {{interface_id: string, title: string, format: string, operations: number, base_url: string, allowed: string, created_at: string, current: number,
 *   versions: Version[], question?: {prompt: string, text: string, options: string[]}, error?: string, work?: {prompt: string, since: string}}} Info
 * @typedef {{info: Info, draft: string, lost: string, deleted: boolean}} Watched draft: the code that comes; lost: why what was made could not be stored
 */

/** @type {Record<string, string>} */
export const FORMATS = { openapi3: "OpenAPI", swagger2: "Swagger", graphql: "GraphQL" };

/** @param {Info} info @returns {Watched} */
export const newWatched = (info) => ({ info, draft: "", lost: "", deleted: false });

/** Takes what the portal tells; false if it is of something else. @param {Watched} watched @param {import("./rpc.js").Notification} message */
export function take(watched, { method, params }) {
  if (method !== "portal.interface.event" || params.interface_id !== watched.info.interface_id) return false;
  if (params.interface) watched.info = params.interface;
  if (params.type === "piece") watched.draft += params.text;
  if (params.type === "began" || params.type === "ended") watched.draft = "";
  if (params.type === "began") watched.lost = "";
  if (params.type === "ended") watched.lost = params.text ?? "";
  if (params.type === "deleted") watched.deleted = true;
  return true;
}

/** In words, for a list. @param {Info} info */
export function aboutOf({ format, operations, versions, work, error }) {
  const parts = [FORMATS[format] ?? format, operations === 1 ? "1 operation" : `${operations} operations`];
  if (work) parts.push(versions.length === 0 ? "being made…" : "being changed…");
  else if (versions.length === 0) parts.push(error ? "could not be made" : "not made yet");
  else parts.push(versions.length === 1 ? "1 version" : `${versions.length} versions`);
  return parts.join(" · ");
}

/** Whether an address is seen to be of this machine or its network, as the portal judges it. @param {string} url */
export function isInside(url) {
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

/** What to ask for, so that an error is put right. @param {string} error */
export const repairOf = (error) => `The interface fails with this error. Put it right and change nothing else:\n${error.slice(0, 2000)}`;

/** The version to fall back to from one: that which it was made of, or the one before. @param {Info} info @param {number} number */
export function before({ versions }, number) {
  const version = versions.find((one) => one.number === number);
  return versions.find((one) => one.number === (version?.based || number - 1));
}
