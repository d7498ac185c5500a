// The REST client for operations, with the visitor id that the portal gives to this tab.

const STORAGE_KEY = "portal.visitor";

/** A request that the portal answered with an error. */
class RequestError extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

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
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw new RequestError(response.status, answer.error?.message ?? answer.error ?? "Access denied.");
    this.storage.setItem(STORAGE_KEY, answer.session_id);
    return answer.session_id;
  }

  /**
   * Sends a request. Rejects with a RequestError, or the error of fetch.
   * @param {"GET" | "POST"} method @param {string} path @param {unknown} [body] @returns {Promise<any>}
   */
  async call(method, path, body) {
    const first = await this.#send(method, path, body, await this.id());
    const response = first.status === 401 ? await this.#send(method, path, body, await this.id(true)) : first;
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw new RequestError(response.status, answer.error?.message ?? answer.error ?? `The portal returned status ${response.status}.`);
    return answer;
  }

  /** @param {string} method @param {string} path @param {unknown} body @param {string} id */
  #send(method, path, body, id) {
    const headers = { "X-Session-ID": id, ...(body === undefined ? {} : { "Content-Type": "application/json" }) };
    return this.request(this.base + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store" });
  }

  /** Returns the WebSocket URL of an operation. @param {string} operation @param {string} id @param {number} last */
  socket(operation, id, last) {
    const url = new URL("ws", this.base);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.search = new URLSearchParams({ operation_id: operation, session_id: id, last_received_sequence: String(last) }).toString();
    return url.href;
  }
}
