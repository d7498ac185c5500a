// What is told of an operation, and the connection that tells it: a WebSocket of its own, which comes back by itself and goes on
// where it was (spec/operations.md). Pure but for the Watch.

/**
 * @typedef {"thinking" | "execution" | "error" | "complete" | "system"} Type
 * @typedef {{id?: string, operation_id: string, sequence: number, type: Type, content: string, timestamp: string, sender: string,
 *   metadata?: {subsection?: string, priority?: string}}} Message
 *
 * What is shown: thoughts that follow each other are one entry.
 * @typedef {{key: number, type: Type, section: string, lines: string[], at: string}} Entry
 *
 * @typedef {{last: number, entries: Entry[], done: boolean, skipped: number}} Told last: the newest sequence; done: nothing more
 *   comes; skipped: thoughts that this connection was too slow for
 *
 * @typedef {{operation_id: string, type: string, feature?: string, status: string, progress: number, message?: string, created_at: string,
 *   completed_at?: string, working_directory?: string, model?: string, copilot_session_id?: string, error?: string,
 *   result?: {document?: string, persisted?: {path: string, commit?: string}}}} Operation
 */

/** Nothing told yet. @returns {Told} */
export const newTold = () => ({ last: -1, entries: [], done: false, skipped: 0 });

/**
 * Takes a message; false if it is a notice, or known already.
 * @param {Told} told @param {Message} message
 */
export function take(told, message) {
  const { sequence, type, content, timestamp, metadata } = message;
  if (sequence <= told.last) return false;
  told.skipped += sequence - told.last - 1;
  told.last = sequence;
  const section = metadata?.subsection ?? "";
  const before = told.entries.at(-1);
  if (type === "thinking" && before?.type === "thinking" && before.section === section) before.lines.push(content);
  else told.entries.push({ key: sequence, type, section, lines: [content], at: timestamp });
  if (type === "complete") told.done = true;
  return true;
}

/** The words for types of operations. @type {Record<string, string>} */
export const TYPES = { clarify: "Clarify", analyze: "Analyze", plan: "Plan", prompt: "Prompt" };

/** Whether it goes on. @param {string} status */
export const isOpen = (status) => status === "pending" || status === "running";

const FIRST_DELAY = 300; // ms
const LAST_DELAY = 5000;
const SILENCE = 45_000; // the portal says something every 20 s

/** What ends a watch for good, by the code of the close. @type {Record<number, string>} */
const REFUSALS = { 4404: "There is no such operation any more.", 4400: "The portal does not understand the request.", 4429: "Too many windows are open on operations." };

/**
 * A connection to an operation. `onMessage` gets messages and notices as they come, each perhaps twice after it was lost.
 * @typedef {object} WatchOptions
 * @property {(visitor: string, last: number) => string} url
 * @property {(renew: boolean) => Promise<string>} visitor the id of a session of clients; another one, if it is to be renewed
 * @property {() => number} last the newest sequence that is known
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

  /** Connects, and goes on doing so until the operation is complete, or close. @param {boolean} [renew] */
  async open(renew = false) {
    let visitor;
    try {
      visitor = await this.#options.visitor(renew);
    } catch {
      return this.#again();
    }
    if (this.#closed) return;
    const socket = new (this.#options.socket ?? WebSocket)(this.#options.url(visitor, this.#options.last()), "portal.v1");
    this.#socket = socket;
    socket.onopen = () => {
      this.#failures = 0;
      this.#options.onState("open", "");
      this.#listen();
    };
    socket.onmessage = (event) => this.#socket === socket && this.#take(event.data);
    socket.onclose = ({ code }) => this.#socket === socket && this.#broke(code);
  }

  /** Ends it for good. */
  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    this.#socket?.close();
    this.#socket = null;
  }

  /** @param {string} text */
  #take(text) {
    this.#listen();
    const message = JSON.parse(text);
    if (message.type === "complete") this.#complete = true;
    this.#options.onMessage(message);
  }

  /** A connection that is silent is dead, though nobody has said so. */
  #listen() {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      const socket = this.#socket;
      this.#broke(1006);
      socket?.close();
    }, SILENCE);
  }

  /** @param {number} code */
  #broke(code) {
    this.#socket = null;
    clearTimeout(this.#silence);
    if (this.#closed) return;
    if (this.#complete || code in REFUSALS) {
      this.#closed = true;
      return this.#options.onState("ended", this.#complete ? "" : REFUSALS[code]);
    }
    this.#again(code === 4401);
  }

  #again(renew = false) {
    if (this.#closed) return;
    this.#options.onState("lost", "");
    const delay = Math.min(FIRST_DELAY * 2 ** this.#failures++, LAST_DELAY);
    this.#timer = setTimeout(() => void this.open(renew), delay);
  }
}
