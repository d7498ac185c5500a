// The sessions that the page is attached to: their states follow the portal over lost connections, so that nothing is
// lost and nothing doubled.

import { precede } from "./earlier.js";
import { apply, describe, lost, newSession } from "./store.js";

/** @typedef {import("./store.js").Session} Session @typedef {import("./store.js").Message} Message */

/**
 * What is known of a session.
 * @typedef {object} Entry
 * @property {Session} session
 * @property {boolean} wanted somebody looks at it
 * @property {boolean} attached the portal tells of it
 * @property {Message[] | null} buffer what came while attaching: only the answer tells what it goes on from
 * @property {Promise<Session> | null} attaching
 * @property {Promise<boolean> | null} looking back
 * @property {Promise<unknown>} detaching the portal does what it is asked at the same time: one has to wait for the other
 * @property {boolean} known it was attached to once
 */

const KEPT = 8; // states of sessions that nobody looks at, to come back to
const PAGE = { max_runs: 200, max_events: 300 }; // of the past at a time: the end is shown at once, the rest comes when it is wanted

export class Sessions {
  /** @type {Map<string, Entry>} */ #entries = new Map();

  /**
   * @param {{call: (method: string, params: Record<string, any>) => Promise<any>}} rpc
   * @param {(session: Session) => void} onChange it has changed, or is another object than before: everything is told anew
   * @param {(id: string, error: import("./rpc.js").CallError) => void} onFail what somebody looks at cannot be had any more
   * @param {() => number} [clock] ms
   */
  constructor(rpc, onChange, onFail, clock = Date.now) {
    this.rpc = rpc;
    this.onChange = onChange;
    this.onFail = onFail;
    this.clock = clock;
  }

  /** The state of a session, once all of its past is in it. Rejects with a CallError. @param {string} id @returns {Promise<Session>} */
  open(id) {
    let entry = this.#entries.get(id);
    if (!entry) {
      entry = { session: newSession({ session_id: id }), wanted: true, attached: false, buffer: null, attaching: null, looking: null, detaching: Promise.resolve(), known: false };
    }
    entry.wanted = true;
    this.#entries.delete(id); // to the end: it was used last
    this.#entries.set(id, entry);
    if (entry.attached) return Promise.resolve(entry.session);
    return this.#attach(id, entry);
  }

  /** The state as it is now, if it was ever attached to. @param {string} id */
  get(id) {
    const entry = this.#entries.get(id);
    return entry?.known ? entry.session : undefined;
  }

  /** Nobody looks at it any more. @param {string} id */
  leave(id) {
    const entry = this.#entries.get(id);
    if (!entry) return;
    entry.wanted = false;
    if (entry.attached) this.#detach(id, entry);
    for (const [old, { wanted }] of [...this.#entries].slice(0, -KEPT)) {
      if (!wanted) this.#entries.delete(old);
    }
  }

  /** The session is gone. @param {string} id */
  forget(id) {
    this.#entries.delete(id);
  }

  /** The connection is lost. */
  lost() {
    for (const entry of this.#entries.values()) {
      entry.attached = false;
      entry.buffer = null;
      lost(entry.session);
      if (entry.wanted) this.onChange(entry.session);
    }
  }

  /** The connection is back. Returns when everything that is looked at is attached to. */
  async back() {
    const wanted = [...this.#entries].filter(([, entry]) => entry.wanted && !entry.attached);
    await Promise.all(wanted.map(([id, entry]) => this.#attach(id, entry).catch((error) => {
      if (error.code !== "gone") this.onFail(id, error);
    })));
  }

  /** Takes a message of the portal. False if it is about nothing that is attached to. @param {Message} message */
  take(message) {
    const id = message.params.meta?.session_id ?? message.params.session_id;
    const entry = this.#entries.get(id);
    if (!entry) return false;
    if (entry.buffer) {
      entry.buffer.push(message);
      return true;
    }
    if (!entry.attached) return false;
    apply(entry.session, message, this.clock());
    if (message.method === "portal.session.closed") entry.attached = false;
    this.onChange(entry.session);
    return true;
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
    this.#begin(entry, result, buffer, after !== "");
    if (!entry.wanted) this.#detach(id, entry);
    return entry.session;
  }

  /** @param {Entry} entry @param {any} result @param {Message[]} buffer @param {boolean} resumed */
  #begin(entry, result, buffer, resumed) {
    if (!resumed || result.reset) {
      entry.session = newSession({ ...result.session, state: undefined });
      reach(entry.session, result);
    }
    for (const message of buffer) apply(entry.session, message, this.clock());
    describe(entry.session, result.session);
    entry.attached = entry.known = true;
    this.onChange(entry.session);
  }

  /**
   * Loads some of what was before what is known. False if there is nothing more to be had now.
   * @param {string} id @returns {Promise<boolean>}
   */
  earlier(id) {
    const entry = this.#entries.get(id);
    if (!entry?.session.earlier) return Promise.resolve(false);
    entry.looking ??= this.#lookBack(id, entry).finally(() => (entry.looking = null));
    return entry.looking;
  }

  /** @param {string} id @param {Entry} entry */
  async #lookBack(id, entry) {
    const { session } = entry;
    const before = session.earlier;
    const result = await this.rpc.call("portal.session.earlier", { session_id: id, before, ...PAGE }).catch(() => undefined);
    if (!result || entry.session !== session || session.earlier !== before) return false;
    const past = newSession({ session_id: id });
    for (const message of result.messages) apply(past, message, this.clock());
    precede(session, past);
    reach(session, result);
    this.onChange(session);
    return true;
  }

  /** @param {string} id @param {Entry} entry */
  #detach(id, entry) {
    entry.attached = false;
    lost(entry.session);
    entry.detaching = this.rpc.call("portal.session.detach", { session_id: id }).catch(() => {}); // then the connection is gone, too
  }
}

/** How far back the state reaches. @param {Session} session @param {{truncated?: boolean, earlier?: string}} told */
function reach(session, { truncated, earlier }) {
  session.truncated = Boolean(truncated);
  session.earlier = earlier ?? "";
}
