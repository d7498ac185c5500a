// The older items of a conversation: they are drawn and loaded before the user scrolls to them, without moving what is visible.

const MARGIN = 1500; // px above the visible part within which items are drawn

/**
 * @param {{scroller: HTMLElement, top: HTMLElement, scroll: ReturnType<typeof import("./scroll.js").createScroll>, transcript: ReturnType<typeof import("./transcript.js").createTranscript>,
 *   session: import("../store.js").Session, earlier: () => Promise<boolean>, onMissing?: () => boolean}} options top: the node above the items; earlier loads items, and returns false if
 *   there are none; onMissing: the session does not have the run that is sought; returns false to seek on
 */
export function createOlderItems({ scroller, top, scroll, transcript, session, earlier, onMissing = () => true }) {
  let isDisposed = false;
  let isNearTop = false;
  let isLoading = false;
  /** @type {{run: string, found: (node: HTMLElement) => void} | undefined} */
  let target;

  /** Draws older items without moving the visible ones. */
  const draw = () => {
    if (isDisposed || !transcript.hasOlder()) return;
    const anchored = CSS.supports("overflow-anchor", "auto") && scroller.scrollTop > 0; // the browser anchors except at the top
    const before = anchored ? 0 : scroller.scrollHeight;
    transcript.prepend();
    if (!anchored) scroller.scrollTop += scroller.scrollHeight - before;
    scroll.followEnd();
  };
  const drawWhileNearTop = () => {
    if (!isNearTop || isDisposed) return;
    if (!transcript.hasOlder()) return void load();
    draw();
    requestAnimationFrame(drawWhileNearTop);
  };
  const load = async () => {
    if (isLoading || !session.earlier) return;
    isLoading = true;
    const more = await earlier();
    isLoading = false;
    if (more && !isDisposed) requestAnimationFrame(drawWhileNearTop);
  };
  const observer = new IntersectionObserver((entries) => {
    isNearTop = entries[entries.length - 1].isIntersecting;
    drawWhileNearTop();
  }, { root: scroller, rootMargin: `${MARGIN}px 0px` });
  observer.observe(top);

  /** Ends the search for a run if nothing more can be loaded, and nothing of the run is to come. */
  const giveUp = () => {
    const run = target?.run;
    if (isDisposed || run === undefined || session.earlier || session.run === run || [...session.items, ...session.waiting].some((one) => one.run === run)) return;
    if (onMissing()) target = undefined;
  };
  const reveal = () => {
    if (isDisposed || !target) return;
    const node = transcript.reveal(target.run);
    if (node === undefined) requestAnimationFrame(reveal);
    if (node === null) void earlier().then((more) => (more ? requestAnimationFrame(reveal) : giveUp()));
    if (!node) return;
    const { found } = target;
    target = undefined;
    scroll.stopFollowing();
    found(node);
  };

  return {
    draw,
    load,
    /** Draws and loads items until those of a run are drawn, and then calls found with its first node. @param {string} run @param {(node: HTMLElement) => void} found */
    seek(run, found) {
      target = { run, found };
      reveal();
    },
    /** Continues to seek, after new items were drawn. */
    continueSeek: reveal,
    dispose() {
      isDisposed = true;
      observer.disconnect();
    },
  };
}
