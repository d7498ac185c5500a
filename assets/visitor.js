// The REST client for operations, with the visitor id that the portal gives to this tab.

import { socketURL } from "./rpc.js";

const STORAGE_KEY = "portal.visitor";

export class Visitor {
  /** @type {Promise<string> | null} */ #pending = null;

  /** @param {string} base the portal's URL, with a trailing slash @param {typeof fetch} [request] @param {Storage} [storage] */
  constructor(base, request = (...args) => fetch(...args), storage = sessionStorage) {
    this.base = `${base}api/v1/`;
    this.request = request;
    this.storage = storage;
  }

  /** Returns the visitor id, a new one if renew is set. @param {boolean} [renew] @returns {Promise<string>} */
  id(renew = false) {
    if (renew) this.storage.removeItem(STORAGE_KEY);
    const known = this.storage.getItem(STORAGE_KEY);
    if (known) return Promise.resolve(known);
    this.#pending ??= this.#verify().finally(() => (this.#pending = null));
    return this.#pending;
  }

  async #verify() {
    const response = await this.request(`${this.base}auth/verify`, { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
    const { session_id: id } = await answerOf(response, "Access denied.");
    this.storage.setItem(STORAGE_KEY, id);
    return id;
  }

  /**
   * Sends a request. Rejects with what the portal says is wrong, or the error of fetch.
   * @param {"GET" | "POST"} method @param {string} path @param {unknown} [body] @returns {Promise<any>}
   */
  async call(method, path, body) {
    const first = await this.#send(method, path, body, await this.id());
    const response = first.status === 401 ? await this.#send(method, path, body, await this.id(true)) : first;
    return answerOf(response, `The portal returned status ${response.status}.`);
  }

  /** @param {string} method @param {string} path @param {unknown} body @param {string} id */
  #send(method, path, body, id) {
    const headers = { "X-Session-ID": id, ...(body === undefined ? {} : { "Content-Type": "application/json" }) };
    return this.request(this.base + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store" });
  }

  /** Returns the WebSocket URL of an operation. @param {string} operation @param {string} id @param {number} last */
  socket(operation, id, last) {
    return socketURL(this.base, `ws?${new URLSearchParams({ operation_id: operation, session_id: id, last_received_sequence: String(last) })}`);
  }
}

/** @param {Response} response @param {string} problem what is wrong, if the portal does not say it */
async function answerOf(response, problem) {
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error?.message ?? answer.error ?? problem);
  return answer;
}
