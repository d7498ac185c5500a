// The conversation: blocks in their order, drawn at most once a frame, and the reader's place in it.

import { createBlock } from "./blocks.js";

/** @typedef {import("./store.js").Block} Block @typedef {import("./blocks.js").View} View */

const NEAR = 32; // so close to the end the reader wants to see what comes

/** @param {HTMLElement} root @param {HTMLElement} scroller @param {HTMLElement} toEnd the button */
export function createConversation(root, scroller, toEnd) {
  /** @type {Map<string, View>} */
  const views = new Map();
  /** @type {Set<Block>} */
  const changed = new Set();
  let frame = 0;
  let follow = true;
  let lastTop = 0;

  const isAtEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight <= NEAR;

  const showPlace = () => (toEnd.hidden = follow || isAtEnd());

  const keepPlace = () => {
    if (follow) scroller.scrollTop = scroller.scrollHeight;
    showPlace();
  };

  const draw = () => {
    frame = 0;
    for (const block of changed) {
      let view = views.get(block.key);
      if (!view) {
        view = createBlock(block);
        view.node.classList.add("block");
        views.set(block.key, view);
        root.append(view.node);
      }
      view.update(block);
    }
    changed.clear();
    keepPlace();
  };

  // Only the reader's own movement up ends the following; content that grows or shrinks does not.
  scroller.addEventListener("scroll", () => {
    if (isAtEnd()) follow = true;
    else if (scroller.scrollTop < lastTop) follow = false;
    lastTop = scroller.scrollTop;
    showPlace();
  });
  // What was unfolded is being read.
  root.addEventListener("toggle", () => {
    if (!isAtEnd()) follow = false;
    showPlace();
  }, true);
  new ResizeObserver(keepPlace).observe(scroller);

  const goToEnd = () => {
    follow = true;
    keepPlace();
  };
  toEnd.addEventListener("click", goToEnd);

  return {
    goToEnd,
    /** Draws these blocks in the next frame. @param {Iterable<Block>} blocks */
    update(blocks) {
      for (const block of blocks) changed.add(block);
      if (!frame && changed.size > 0) frame = requestAnimationFrame(draw);
    },
    /** Another reading of the same session began: folds and place stay, what it does not hold goes. @param {Block[]} blocks all of them */
    retain(blocks) {
      const keys = new Set(blocks.map(({ key }) => key));
      changed.clear();
      for (const [key, { node }] of views) {
        if (keys.has(key)) continue;
        node.remove();
        views.delete(key);
      }
    },
    clear() {
      changed.clear();
      views.clear();
      root.replaceChildren();
      follow = true;
      lastTop = 0;
      toEnd.hidden = true;
    },
  };
}
