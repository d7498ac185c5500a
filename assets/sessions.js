// The sessions the page is attached to. Their states survive lost connections: no event is missed or applied twice.

import { prependPast } from "./prepend.js";
import { isGone } from "./rpc.js";
import { apply, applyInfo, newSession, setDetached } from "./store.js";

/** @typedef {import("./store.js").Session} Session @typedef {import("./store.js").Message} Message */

/**
 * A session that is, or was, attached.
 * @typedef {object} Entry
 * @property {Session} session
 * @property {boolean} isShown a view shows it
 * @property {boolean} attached the portal sends its events
 * @property {Message[] | null} buffer messages that arrive while attaching: they follow the result
 * @property {Promise<Session> | null} attaching
 * @property {Promise<boolean> | null} loading earlier items
 * @property {Promise<unknown>} detaching the portal handles calls concurrently, so attaching waits for it
 * @property {boolean} known it was attached before
 * @property {number} closedCount how often in a row it was closed when attached, although it was listed as open
 */

const MAX_CACHED = 8; // states kept of sessions that no view shows
const MAX_CLOSED = 3; // after which a session is not attached because it is listed as open
const PAGE = { max_runs: 200, max_events: 300 }; // of the past per call: the end is shown first, the rest on demand

export class Sessions {
  /** @type {Map<string, Entry>} */ #entries = new Map();

  /**
   * @param {{call: (method: string, params: Record<string, any>) => Promise<any>}} rpc
   * @param {(session: Session) => void} onChange it changed, or was replaced by a new object
   * @param {(id: string, error: import("./rpc.js").CallError) => void} onFail a shown session is no longer available
   * @param {() => number} [clock] ms
   */
  constructor(rpc, onChange, onFail, clock = Date.now) {
    this.rpc = rpc;
    this.onChange = onChange;
    this.onFail = onFail;
    this.clock = clock;
  }

  /** Attaches to a session and returns its state. Rejects with a CallError. @param {string} id @returns {Promise<Session>} */
  open(id) {
    let entry = this.#entries.get(id);
    if (!entry) {
      entry = { session: newSession({ session_id: id }), isShown: true, attached: false, buffer: null, attaching: null, loading: null, detaching: Promise.resolve(), known: false, closedCount: 0 };
    }
    entry.isShown = true;
    this.#entries.delete(id); // moves it to the end: least recently used come first
    this.#entries.set(id, entry);
    if (entry.attached) return Promise.resolve(entry.session);
    return this.#attach(id, entry);
  }

  /** Returns the current state, if it was ever attached. @param {string} id */
  get(id) {
    const entry = this.#entries.get(id);
    return entry?.known ? entry.session : undefined;
  }

  /** Detaches: no view shows it any more. @param {string} id */
  release(id) {
    const entry = this.#entries.get(id);
    if (!entry) return;
    entry.isShown = false;
    if (entry.attached) this.#detach(id, entry);
    for (const [old, { isShown }] of [...this.#entries].slice(0, -MAX_CACHED)) {
      if (!isShown) this.#entries.delete(old);
    }
  }

  /** Forgets a deleted session. @param {string} id */
  forget(id) {
    this.#entries.delete(id);
  }

  /** Handles the loss of the connection. */
  disconnected() {
    for (const entry of this.#entries.values()) {
      entry.attached = false;
      entry.buffer = null;
      setDetached(entry.session);
      if (entry.isShown) this.onChange(entry.session);
    }
  }

  /** Attaches to all shown sessions again. */
  async reconnected() {
    const shown = [...this.#entries].filter(([, entry]) => entry.isShown && !entry.attached);
    await Promise.all(shown.map(([id, entry]) => this.#attachOrFail(id, entry)));
  }

  /** Handles a message. Returns false if its session is not attached. @param {Message} message */
  receive(message) {
    const { meta, session_id, session } = message.params;
    const id = meta?.session_id ?? session_id ?? session?.session_id;
    const entry = this.#entries.get(id);
    if (!entry) return false;
    if (message.method === "portal.session.reset") {
      void this.#reset(entry);
      return true;
    }
    if (isListed(message) && !isOpened(message)) entry.closedCount = 0;
    if (entry.buffer) {
      entry.buffer.push(message);
      return true;
    }
    if (!entry.attached || (entry.session.state === "closed" && isListed(message))) {
      if (entry.isShown && isReopened(entry, message)) this.#follow(id, entry);
      return false;
    }
    apply(entry.session, message, this.clock());
    if (message.method === "portal.session.closed") entry.attached = false;
    this.onChange(entry.session);
    return true;
  }

  /**
   * Replaces what is shown of a session, because the portal has lost the end of it.
   * @param {Entry} entry
   */
  async #reset(entry) {
    await entry.attaching?.catch(() => {});
    entry.attached = false;
    setDetached(entry.session);
    await this.reconnected();
  }

  /**
   * Attaches to a shown session again, such as one that was opened again. If a prompt of this page did so, the portal already sends the events of
   * that run, and must stop first: attaching brings all of them since the cursor.
   * @param {string} id @param {Entry} entry
   */
  #follow(id, entry) {
    if (entry.attaching) return;
    this.#detach(id, entry);
    void this.#attachOrFail(id, entry);
  }

  /** @param {string} id @param {Entry} entry */
  #attachOrFail(id, entry) {
    return this.#attach(id, entry).catch((error) => {
      if (!isGone(error)) this.onFail(id, error);
    });
  }

  /** @param {string} id @param {Entry} entry */
  #attach(id, entry) {
    entry.attaching ??= this.#attachNow(id, entry).finally(() => (entry.attaching = null));
    return entry.attaching;
  }

  /** @param {string} id @param {Entry} entry @returns {Promise<Session>} */
  async #attachNow(id, entry) {
    await entry.detaching;
    const after = entry.session.cursor;
    /** @type {Message[]} */
    const buffer = (entry.buffer = []);
    let result;
    try {
      result = await this.rpc.call("portal.session.attach", { session_id: id, ...PAGE, ...(after && { after }) });
    } finally {
      if (entry.buffer === buffer) entry.buffer = null;
    }
    this.#attached(entry, result, buffer, after !== "");
    entry.closedCount = entry.session.state === "closed" ? entry.closedCount + 1 : 0;
    const listed = buffer.filter(isListed).at(-1);
    const again = entry.closedCount > 0 && listed !== undefined && isReopened(entry, listed); // it was opened meanwhile
    if (again || !entry.isShown) this.#detach(id, entry);
    return again && entry.isShown ? this.#attachNow(id, entry) : entry.session;
  }

  /** @param {Entry} entry @param {any} result @param {Message[]} buffer @param {boolean} resumed */
  #attached(entry, result, buffer, resumed) {
    if (!resumed || result.reset) {
      entry.session = newSession({ ...result.session, state: undefined });
      setEarlier(entry.session, result);
    }
    for (const message of buffer) apply(entry.session, message, this.clock());
    applyInfo(entry.session, result.session);
    entry.attached = entry.known = true;
    this.onChange(entry.session);
  }

  /**
   * Loads earlier items. Returns false if there are none available.
   * @param {string} id @returns {Promise<boolean>}
   */
  earlier(id) {
    const entry = this.#entries.get(id);
    if (entry?.attaching) return entry.attaching.then(() => this.earlier(id), () => false);
    if (!entry?.session.earlier) return Promise.resolve(false);
    entry.loading ??= this.#loadEarlier(id, entry).finally(() => (entry.loading = null));
    return entry.loading;
  }

  /** Replaces a state whose first items were dropped by one that can load them again. @param {string} id */
  restart(id) {
    const entry = this.#entries.get(id);
    if (!entry || entry.attaching) return;
    entry.session.cursor = "";
    this.#follow(id, entry);
  }

  /** @param {string} id @param {Entry} entry */
  async #loadEarlier(id, entry) {
    const { session } = entry;
    const before = session.earlier;
    const result = await this.rpc.call("portal.session.earlier", { session_id: id, before, ...PAGE }).catch(() => undefined);
    if (!result || entry.session !== session || session.earlier !== before) return false;
    const past = newSession({ session_id: id });
    for (const message of result.messages) apply(past, message, this.clock());
    prependPast(session, past);
    setEarlier(session, result);
    this.onChange(session);
    return true;
  }

  /** @param {string} id @param {Entry} entry */
  #detach(id, entry) {
    entry.attached = false;
    setDetached(entry.session);
    entry.detaching = this.rpc.call("portal.session.detach", { session_id: id }).catch(() => {}); // it fails only if the connection is lost
  }
}

/** Reports whether a message is from the list of sessions. It may be older than what the session says. @param {Message} message */
const isListed = ({ method }) => method === "portal.session.changed";

/** Reports whether a message shows that its session is not closed. @param {Message} message */
const isOpened = (message) => message.method === "run.status" || (isListed(message) && message.params.session.state !== "closed");

/** Reports whether a message shows that a closed session was opened again. The list is believed only a few times in a row. @param {Entry} entry @param {Message} message */
const isReopened = (entry, message) => isOpened(message) && (!isListed(message) || entry.closedCount < MAX_CLOSED);

/** Sets how far back the state reaches. @param {Session} session @param {{truncated?: boolean, earlier?: string}} result */
function setEarlier(session, { truncated, earlier }) {
  session.truncated = Boolean(truncated);
  session.earlier = earlier ?? "";
}
