// The connection to the portal: one WebSocket (spec/ui.md) that reconnects automatically.

/**
 * @typedef {"connecting" | "open" | "offline"} State connecting: calls wait until it is open; offline: calls fail
 * @typedef {{method: string, params: Record<string, any>}} Notification
 * @typedef {{id: string | number, method: string, params: Record<string, any>}} Request
 *
 * @typedef {object} Options
 * @property {string} url ws: or wss:
 * @property {(state: State) => void} [onState]
 * @property {() => void} [onOpen] called after each (re)connect: sessions must be attached again
 * @property {(notification: Notification) => void} [onNotification]
 * @property {(request: Request) => void} [onRequest] must be answered with answer or reject
 * @property {new (url: string) => WebSocket} [socket] replaces the browser's WebSocket in tests
 * @property {() => boolean} [hidden] whether the page is hidden
 */

/** A failed call. The code is a number of spec/ui.md, or "gone" if there is no connection. */
export class CallError extends Error {
  /** @param {number | "gone"} code @param {string} message @param {unknown} [data] */
  constructor(code, message, data) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The capabilities this UI declares in initialize. */
const CAPABILITIES = Object.fromEntries(
  ["confirm", "prompt", "pick", "forms", "deltas", "html", "html_changes", "permission_preview", "markdown", "images"].map((name) => [`supports_${name}`, true]),
);

const FIRST_DELAY = 300; // ms
const LAST_DELAY = 5000;
const HIDDEN_DELAY = 60_000; // in a hidden page, whose title still needs updates
const PROBE_TIMEOUT = 10_000;
const PROBE_AFTER = 20_000; // of silence

/** Returns the URL of a WebSocket of the portal. @param {string} page the page's URL @param {string} [path] */
export function socketURL(page, path = "ui") {
  const url = new URL(path, page);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.hash = "";
  return url.href;
}

/**
 * Returns a function that is true once for each connection, when it is open. A reconnect can happen between two calls.
 * @param {Pick<Connection, "state" | "server">} rpc
 */
export function newConnections(rpc) {
  /** @type {Connection["server"]} */
  let last = null;
  return () => {
    if (rpc.state !== "open" || rpc.server === last) return false;
    last = rpc.server;
    return true;
  };
}

/** What a call says that fails with "gone". */
export const UNREACHABLE = "Can't reach the portal.";
const unreachable = () => new CallError("gone", UNREACHABLE);

/** Reports whether a call failed because there is no connection. It may have reached the portal nevertheless. @param {unknown} error */
export const isGone = (error) => error instanceof CallError && error.code === "gone";

/** A JSON-RPC connection with calls in both directions. */
export class Connection {
  /** @type {State} */
  state = "connecting";
  /** The portal's name and version, from initialize. @type {{name: string, version: string} | null} */
  server = null;

  /** @type {Options} */ #options;
  /** @type {WebSocket | null} */ #socket = null;
  /** Calls without a response yet, by id. @type {Map<number, {resolve: (result: any) => void, reject: (error: CallError) => void}>} */
  #pending = new Map();
  /** Calls to send once it is open. @type {{send: () => void, reject: (error: CallError) => void}[]} */ #waiting = [];
  #lastID = 0;
  #failures = 0;
  #lastMessageAt = 0; // ms
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #timer;
  #closed = false;

  /** @param {Options} options */
  constructor(options) {
    this.#options = options;
  }

  /** Connects, and reconnects until close. */
  open() {
    clearTimeout(this.#timer);
    const socket = new (this.#options.socket ?? WebSocket)(this.#options.url);
    this.#socket = socket;
    socket.onopen = () => void this.#initialize(socket);
    socket.onmessage = (event) => this.#socket === socket && this.#receive(event.data);
    socket.onclose = () => this.#socket === socket && this.#handleClose();
  }

  /** Closes it for good. */
  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#handleClose();
    socket?.close();
  }

  /** Checks the connection now: the network is back or the page became visible. */
  check() {
    if (this.#closed) return;
    if (!this.#socket) this.open();
    else if (this.state === "open" && Date.now() - this.#lastMessageAt > PROBE_AFTER) this.#probe();
  }

  /**
   * Calls a method of the portal. Rejects with a CallError.
   * @param {string} method @param {Record<string, any>} [params] @returns {Promise<any>}
   */
  call(method, params = {}) {
    return new Promise((resolve, reject) => {
      const send = () => this.#call(method, params, resolve, reject);
      if (this.state === "open") send();
      else if (this.state === "connecting") this.#waiting.push({ send, reject });
      else reject(unreachable());
    });
  }

  /** Answers a request of the portal. Returns false without a connection; the portal then asks again. @param {string | number} id @param {unknown} result */
  answer(id, result) {
    return this.#send({ id, result });
  }

  /** Answers a request with an error. @param {string | number} id @param {number} code @param {string} message */
  reject(id, code, message) {
    return this.#send({ id, error: { code, message } });
  }

  /** @param {string} method @param {Record<string, any>} params @param {(result: any) => void} resolve @param {(error: CallError) => void} reject */
  #call(method, params, resolve, reject) {
    const id = ++this.#lastID;
    this.#pending.set(id, { resolve, reject });
    if (!this.#send({ id, method, params })) {
      this.#pending.delete(id);
      reject(unreachable());
    }
  }

  /** @param {Record<string, any>} message */
  #send(message) {
    if (this.#socket?.readyState !== 1) return false;
    this.#socket.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
    return true;
  }

  /** Initializes the session with the portal and opens the connection. @param {WebSocket} socket */
  async #initialize(socket) {
    const params = { protocol_version: "0", client: { name: "portal page", version: "1" }, ui_capabilities: CAPABILITIES };
    try {
      const { server } = await new Promise((resolve, reject) => this.#call("initialize", params, resolve, reject));
      this.server = server;
    } catch {
      return socket.close();
    }
    if (this.#socket !== socket) return;
    this.#failures = 0;
    this.#setState("open");
    this.#options.onOpen?.();
    for (const { send } of this.#waiting.splice(0)) send();
  }

  /** @param {string} text */
  #receive(text) {
    this.#lastMessageAt = Date.now();
    const message = JSON.parse(text);
    if (message.method === undefined) this.#settleCall(message);
    else if (message.id === undefined) this.#options.onNotification?.({ params: {}, ...message });
    else this.#options.onRequest?.({ params: {}, ...message });
  }

  /** @param {{id: number, result?: any, error?: {code: number, message: string, data?: unknown}}} response */
  #settleCall({ id, result, error }) {
    const call = this.#pending.get(id);
    this.#pending.delete(id);
    if (error) call?.reject(new CallError(error.code, error.message, error.data));
    else call?.resolve(result);
  }

  #handleClose() {
    this.#socket = null;
    const calls = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of calls) reject(unreachable());
    this.#failures++;
    this.#setState(this.#failures > 1 || this.#closed ? "offline" : "connecting"); // a short interruption is not reported
    if (this.#closed) return;
    const delay = Math.min(FIRST_DELAY * 2 ** (this.#failures - 1), LAST_DELAY);
    const isIdle = this.#failures > 3 && this.#options.hidden?.();
    this.#timer = setTimeout(() => this.open(), isIdle ? HIDDEN_DELAY : delay);
  }

  /** Finds out whether the connection is dead, as after the computer slept. */
  #probe() {
    const socket = this.#socket;
    const timer = setTimeout(() => {
      if (this.#socket !== socket) return;
      this.#handleClose(); // now: the browser may take long to close it
      socket?.close();
    }, PROBE_TIMEOUT);
    const done = () => clearTimeout(timer);
    this.#call("session.list", { limit: 1 }, done, done);
  }

  /** @param {State} state */
  #setState(state) {
    if (state === "offline") {
      for (const { reject } of this.#waiting.splice(0)) reject(unreachable());
    }
    if (this.state === state) return;
    this.state = state;
    this.#options.onState?.(state);
  }
}
