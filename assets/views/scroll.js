// Scrolling of a conversation: it follows the end until the user scrolls up, and then keeps the position.

const NEAR_END = 40; // px from the end within which new content is followed

/**
 * @param {HTMLElement} scroller @param {HTMLElement} content grows @param {HTMLElement} button jumps to the end
 */
export function createScroll(scroller, content, button) {
  let follow = true;
  let lastTop = 0;
  let showsButton = false;

  const isAtEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight <= NEAR_END;

  const updateButton = () => {
    const isShown = !follow && !isAtEnd();
    if (isShown === showsButton) return;
    showsButton = isShown;
    button.hidden = !isShown;
  };
  const followEnd = () => {
    if (follow) scroller.scrollTop = scroller.scrollHeight;
  };

  // Only scrolling up stops following; growing or shrinking content does not.
  const onScroll = () => {
    if (isAtEnd()) follow = true;
    else if (scroller.scrollTop < lastTop - 1 && !hasShrunk()) follow = false;
    lastTop = scroller.scrollTop;
    updateButton();
  };
  let height = 0;
  const hasShrunk = () => {
    const before = height;
    height = scroller.scrollHeight;
    return height < before;
  };
  // Unfolded content is being read, so it keeps its position.
  const onToggle = () => {
    if (!isAtEnd()) follow = false;
    updateButton();
  };
  const toEnd = () => {
    follow = true;
    button.hidden = true;
    showsButton = false;
    followEnd();
  };
  scroller.addEventListener("scroll", onScroll, { passive: true });
  scroller.addEventListener("wheel", (event) => {
    if (event.deltaY < 0 && scroller.scrollTop > 0) follow = false; // before streamed content scrolls down again
  }, { passive: true });
  content.addEventListener("toggle", onToggle, true);
  button.addEventListener("click", toEnd);
  // The composer is as wide as the conversation, which reserves a scroll bar on both sides.
  const sizes = new ResizeObserver(() => {
    scroller.parentElement?.style.setProperty("--gutter", `${(scroller.offsetWidth - scroller.clientWidth) / 2}px`);
    followEnd();
  });
  sizes.observe(scroller);
  sizes.observe(content);

  return {
    followEnd,
    toEnd,
    following: () => follow,
    /** Stops following the end. */
    stopFollowing() {
      follow = false;
      updateButton();
    },
    dispose: () => sizes.disconnect(),
  };
}
