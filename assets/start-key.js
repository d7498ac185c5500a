// Keys of requests that start work: a request whose response was lost is repeated with the same key, so it starts nothing twice. Pure, but for chance.

/** Adds a key to a request: the one of before if it is the same request, until `done`. */
export function startKeys() {
  let last = "";
  let key = "";
  return {
    /** @template {object} T @param {T} request @returns {T & {key: string}} */
    with(request) {
      const text = JSON.stringify(request);
      if (text !== last) key = [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join("-"); // randomUUID needs HTTPS
      last = text;
      return { ...request, key };
    },
    /** Ends a request: the next one is another, even if it is equal. */
    done() {
      last = "";
    },
  };
}
