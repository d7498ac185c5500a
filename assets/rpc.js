// The connection to the portal: one WebSocket for everything (spec/ui.md), which comes back by itself.

/**
 * @typedef {"connecting" | "open" | "offline"} State connecting: a call waits until it is open; offline: a call fails
 * @typedef {{method: string, params: Record<string, any>}} Notification
 * @typedef {{id: string | number, method: string, params: Record<string, any>}} Request
 *
 * @typedef {object} Options
 * @property {string} url ws: or wss:
 * @property {(state: State) => void} [onState]
 * @property {() => void} [onOpen] it is open, also after it was lost: sessions have to be attached to again
 * @property {(notification: Notification) => void} [onNotification]
 * @property {(request: Request) => void} [onRequest] to be answered by answer or refuse
 * @property {new (url: string) => WebSocket} [socket] what is used instead of the browser's, in tests
 * @property {() => boolean} [hidden] whether nobody looks at the page
 */

/** A call that failed. The code is a number of spec/ui.md, or "gone": the connection broke, or there is none. */
export class CallError extends Error {
  /** @param {number | "gone"} code @param {string} message @param {unknown} [data] */
  constructor(code, message, data) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** What this UI can do, as initialize tells it. */
export const CAPABILITIES = Object.fromEntries(
  ["confirm", "prompt", "pick", "forms", "deltas", "html", "permission_preview", "markdown", "images"].map((name) => [`supports_${name}`, true]),
);

const FIRST_DELAY = 300; // ms
const LAST_DELAY = 5000;
const HIDDEN_DELAY = 60_000; // nobody looks, but the title of the tab should come back some day
const PATIENCE = 10_000; // for the answer to a call that shows whether a silent connection lives
const SILENCE = 20_000;

/** Where the portal's WebSocket is, for a page at an address. @param {string} page */
export function socketURL(page) {
  const url = new URL("ui", page);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.hash = "";
  return url.href;
}

const lost = () => new CallError("gone", "The portal cannot be reached.");

/** A connection with calls in both directions. */
export class Connection {
  /** @type {State} */
  state = "connecting";
  /** What initialize told of the portal. @type {{name: string, version: string} | null} */
  server = null;

  /** @type {Options} */ #options;
  /** @type {WebSocket | null} */ #socket = null;
  /** Calls that wait for an answer, by id. @type {Map<number, {resolve: (result: any) => void, reject: (error: CallError) => void}>} */
  #pending = new Map();
  /** Calls that wait until it is open. @type {{send: () => void, reject: (error: CallError) => void}[]} */ #waiting = [];
  #lastID = 0;
  #failures = 0;
  #heard = 0; // when something came, ms
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #timer;
  #closed = false;

  /** @param {Options} options */
  constructor(options) {
    this.#options = options;
  }

  /** Connects, and goes on doing so until close. */
  open() {
    clearTimeout(this.#timer);
    const socket = new (this.#options.socket ?? WebSocket)(this.#options.url);
    this.#socket = socket;
    socket.onopen = () => void this.#begin(socket);
    socket.onmessage = (event) => this.#socket === socket && this.#take(event.data);
    socket.onclose = () => this.#socket === socket && this.#broke();
  }

  /** Ends it for good. */
  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#broke();
    socket?.close();
  }

  /** There is reason to believe that it may be had now (the network is back, somebody looks): it is tried at once. */
  wake() {
    if (this.#closed) return;
    if (!this.#socket) this.open();
    else if (this.state === "open" && Date.now() - this.#heard > SILENCE) this.#probe();
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
      else reject(lost());
    });
  }

  /** Answers a request of the portal. False if the connection is gone: the portal asks again. @param {string | number} id @param {unknown} result */
  answer(id, result) {
    return this.#send({ id, result });
  }

  /** Answers a request by an error. @param {string | number} id @param {number} code @param {string} message */
  refuse(id, code, message) {
    return this.#send({ id, error: { code, message } });
  }

  /** @param {string} method @param {Record<string, any>} params @param {(result: any) => void} resolve @param {(error: CallError) => void} reject */
  #call(method, params, resolve, reject) {
    const id = ++this.#lastID;
    this.#pending.set(id, { resolve, reject });
    if (!this.#send({ id, method, params })) {
      this.#pending.delete(id);
      reject(lost());
    }
  }

  /** @param {Record<string, any>} message */
  #send(message) {
    if (this.#socket?.readyState !== 1) return false;
    this.#socket.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
    return true;
  }

  /** Introduces the page; then it is open. @param {WebSocket} socket */
  async #begin(socket) {
    const params = { protocol_version: "0", client: { name: "portal page", version: "1" }, ui_capabilities: CAPABILITIES };
    try {
      const { server } = await new Promise((resolve, reject) => this.#call("initialize", params, resolve, reject));
      this.server = server;
    } catch {
      return socket.close();
    }
    if (this.#socket !== socket) return;
    this.#failures = 0;
    this.#turn("open");
    this.#options.onOpen?.();
    for (const { send } of this.#waiting.splice(0)) send();
  }

  /** @param {string} text */
  #take(text) {
    this.#heard = Date.now();
    const message = JSON.parse(text);
    if (message.method === undefined) this.#settle(message);
    else if (message.id === undefined) this.#options.onNotification?.({ params: {}, ...message });
    else this.#options.onRequest?.({ params: {}, ...message });
  }

  /** @param {{id: number, result?: any, error?: {code: number, message: string, data?: unknown}}} response */
  #settle({ id, result, error }) {
    const call = this.#pending.get(id);
    this.#pending.delete(id);
    if (error) call?.reject(new CallError(error.code, error.message, error.data));
    else call?.resolve(result);
  }

  #broke() {
    this.#socket = null;
    const calls = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of calls) reject(lost());
    this.#failures++;
    this.#turn(this.#failures > 1 || this.#closed ? "offline" : "connecting"); // a hiccup alarms nobody
    if (this.#closed) return;
    const delay = Math.min(FIRST_DELAY * 2 ** (this.#failures - 1), LAST_DELAY);
    const quiet = this.#failures > 3 && this.#options.hidden?.();
    this.#timer = setTimeout(() => this.open(), quiet ? HIDDEN_DELAY : delay);
  }

  /** A connection may be dead without anybody knowing, after the computer slept. */
  #probe() {
    const socket = this.#socket;
    const timer = setTimeout(() => {
      if (this.#socket !== socket) return;
      this.#broke(); // at once: the browser may wait long for a farewell
      socket?.close();
    }, PATIENCE);
    const done = () => clearTimeout(timer);
    this.#call("session.list", { limit: 1 }, done, done);
  }

  /** @param {State} state */
  #turn(state) {
    if (state === "offline") {
      for (const { reject } of this.#waiting.splice(0)) reject(lost());
    }
    if (this.state === state) return;
    this.state = state;
    this.#options.onState?.(state);
  }
}
