// Single lines: the end of a run, a notice, a compaction.

import { countFiles } from "../changes.js";
import { h, setText } from "../dom.js";
import { isCapable } from "../store.js";
import { addActions, copyText, shownText } from "./actions.js";
import { remedyButtons } from "./error.js";
import { runSummary, noticeText } from "./labels.js";
import { dialog } from "../views/dialog.js";

/** @typedef {import("./block.js").Block} Block */

/** @param {import("../store.js").EndItem} item @param {import("./block.js").BlockContext} context @returns {Block} */
export function endBlock(item, context) {
  const link = h("a", { class: "end-line", href: context.href(item.run), title: "Link to this run" });
  const node = h("div", { class: "end", "data-testid": "end" });
  if (item.status === "error" && item.message && !isErrorShown(item, context)) {
    node.append(h("div", { class: "error", role: "group", "aria-label": "Error", "data-testid": "error" },
      h("p", {}, item.message), remedyButtons(item, context)));
  }
  const review = h("a", { class: "end-review", href: context.reviewHref(item.run), hidden: true, "data-testid": "review" });
  const line = h("div", { class: "end-row" }, link, review);
  node.append(line);
  if (lastText(item.run, context) || (!context.readOnly && hasPrompt(item.run, context))) addActions(line, "Answer actions", () => answerActions(item.run, context));
  return {
    node,
    /** @param {import("../store.js").EndItem} item */
    update(item) {
      node.dataset.status = item.status;
      setText(link, runSummary(item) || "Done");
      const { ended } = context.session.runs[item.run] ?? {};
      if (ended) link.title = `Ended ${new Date(ended).toLocaleString()}. Link to this run`;
      const files = context.reviews.get(item.run) ?? 0;
      review.hidden = files === 0;
      setText(review, files === 0 ? "" : `Review ${countFiles(files)}`);
    },
  };
}

/** @param {string} run @param {import("./block.js").BlockContext} context @returns {import("./actions.js").Action[]} */
function answerActions(run, context) {
  const answer = lastText(run, context);
  /** @param {{model?: string}} change */
  const retry = (change) => context.resend(run, change).catch((error) => dialog("Could not send the prompt again", [h("p", {}, error.message)], "Try again", () => context.resend(run, change)));
  /** @type {import("./actions.js").Action[]} */
  const copies = answer ? [
    { name: "copy", label: "Copy answer", icon: "copy", act: (button) => void copyText(answer.html ? shownText(answer.html) : answer.content, button) },
    { name: "markdown", label: "Copy as Markdown", act: (button) => void copyText(answer.content, button) },
  ] : [];
  if (context.readOnly || !hasPrompt(run, context) || !isCapable(context.session, "forking")) return copies; // prompts are sent again in a fork
  return [...copies,
    { name: "retry", label: "Retry", icon: "retry", act: () => void retry({}) },
    { name: "retry-model", label: "Retry with another model…", act: (button) => context.pickModel(button, (model) => void retry({ model })) }];
}

/** Reports whether a run has a prompt, or may have one that is not loaded yet. @param {string} run @param {import("./block.js").BlockContext} context */
const hasPrompt = (run, { session: { runs, items, earlier } }) => Boolean(runs[run]?.prompts) || (earlier !== "" && items[0]?.run === run);

/** Returns the answer of a run. @param {string} run @param {import("./block.js").BlockContext} context */
function lastText(run, { session }) {
  const found = session.items.findLast((item) => item.kind === "text" && item.run === run && !item.agent && item.content !== "");
  return found?.kind === "text" ? found : undefined;
}

/** Reports whether the error of a run is already shown before its end. @param {import("../store.js").EndItem} item @param {import("./block.js").BlockContext} context */
function isErrorShown({ run, message }, { session }) {
  return session.items.some((other) => other.run === run && (other.kind === "error" || (other.kind === "text" && other.content === message)));
}

/** @returns {Block} */
export function noticeBlock() {
  const node = h("p", { class: "line muted", "data-testid": "notice" });
  return {
    node,
    /** @param {import("../store.js").NoticeItem} item */
    update: (item) => setText(node, `${noticeText(item)}${item.count ? ` (${item.count} times)` : ""}`),
  };
}

/** @returns {Block} */
export function compactionBlock() {
  const node = h("p", { class: "line compaction muted", role: "separator", "data-testid": "compaction" });
  return {
    node,
    /** @param {import("../store.js").CompactionItem} item */
    update({ state }) {
      node.dataset.state = state;
      setText(node, state === "running" ? "Compacting the conversation…" : state === "completed" ? "Conversation compacted" : "Could not compact the conversation");
    },
  };
}
