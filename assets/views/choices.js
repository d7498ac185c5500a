// The options of a list that completes while the user types. The portal is asked after each change and answers later.

/**
 * Keeps the options and the selected one. An answer counts only if nothing was asked since. An option that the user moved to stays selected while
 * answers contain it.
 * @template T
 * @param {object} by
 * @param {(option: T) => string} by.key identifies an option
 * @param {-1 | 0} by.first the initial selection: none, or the first
 * @param {() => void} by.draw shows the options
 */
export function createChoices({ key, first, draw }) {
  /** @type {T[]} */
  let list = [];
  let at = -1;
  let moved = false;
  let lastRequest = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  /** @param {T[]} options */
  const show = (options) => {
    const before = moved ? key(list[at]) : undefined;
    const index = options.findIndex((option) => key(option) === before);
    moved = index >= 0;
    list = options;
    at = moved ? index : Math.min(first, list.length - 1);
    draw();
  };
  const cancel = () => {
    clearTimeout(timer);
    return ++lastRequest;
  };

  return {
    get list() { return list; },
    /** The index of the selected option, or -1. */
    get at() { return at; },
    /** Shows options, and cancels pending requests. @param {T[]} options */
    offer(options) {
      cancel();
      show(options);
    },
    /** Loads options after a pause without another request. A failed request yields none. @param {() => Promise<T[]>} find @param {number} pause */
    ask(find, pause) {
      const request = cancel();
      timer = setTimeout(async () => {
        const options = await find().catch(() => []);
        if (request === lastRequest) show(options);
      }, pause);
    },
    /** Selects the next or previous option, wrapping around. @param {1 | -1} by */
    move(by) {
      at = at < 0 && by < 0 ? list.length - 1 : (at + by + list.length) % list.length;
      moved = true;
      draw();
    },
  };
}
