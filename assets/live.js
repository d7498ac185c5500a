// Reads a session from its beginning and then live, over any number of lost connections.

import * as api from "./rest.js";

/** @typedef {import("./store.js").Response} Response */

/**
 * @typedef {object} Listener
 * @property {(responses: Response[], restarted: boolean) => void} onResponses restarted: the responses begin with the first of the session again
 * @property {() => void} onLost the connection is lost; restarted responses follow when it is back
 */

const PATIENCE = 15_000; // a poll is answered within 5 s, unless the connection is dead
const GATHER = 40; // between two polls, so that deltas arrive in handfuls

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** randomUUID is missing on pages from another host without https. */
const newToken = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

/**
 * Returns the error that ended the reading: "SessionClosed", "SessionNotFound", or "" when it was aborted. Throws
 * an ApiError when the server refuses. After a lost connection it starts over with a new token, because the
 * old reader may have moved past an answer that never arrived.
 * @param {string} id @param {Listener} listener @param {AbortSignal} signal @param {typeof pause} [wait]
 */
export async function readLive(id, listener, signal, wait = pause) {
  let token = newToken();
  let restarted = true;
  let delay = 0;
  while (!signal.aborted) {
    try {
      const { responses = [], error } = await api.live(id, token, AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]));
      if (signal.aborted) break;
      delay = 0;
      if (error === "SessionNotFound") return error; // what was read before stays
      if (error === "ParallelCallNotSupported") {
        token = newToken();
        restarted = true;
      } else {
        if (responses.length > 0 || restarted) listener.onResponses(responses, restarted);
        restarted = false;
      }
      if (error === "SessionClosed") return error;
      if (error !== "HttpRequestTimeout") await wait(GATHER);
    } catch (error) {
      if (signal.aborted) break;
      if (!(error instanceof api.ApiError) || (error.status >= 400 && error.status < 500)) throw error;
      listener.onLost();
      token = newToken();
      restarted = true;
      delay = Math.min(delay * 2 || 500, 8000);
      await wait(delay);
    }
  }
  return "";
}
