// The page's end of the channel to the frame of a generated interface. Nothing from the frame is trusted: it can send any message at any time.

/**
 * @typedef {"loading" | "shown" | "hung" | "navigated"} State navigated: the frame loaded another document
 * @typedef {{id: number, method: string, url: string, headers: [string, string][], body: ArrayBuffer}} Call
 * @typedef {{status: number, statusText: string, headers: [string, string][], body: ArrayBuffer}} Answer
 * @typedef {object} Options
 * @property {(message: Record<string, unknown>, transfer?: Transferable[]) => void} post sends a message to the frame
 * @property {(call: Call) => Promise<Answer>} call makes a call of the API
 * @property {() => void} onChange called when a public field changed
 * @property {string} script the code for the frame
 */

const MAX_UNANSWERED = 5; // ticks, not time: the whole machine may have been suspended
const MAX_WAITING = 50; // calls that wait for permission, or for others
const MAX_CALLS = 20; // at once
const MAX_TEXT = 2000; // characters of an error
const MAX_URL = 16_384; // characters
const MAX_BODY = 10 << 20; // bytes, as in the portal
const MAX_HEADERS = 100; // as in the portal

export class FrameChannel {
  /** @type {State} */ state = "loading";
  error = ""; // the first one
  link = ""; // the last one clicked
  /** Whether calls wait for permission. */
  needsPermission = false;

  /** @type {Options} */ #options;
  /** @type {boolean | undefined} */ #allowed;
  /** @type {Call[]} */ #waiting = [];
  #running = 0;
  #loads = 0;
  #ready = false;
  #lastPing = 0;
  #unanswered = 0; // ticks since the ping that has no answer; 0: there is none

  /** @param {Options} options */
  constructor(options) {
    this.#options = options;
  }

  /** Handles a load event. The first is that of the frame's own document; any other is a navigation. */
  loaded() {
    if (++this.#loads > 1) this.#setState("navigated");
  }

  /** Handles a message of the frame. @param {any} message */
  receive(message) {
    if (this.#isStopped() || typeof message !== "object" || message === null) return;
    switch (message.type) {
      case "ready":
        if (!this.#ready) this.#options.post({ type: "show", code: this.#options.script });
        this.#ready = true;
        break;
      case "shown":
        this.#setState("shown");
        break;
      case "pong":
        if (message.n === this.#lastPing) this.#unanswered = 0;
        break;
      case "failed":
        if (this.error) break;
        this.error = String(message.text).slice(0, MAX_TEXT) || "Error";
        this.#options.onChange();
        break;
      case "link":
        this.link = String(message.url).slice(0, MAX_TEXT);
        this.#options.onChange();
        break;
      case "call":
        this.#handleCall(message);
        break;
      case "abort":
        this.#waiting = this.#waiting.filter(({ id }) => id !== message.id);
        this.#proceed();
        break;
      default: // unknown messages are ignored
    }
  }

  /** Pings the frame; called about once a second. */
  tick() {
    if (this.#isStopped() || !this.#ready) return;
    if (this.#unanswered >= MAX_UNANSWERED) return this.#setState("hung");
    if (this.#unanswered++ > 0) return;
    this.#options.post({ type: "ping", n: ++this.#lastPing });
  }

  /** Forgets the pending ping: the page was suspended. */
  resetPing() {
    this.#unanswered = 0;
  }

  /** Drops the waiting calls: the frame was removed. */
  drop() {
    this.#waiting = [];
    this.#proceed();
  }

  /** Sets the user's decision about calls; undefined: none yet. @param {boolean | undefined} allowed */
  setAllowed(allowed) {
    this.#allowed = allowed;
    this.#proceed();
  }

  /** @param {Call} call */
  #handleCall(call) {
    if (!isCall(call)) return this.#refuse(call, "Invalid call.");
    if (this.#waiting.length >= MAX_WAITING) return this.#refuse(call, "Too many calls of this interface are waiting.");
    this.#waiting.push(call);
    this.#proceed();
  }

  /** @param {Call} call @param {string} error */
  #refuse({ id }, error) {
    this.#options.post({ type: "answer", id, error });
  }

  /** Starts or refuses the waiting calls, or asks for permission. */
  #proceed() {
    while (this.#allowed && this.#running < MAX_CALLS && this.#waiting.length > 0) void this.#run(/** @type {Call} */ (this.#waiting.shift()));
    if (this.#allowed === false) for (const call of this.#waiting.splice(0)) this.#refuse(call, "You have not allowed this interface to call its API.");
    const needsPermission = this.#allowed === undefined && this.#waiting.length > 0;
    if (this.needsPermission === needsPermission) return;
    this.needsPermission = needsPermission;
    this.#options.onChange();
  }

  /** @param {Call} call */
  async #run(call) {
    this.#running++;
    try {
      const answer = await this.#options.call(call);
      if (!this.#isStopped()) this.#options.post({ type: "answer", id: call.id, ...answer }, [answer.body]);
    } catch (error) {
      if (!this.#isStopped()) this.#options.post({ type: "answer", id: call.id, error: error instanceof Error ? error.message : String(error) });
    }
    this.#running--;
    this.#proceed();
  }

  #isStopped() {
    return this.state === "hung" || this.state === "navigated";
  }

  /** @param {State} state */
  #setState(state) {
    if (this.state === state || this.#isStopped()) return;
    this.state = state;
    if (this.#isStopped()) {
      this.#waiting = [];
      this.needsPermission = false;
    }
    this.#options.onChange();
  }
}

/** @param {any} call */
function isCall({ id, method, url, headers, body }) {
  return Number.isInteger(id) && typeof method === "string" && typeof url === "string" && url.length <= MAX_URL && body instanceof ArrayBuffer
    && body.byteLength <= MAX_BODY && Array.isArray(headers) && headers.length <= MAX_HEADERS
    && headers.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === "string"));
}
