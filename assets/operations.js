// The log of an operation, and the WebSocket it comes from, which reconnects and resumes automatically (spec/operations.md).

/**
 * @typedef {"thinking" | "execution" | "error" | "complete" | "system"} Type
 * @typedef {{id?: string, operation_id: string, sequence: number, type: Type, content: string, timestamp: string, sender: string,
 *   metadata?: {subsection?: string, priority?: string}}} Message
 *
 * An entry of the log. Consecutive thoughts are one entry.
 * @typedef {{key: number, type: Type, section: string, lines: string[], at: string}} Entry
 *
 * @typedef {{last: number, entries: Entry[], done: boolean, skipped: number}} Log last: the newest sequence; done: it is complete;
 *   skipped: thoughts that this connection was too slow for
 *
 * @typedef {{operation_id: string, type: string, feature?: string, status: string, progress: number, message?: string, created_at: string,
 *   completed_at?: string, working_directory?: string, model?: string, copilot_session_id?: string, error?: string,
 *   result?: {document?: string, persisted?: {path: string, commit?: string}}}} Operation
 */

/** @returns {Log} */
export const newLog = () => ({ last: -1, entries: [], done: false, skipped: 0 });

/**
 * Reports whether a message is the first of all. The portal sends it again only if it does not have the newest message that the page has, because it lost
 * what followed; then it replays everything.
 * @param {Message} message
 */
export const isFirst = ({ sequence }) => sequence === 0;

/**
 * Appends a message; the first one replaces the log. Returns false for a notice or a known message.
 * @param {Log} log @param {Message} message
 */
export function append(log, message) {
  const { sequence, type, content, timestamp, metadata } = message;
  if (isFirst(message)) Object.assign(log, newLog());
  if (sequence <= log.last) return false;
  log.skipped += sequence - log.last - 1;
  log.last = sequence;
  const section = metadata?.subsection ?? "";
  const before = log.entries.at(-1);
  if (type === "thinking" && before?.type === "thinking" && before.section === section) before.lines.push(content);
  else log.entries.push({ key: sequence, type, section, lines: [content], at: timestamp });
  if (type === "complete") log.done = true;
  return true;
}

/** Names of operation types. @type {Record<string, string>} */
export const TYPES = { clarify: "Clarify", analyze: "Analyze", plan: "Plan", prompt: "Prompt" };

/** Reports whether an operation has not ended. @param {string} status */
export const isOpen = (status) => status === "pending" || status === "running";

const FIRST_DELAY = 300; // ms
const LAST_DELAY = 5000;
const MAX_SILENCE = 45_000; // the portal sends something every 20 s

/** Why a watch ends for good if its operation does not exist. */
export const GONE = "This operation no longer exists.";

/** Close codes that end a watch for good. @type {Record<number, string>} */
const FINAL_CODES = { 4404: GONE, 4400: "The portal rejected the request.", 4403: "This page may not watch the operation.", 4429: "Too many windows are watching operations." };

/**
 * A connection to an operation. After a reconnect, `onMessage` may get a message again.
 * @typedef {object} WatchOptions
 * @property {(visitor: string, last: number) => string} url
 * @property {(renew: boolean) => Promise<string>} visitor returns the visitor id, a new one if renew is set
 * @property {() => number} last the newest known sequence
 * @property {(message: Message) => void} onMessage
 * @property {(state: "open" | "lost" | "ended", why: string) => void} onState
 * @property {new (url: string, protocol: string) => WebSocket} [socket]
 */
export class Watch {
  /** @type {WatchOptions} */ #options;
  /** @type {WebSocket | null} */ #socket = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #timer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #silence;
  #failures = 0;
  #closed = false;
  #complete = false;

  /** @param {WatchOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /** Connects, and reconnects until the operation is complete or close is called. @param {boolean} [renew] */
  async open(renew = false) {
    let visitor;
    try {
      visitor = await this.#options.visitor(renew);
    } catch {
      return this.#reconnect();
    }
    if (this.#closed) return;
    const socket = new (this.#options.socket ?? WebSocket)(this.#options.url(visitor, this.#options.last()), "portal.v1");
    this.#socket = socket;
    socket.onopen = () => {
      this.#failures = 0;
      this.#options.onState("open", "");
      this.#resetSilence();
    };
    socket.onmessage = (event) => this.#socket === socket && this.#receive(event.data);
    socket.onclose = ({ code }) => this.#socket === socket && this.#handleClose(code);
  }

  /** Closes it for good. */
  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    this.#socket?.close();
    this.#socket = null;
  }

  /** @param {string} text */
  #receive(text) {
    this.#resetSilence();
    const message = JSON.parse(text);
    if (message.type === "complete") this.#complete = true;
    this.#options.onMessage(message);
  }

  /** Restarts the timer that treats a silent connection as dead. */
  #resetSilence() {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      const socket = this.#socket;
      this.#handleClose(1006);
      socket?.close();
    }, MAX_SILENCE);
  }

  /** @param {number} code */
  #handleClose(code) {
    this.#socket = null;
    clearTimeout(this.#silence);
    if (this.#closed) return;
    if (this.#complete || code in FINAL_CODES) {
      this.#closed = true;
      return this.#options.onState("ended", this.#complete ? "" : FINAL_CODES[code]);
    }
    this.#reconnect(code === 4401);
  }

  #reconnect(renew = false) {
    if (this.#closed) return;
    this.#options.onState("lost", "");
    const delay = Math.min(FIRST_DELAY * 2 ** this.#failures++, LAST_DELAY);
    this.#timer = setTimeout(() => void this.open(renew), delay);
  }
}
