// What there is to choose from while somebody types: options that the portal, asked for each change, sends late.

/**
 * Keeps the options and which of them is chosen. An answer counts only if nothing was asked since, and what somebody has moved to
 * stays chosen as long as the next answer has it.
 * @template T
 * @param {object} by
 * @param {(option: T) => string} by.key tells options apart
 * @param {-1 | 0} by.first what is chosen before somebody moves: nothing, or the first
 * @param {() => void} by.draw shows what has changed
 */
export function createChoices({ key, first, draw }) {
  /** @type {T[]} */
  let list = [];
  let at = -1;
  let moved = false;
  let asked = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  /** @param {T[]} options */
  const show = (options) => {
    const before = moved ? key(list[at]) : undefined;
    const again = options.findIndex((option) => key(option) === before);
    moved = again >= 0;
    list = options;
    at = moved ? again : Math.min(first, list.length - 1);
    draw();
  };
  const forget = () => {
    clearTimeout(timer);
    return ++asked;
  };

  return {
    get list() { return list; },
    /** The place of what is chosen, -1 for nothing. */
    get at() { return at; },
    /** Shows options; what was asked before is not answered any more. @param {T[]} options */
    offer(options) {
      forget();
      show(options);
    },
    /** Asks for options after so many ms, in which no other question comes. One that fails has none. @param {() => Promise<T[]>} find @param {number} pause */
    ask(find, pause) {
      const mine = forget();
      timer = setTimeout(async () => {
        const options = await find().catch(() => []);
        if (mine === asked) show(options);
      }, pause);
    },
    /** Chooses the next option, or the one before, in a circle. @param {1 | -1} by */
    move(by) {
      at = at < 0 && by < 0 ? list.length - 1 : (at + by + list.length) % list.length;
      moved = true;
      draw();
    },
  };
}
