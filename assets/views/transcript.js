// Draws the blocks of a conversation. The end is drawn first; older blocks in idle time, or when the user scrolls there. Blocks lie in chunks that
// the browser skips while they are out of view.

import { createBlock } from "../blocks/block.js";
import { chunkStart, isFull, isHidden, joinsGroup } from "../blocks/fold.js";
import { createToolGroup } from "../blocks/tool-group.js";
import { h } from "../dom.js";

/**
 * @typedef {import("../store.js").Item} Item @typedef {import("../blocks/block.js").BlockContext} BlockContext
 * @typedef {{items: Map<string, Item>, view: ReturnType<typeof createToolGroup>}} Group
 * @typedef {{node: HTMLElement, count: number}} Chunk
 * @typedef {{item: Item, block: import("../blocks/block.js").Block, chunk: Chunk, group: Group | null}} ItemView
 */

const MAX_APPENDED = 150; // new items at once; beyond, only the end is drawn
const FRAME_BUDGET = 6; // ms per frame for new items

/** @param {HTMLElement} root @param {BlockContext} context */
export function createTranscript(root, context) {
  const { session } = context;
  /** @type {Map<string, ItemView>} */
  const shown = new Map();
  /** The last chunk. @type {Chunk | null} */
  let last = null;
  /** The view of the last item. @type {ItemView | null} */
  let newest = null;
  /** Number of items before the first drawn one. */
  let older = 0;
  let { front } = session;

  /** Accounts for prepended items. Drawn items that moved there are drawn again. */
  const syncPrepended = () => {
    const added = session.front - front;
    if (added === 0) return;
    front = session.front;
    for (const { key } of session.items.slice(0, added)) remove(key);
    const first = session.items.findIndex(({ key }) => shown.has(key));
    older = first < 0 ? session.items.length : first;
  };

  const newChunk = () => ({ node: h("div", { class: "chunk" }), count: 0 });

  /** Draws an item after another, and returns the view that the next item follows. @param {Item} item @param {Chunk} chunk @param {ItemView | null} before @returns {ItemView} */
  const draw = (item, chunk, before) => {
    const view = { item, block: createBlock(item, context), chunk, group: /** @type {Group | null} */ (null) };
    shown.set(item.key, view);
    chunk.count++;
    if (isHidden(item)) return before ?? view;
    if (before && before.chunk === chunk && joinsGroup(before.item, item)) addToGroup(before, view, context);
    else chunk.node.append(view.block.node);
    return view;
  };

  /** @param {Item} item */
  const append = (item) => {
    if (!last || isFull(last.count, joinsGroup(newest?.item, item))) {
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
    if (view.group) {
      view.group.items.delete(key);
      if (view.group.items.size === 0) view.group.view.node.remove();
    }
    if (newest === view) newest = null;
    if (--view.chunk.count > 0) return;
    view.chunk.node.remove();
    if (last === view.chunk) last = null;
  };

  /** Counts the items after the drawn ones. */
  const countNew = () => {
    let count = 0;
    while (count < session.items.length && !shown.has(session.items[session.items.length - 1 - count].key)) count++;
    return count;
  };

  return {
    /** Reports whether there are items above. */
    hasOlder() {
      syncPrepended();
      return older > 0;
    },
    count: () => shown.size,
    prepend,
    /**
     * Shows changes. Returns false if the frame budget did not suffice.
     * @param {Set<string>} changed keys @param {boolean} following whether the end is followed
     */
    update(changed, following) {
      syncPrepended();
      let anyRemoved = false;
      for (const key of changed) {
        const item = session.index.get(key);
        if (!item) {
          remove(key);
          anyRemoved = true;
        } else {
          refresh(shown.get(key));
        }
      }
      if (anyRemoved) older = Math.max(0, session.items.findIndex(({ key }) => shown.has(key)));
      const count = countNew();
      if (shown.size === 0 || (count > MAX_APPENDED && following)) {
        clear();
        if (older > 0) prepend();
        return true;
      }
      return appendAll(count, append, session.items);
    },
    /** Returns the elements of a run's prompts and answers, as far as they are drawn. @param {string} run */
    textsOf(run) {
      return session.items.filter(({ run: of, kind }) => of === run && (kind === "prompt" || kind === "text")).flatMap(({ key }) => shown.get(key)?.block.node ?? []);
    },
    /**
     * Returns the element of a run's first item; null if there is none, undefined if it is not drawn yet.
     * @param {string} run
     */
    reveal(run) {
      syncPrepended();
      const at = session.items.findIndex((item) => item.run === run);
      if (at < 0) return null;
      const end = performance.now() + FRAME_BUDGET;
      while (older > at && performance.now() < end) prepend();
      return older > at ? undefined : shown.get(session.items[at].key)?.block.node;
    },
  };
}

/** @param {number} count @param {(item: Item) => void} append @param {Item[]} items */
function appendAll(count, append, items) {
  const end = performance.now() + FRAME_BUDGET;
  for (let i = items.length - count; i < items.length; i++) {
    append(items[i]);
    if (performance.now() > end) return i === items.length - 1;
  }
  return true;
}

/** @param {ItemView | undefined} view */
function refresh(view) {
  if (!view) return;
  view.block.update(view.item);
  view.group?.view.update(/** @type {import("../store.js").ToolItem[]} */ ([...view.group.items.values()]));
}

/** Adds a view to the group of the previous one. @param {ItemView} before @param {ItemView} view @param {BlockContext} context */
function addToGroup(before, view, context) {
  if (!before.group) {
    before.group = { items: new Map([[before.item.key, before.item]]), view: createToolGroup(context) };
    before.block.node.replaceWith(before.group.view.node);
    before.group.view.list.append(before.block.node);
  }
  view.group = before.group;
  view.group.items.set(view.item.key, view.item);
  view.group.view.list.append(view.block.node);
  refresh(view);
}
