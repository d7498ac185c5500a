// The page's side of what it and the frame of a generated interface say to each other. Nothing that comes from the frame is trusted:
// it can say something at any time, and whatever it likes.

/**
 * @typedef {"loading" | "shown" | "bare" | "hung" | "gone"} State bare: the portal was built without React; gone: the frame has left for somewhere
 * @typedef {{id: number, method: string, url: string, headers: [string, string][], body: ArrayBuffer}} Call
 * @typedef {{status: number, statusText: string, headers: [string, string][], body: ArrayBuffer}} Answer
 * @typedef {object} Options
 * @property {(message: Record<string, unknown>, transfer?: Transferable[]) => void} post says something to the frame
 * @property {(call: Call) => Promise<Answer>} call makes a call of the API
 * @property {() => void} onChange something of what is below is different
 * @property {string} script what the frame is to run
 */

const PATIENCE = 5000; // ms, for the answer to a ping
const MOST_WAITING = 50; // calls that wait for the user
const MOST_CALLS = 20; // at the same time
const MOST_TEXT = 2000; // of an error
const MOST_URL = 16_384; // characters
const MOST_BODY = 10 << 20; // bytes, and no more headers, than the portal takes
const MOST_HEADERS = 100;

export class FrameTalk {
  /** @type {State} */ state = "loading";
  error = ""; // the first that the code had
  link = ""; // where it wanted to lead
  /** Whether calls wait for the user's decision. */
  asks = false;

  /** @type {Options} */ #options;
  /** @type {boolean | undefined} */ #allowed;
  /** @type {Call[]} */ #waiting = [];
  #running = 0;
  #loads = 0;
  #ready = false;
  #lastPing = 0;
  #since = 0; // when the oldest ping without an answer was sent; 0: none is

  /** @param {Options} options */
  constructor(options) {
    this.#options = options;
  }

  /** The frame has loaded a document: its own at first, and it has no business to load another. */
  loaded() {
    if (++this.#loads > 1) this.#turn("gone");
  }

  /** Takes what the frame says. @param {any} message */
  take(message) {
    if (this.#over() || typeof message !== "object" || message === null) return;
    switch (message.type) {
      case "ready":
        if (!this.#ready) this.#options.post({ type: "show", code: this.#options.script });
        this.#ready = true;
        break;
      case "bare":
        this.#turn("bare");
        break;
      case "shown":
        this.#turn("shown");
        break;
      case "pong":
        if (message.n === this.#lastPing) this.#since = 0;
        break;
      case "failed":
        if (this.error) break;
        this.error = String(message.text).slice(0, MOST_TEXT) || "Error";
        this.#options.onChange();
        break;
      case "link":
        this.link = String(message.url).slice(0, MOST_TEXT);
        this.#options.onChange();
        break;
      case "call":
        this.#ask(message);
        break;
      default: // it says nothing to us
    }
  }

  /** Asks whether the frame lives, about every second. @param {number} now */
  tick(now) {
    if (this.#over() || !this.#ready) return;
    if (this.#since && now - this.#since >= PATIENCE) return this.#turn("hung");
    if (this.#since) return;
    this.#since = now;
    this.#options.post({ type: "ping", n: ++this.#lastPing });
  }

  /** The page slept, so that nobody could answer. */
  rested() {
    this.#since = 0;
  }

  /** What the user has decided about calls; undefined: nothing yet. @param {boolean | undefined} allowed */
  decide(allowed) {
    this.#allowed = allowed;
    if (allowed === undefined) return;
    const asked = this.asks;
    this.asks = false;
    if (asked) this.#options.onChange();
    for (const call of this.#waiting.splice(0)) this.#ask(call);
  }

  /** @param {Call} call */
  #ask(call) {
    const refuse = (/** @type {string} */ error) => this.#options.post({ type: "answer", id: call.id, error });
    if (!isCall(call)) return refuse("This is no call that can be made.");
    if (this.#allowed === false) return refuse("You have not allowed this interface to call its API.");
    if (this.#allowed === undefined) {
      if (this.#waiting.length >= MOST_WAITING) return refuse("Too many calls wait until you allow them.");
      this.#waiting.push(call);
      if (this.asks) return;
      this.asks = true;
      return this.#options.onChange();
    }
    if (this.#running >= MOST_CALLS) return refuse("This interface makes too many calls at the same time.");
    void this.#make(call);
  }

  /** @param {Call} call */
  async #make(call) {
    this.#running++;
    try {
      const answer = await this.#options.call(call);
      if (!this.#over()) this.#options.post({ type: "answer", id: call.id, ...answer }, [answer.body]);
    } catch (error) {
      if (!this.#over()) this.#options.post({ type: "answer", id: call.id, error: error instanceof Error ? error.message : String(error) });
    }
    this.#running--;
  }

  #over() {
    return this.state === "hung" || this.state === "gone" || this.state === "bare";
  }

  /** @param {State} state */
  #turn(state) {
    if (this.state === state || this.#over()) return;
    this.state = state;
    if (this.#over()) {
      this.#waiting = [];
      this.asks = false;
    }
    this.#options.onChange();
  }
}

/** @param {any} call */
function isCall({ id, method, url, headers, body }) {
  return Number.isInteger(id) && typeof method === "string" && typeof url === "string" && url.length <= MOST_URL && body instanceof ArrayBuffer
    && body.byteLength <= MOST_BODY && Array.isArray(headers) && headers.length <= MOST_HEADERS
    && headers.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === "string"));
}

/** @param {ArrayBuffer} buffer */
export function toBase64(buffer) {
  const bytes = new Uint8Array(buffer);
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

/** @param {string} text @returns {ArrayBuffer} */
export const fromBase64 = (text) => /** @type {ArrayBuffer} */ (Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0)).buffer);
