// Keys of requests that start work: a request whose response was lost is repeated with the same key, so it starts nothing twice. Pure, but for chance
// and the storage.

import { LONGEST, keep, loadKept } from "./views/kept.js";

/** @typedef {{text: string, key: string}} Started */

/** Adds a key to a request: the one of before if it is the same request, also after a reload, until `done`. @param {import("./views/kept.js").Store} store @param {string} name */
export function startKeys(store, name) {
  /** @type {Started | undefined} */
  let long; // a request that is too long to be kept
  return {
    /** @template {object} T @param {T} request @returns {T & {key: string}} */
    with(request) {
      const text = JSON.stringify(request);
      const isLong = text.length > LONGEST;
      const last = isLong ? long : loadKept(store, name);
      const key = last?.text === text ? last.key : createKey();
      long = isLong ? { text, key } : undefined;
      keep(store, name, isLong ? undefined : { text, key });
      return { ...request, key };
    },
    /** Ends a request: the next one is another, even if it is equal. */
    done() {
      long = undefined;
      keep(store, name, undefined);
    },
  };
}

const createKey = () => [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join("-"); // randomUUID needs HTTPS
