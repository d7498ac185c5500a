// The blocks of a conversation in the page. The end is drawn first; what is older comes when there is time, or when somebody
// scrolls there. What is drawn lies in chunks that the browser skips while they are out of sight.

import { createBlock } from "../blocks/block.js";
import { chunkStart, isFull, isSilent, joins } from "../blocks/fold.js";
import { readsGroup } from "../blocks/reads.js";
import { h } from "../dom.js";

/**
 * @typedef {import("../store.js").Item} Item @typedef {import("../blocks/block.js").Place} Place
 * @typedef {{items: Map<string, Item>, view: ReturnType<typeof readsGroup>}} Fold
 * @typedef {{node: HTMLElement, count: number}} Chunk
 * @typedef {{item: Item, block: import("../blocks/block.js").Block, chunk: Chunk, fold: Fold | null}} Shown
 */

const FLOOD = 150; // new items at once, from which on only the end is drawn
const BUDGET = 6; // ms of a frame for new items

/** @param {HTMLElement} root @param {Place} place */
export function createFlow(root, place) {
  const { session } = place;
  /** @type {Map<string, Shown>} */
  const shown = new Map();
  /** The chunk at the end. @type {Chunk | null} */
  let last = null;
  /** The shown item at the end. @type {Shown | null} */
  let newest = null;
  /** Items before the first that is shown. */
  let older = 0;
  let { front } = session;

  /** Takes note of what came in front of all. What is shown and has its place there is drawn again. */
  const catchUp = () => {
    const added = session.front - front;
    if (added === 0) return;
    front = session.front;
    for (const { key } of session.items.slice(0, added)) remove(key);
    const first = session.items.findIndex(({ key }) => shown.has(key));
    older = first < 0 ? session.items.length : first;
  };

  const newChunk = () => ({ node: h("div", { class: "chunk" }), count: 0 });

  /** Draws an item behind one, and returns what the next one comes behind. @param {Item} item @param {Chunk} chunk @param {Shown | null} before @returns {Shown} */
  const draw = (item, chunk, before) => {
    const view = { item, block: createBlock(item, place), chunk, fold: /** @type {Fold | null} */ (null) };
    shown.set(item.key, view);
    chunk.count++;
    if (isSilent(item)) return before ?? view;
    if (before && before.chunk === chunk && joins(before.item, item)) fold(before, view, place);
    else chunk.node.append(view.block.node);
    return view;
  };

  /** @param {Item} item */
  const append = (item) => {
    if (!last || isFull(last.count, joins(newest?.item, item))) {
      last = newChunk();
      root.append(last.node);
    }
    newest = draw(item, last, newest);
  };

  /** Draws the chunk before the first one. */
  const prepend = () => {
    const start = chunkStart(session.items, older);
    const chunk = newChunk();
    let before = null;
    for (let i = start; i < older; i++) before = draw(session.items[i], chunk, before);
    root.prepend(chunk.node);
    if (!last) [last, newest] = [chunk, before];
    older = start;
  };

  const clear = () => {
    shown.clear();
    root.replaceChildren();
    last = newest = null;
    older = session.items.length;
  };

  /** @param {string} key */
  const remove = (key) => {
    const view = shown.get(key);
    if (!view) return;
    shown.delete(key);
    view.block.node.remove();
    if (view.fold) {
      view.fold.items.delete(key);
      if (view.fold.items.size === 0) view.fold.view.node.remove();
    }
    if (newest === view) newest = null;
    if (--view.chunk.count > 0) return;
    view.chunk.node.remove();
    if (last === view.chunk) last = null;
  };

  /** How many items come behind those that are shown. */
  const behind = () => {
    let count = 0;
    while (count < session.items.length && !shown.has(session.items[session.items.length - 1 - count].key)) count++;
    return count;
  };

  return {
    /** Whether there is more above. */
    hasOlder() {
      catchUp();
      return older > 0;
    },
    count: () => shown.size,
    prepend,
    /**
     * Shows what has changed. False if there was no time for all of it.
     * @param {Set<string>} changed keys @param {boolean} following whether the reader is at the end
     */
    update(changed, following) {
      catchUp();
      let gone = false;
      for (const key of changed) {
        const item = session.index.get(key);
        if (!item) {
          remove(key);
          gone = true;
        } else {
          refresh(shown.get(key));
        }
      }
      if (gone) older = Math.max(0, session.items.findIndex(({ key }) => shown.has(key)));
      const count = behind();
      if (shown.size === 0 || (count > FLOOD && following)) {
        clear();
        if (older > 0) prepend();
        return true;
      }
      return appendAll(count, append, session.items);
    },
    /**
     * The element of the prompt of a run; null if there is none, undefined while it is still to be drawn.
     * @param {string} run
     */
    reveal(run) {
      catchUp();
      const at = session.items.findIndex((item) => item.run === run);
      if (at < 0) return null;
      const end = performance.now() + BUDGET;
      while (older > at && performance.now() < end) prepend();
      return older > at ? undefined : shown.get(session.items[at].key)?.block.node;
    },
  };
}

/** @param {number} count @param {(item: Item) => void} append @param {Item[]} items */
function appendAll(count, append, items) {
  const end = performance.now() + BUDGET;
  for (let i = items.length - count; i < items.length; i++) {
    append(items[i]);
    if (performance.now() > end) return i === items.length - 1;
  }
  return true;
}

/** @param {Shown | undefined} view */
function refresh(view) {
  if (!view) return;
  view.block.update(view.item);
  view.fold?.view.update(/** @type {import("../store.js").ToolItem[]} */ ([...view.fold.items.values()]));
}

/** Puts a view into the line of the one before. @param {Shown} before @param {Shown} view @param {Place} place */
function fold(before, view, place) {
  if (!before.fold) {
    before.fold = { items: new Map([[before.item.key, before.item]]), view: readsGroup(place) };
    before.block.node.replaceWith(before.fold.view.node);
    before.fold.view.list.append(before.block.node);
  }
  view.fold = before.fold;
  view.fold.items.set(view.item.key, view.item);
  view.fold.view.list.append(view.block.node);
  refresh(view);
}
