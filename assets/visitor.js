// Requests about operations: with the id of a session of clients, which the portal gives to this page.

const KEPT = "portal.visitor"; // in the browser's storage, for this tab

/** What the portal says against a request. */
export class RequestError extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export class Visitor {
  /** @type {Promise<string> | null} */ #asking = null;

  /** @param {string} base where the portal is, with a slash at its end @param {typeof fetch} [ask] @param {Storage} [storage] */
  constructor(base, ask = (...args) => fetch(...args), storage = sessionStorage) {
    this.base = `${base}api/v1/`;
    this.ask = ask;
    this.storage = storage;
  }

  /** The id; another one, if the one before is not good any more. @param {boolean} [renew] @returns {Promise<string>} */
  id(renew = false) {
    if (renew) this.storage.removeItem(KEPT);
    const known = this.storage.getItem(KEPT);
    if (known) return Promise.resolve(known);
    this.#asking ??= this.#verify().finally(() => (this.#asking = null));
    return this.#asking;
  }

  async #verify() {
    const response = await this.ask(`${this.base}auth/verify`, { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw new RequestError(response.status, answer.error?.message ?? answer.error ?? "The portal gives no access.");
    this.storage.setItem(KEPT, answer.session_id);
    return answer.session_id;
  }

  /**
   * Asks for something. Rejects with a RequestError, or what fetch fails with.
   * @param {"GET" | "POST"} method @param {string} path @param {unknown} [body] @returns {Promise<any>}
   */
  async call(method, path, body) {
    const first = await this.#send(method, path, body, await this.id());
    const response = first.status === 401 ? await this.#send(method, path, body, await this.id(true)) : first;
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw new RequestError(response.status, answer.error?.message ?? answer.error ?? `The portal answered ${response.status}.`);
    return answer;
  }

  /** @param {string} method @param {string} path @param {unknown} body @param {string} id */
  #send(method, path, body, id) {
    const headers = { "X-Session-ID": id, ...(body === undefined ? {} : { "Content-Type": "application/json" }) };
    return this.ask(this.base + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store" });
  }

  /** Where an operation is watched. @param {string} operation @param {string} id @param {number} last */
  socket(operation, id, last) {
    const url = new URL("ws", this.base);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.search = new URLSearchParams({ operation_id: operation, session_id: id, last_received_sequence: String(last) }).toString();
    return url.href;
  }
}
