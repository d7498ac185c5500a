// The reader's place: it follows the end until the reader moves up, and then nothing moves what is read.

/** So close to the end the reader wants to see what comes, in px. */
const NEAR = 40;

/**
 * @param {HTMLElement} scroller @param {HTMLElement} content what grows @param {HTMLElement} button "To the end"
 */
export function createScroll(scroller, content, button) {
  let follow = true;
  let lastTop = 0;
  let showsButton = false;

  const isAtEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight <= NEAR;

  const showPlace = () => {
    const wanted = !follow && !isAtEnd();
    if (wanted === showsButton) return;
    showsButton = wanted;
    button.hidden = !wanted;
  };
  const keep = () => {
    if (follow) scroller.scrollTop = scroller.scrollHeight;
  };

  // Only the reader's own movement up ends the following; what grows or shrinks does not.
  const onScroll = () => {
    if (isAtEnd()) follow = true;
    else if (scroller.scrollTop < lastTop - 1 && !shrunk()) follow = false;
    lastTop = scroller.scrollTop;
    showPlace();
  };
  let height = 0;
  const shrunk = () => {
    const before = height;
    height = scroller.scrollHeight;
    return height < before;
  };
  // What was unfolded is being read: it stays where it is.
  const onToggle = () => {
    if (!isAtEnd()) follow = false;
    showPlace();
  };
  const toEnd = () => {
    follow = true;
    button.hidden = true;
    showsButton = false;
    keep();
  };
  scroller.addEventListener("scroll", onScroll, { passive: true });
  scroller.addEventListener("wheel", (event) => {
    if (event.deltaY < 0 && scroller.scrollTop > 0) follow = false; // before what streams pulls down again
  }, { passive: true });
  content.addEventListener("toggle", onToggle, true);
  button.addEventListener("click", toEnd);
  // What lies below is as wide as what is read, which has room for a scroll bar on both sides.
  const sizes = new ResizeObserver(() => {
    scroller.parentElement?.style.setProperty("--gutter", `${(scroller.offsetWidth - scroller.clientWidth) / 2}px`);
    keep();
  });
  sizes.observe(scroller);
  sizes.observe(content);

  return {
    keep,
    toEnd,
    following: () => follow,
    /** Reads somewhere else than at the end. */
    stay() {
      follow = false;
      showPlace();
    },
    leave: () => sizes.disconnect(),
  };
}
