// Draws the flow chart of a job (laid out by chart.js) with the state of its tasks.

import { fitLabel, layOut, pathOf, labelWidth } from "../chart.js";
import { escapeBidi, setText } from "../dom.js";
import { STATUS_LABELS } from "../jobs.js";

/** @typedef {import("../chart.js").Placed} Placed @typedef {import("../jobs.js").Work} Work */

/** The icon of each status, recognizable without its color. */
const STATUS_PATHS = {
  Pending: "M8 3.500a4.500 4.500 0 1 1 0 9 4.500 4.500 0 0 1 0-9z",
  Running: "M8 2.500a5.500 5.500 0 1 1-5.500 5.500M6.500 5.500 10.500 8l-4 2.500z",
  Succeeded: "M3 8.500 6.500 12 13 4.500",
  Failed: "M4 4l8 8M12 4l-8 8",
  Canceled: "M8 2.500a5.500 5.500 0 1 1 0 11 5.500 5.500 0 0 1 0-11zM4.200 4.200l7.600 7.600",
  Interrupted: "M5.500 3.500v9M10.500 3.500v9",
};

const SPACE = "http://www.w3.org/2000/svg";

/**
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag @param {Record<string, string | number>} props @param {Node[]} children @returns {SVGElementTagNameMap[T]}
 */
function s(tag, props, ...children) {
  const node = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

/** The icon of a status; it needs a label beside it. @param {import("../jobs.js").Status} status */
export const statusIcon = (status) => s("svg", { class: "icon sign-of", viewBox: "0 0 16 16", "data-state": status, "aria-hidden": "true" }, s("path", { d: STATUS_PATHS[status] }));

/**
 * @param {{nodes: import("../chart.js").Node[], label: string, onPick?: (work: number) => void}} options onPick: called when a task is
 *   selected; without it the chart is not interactive
 */
export function createChart({ nodes, label, onPick }) {
  const chart = layOut(nodes);
  const drawn = chart.nodes.map((node) => (node.work > 0 ? task(node, onPick) : { work: 0, node: joint(node), update() {} }));
  const svg = s("svg", { class: "chart", width: chart.width, height: chart.height, viewBox: `0 0 ${chart.width} ${chart.height}`, role: onPick ? "group" : "img", "aria-label": escapeBidi(label) },
    s("defs", {}, s("marker", { id: "arrow-head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto-start-reverse" }, s("path", { class: "arrow-head", d: "M1 1 7 4 1 7z" }))),
    ...chart.edges.flatMap(arrow), ...drawn.map(({ node }) => node));
  return {
    node: svg,
    /** Scrolls the first node to the middle of a narrower box. @param {Element} box */
    center: (box) => box.scrollTo(chart.nodes[0].x + chart.nodes[0].width / 2 - box.clientWidth / 2, 0),
    /** @param {Map<number, Work>} works @param {number} picked */
    update(works, picked) {
      for (const one of drawn) one.update(works.get(one.work), one.work === picked);
    },
  };
}

/** @param {import("../chart.js").Edge} edge @returns {Node[]} */
function arrow({ points, label, back }) {
  const path = s("path", { class: back ? "arrow arrow-back" : "arrow", d: pathOf(points), "marker-end": "url(#arrow-head)" });
  if (!label) return [path];
  const text = s("text", { class: "arrow-label", x: label.x, y: label.y, "text-anchor": label.end ? "end" : "start" });
  text.textContent = label.text;
  return [path, text];
}

/** A node that is not a task. @param {Placed} node */
function joint({ kind, x, y, width, height }) {
  if (kind === "ParBegin" || kind === "ParEnd") return s("rect", { class: "bar", x, y, width, height, rx: 3 });
  if (kind === "CondBegin" || kind === "CondEnd") return s("path", { class: "joint", d: `M${x + width / 2} ${y}l${width / 2} ${height / 2}-${width / 2} ${height / 2}-${width / 2}-${height / 2}z` });
  return s("circle", { class: "joint", cx: x + width / 2, cy: y + height / 2, r: width / 2 - 1 });
}

/** A tooltip. @param {string} text */
function tooltip(text) {
  const title = s("title", {});
  title.textContent = escapeBidi(text);
  return title;
}

/** @param {Placed} node @param {((work: number) => void) | undefined} onPick */
function task(node, onPick) {
  const { x, y, width, height, kind, work, label } = node;
  const tip = 12; // of a condition
  const outline = kind === "CondNode" ? `M${x + tip} ${y}h${width - 2 * tip}l${tip} ${height / 2}-${tip} ${height / 2}h${2 * tip - width}l-${tip}-${height / 2}z` : "";
  const shape = () => (outline ? s("path", { d: outline }) : s("rect", { x, y, width, height, rx: 9 }));
  const [halo, box] = [shape(), shape()];
  halo.setAttribute("class", "halo");
  box.setAttribute("class", "box-of");
  const path = s("path", { d: STATUS_PATHS.Pending });
  const mark = s("svg", { class: "icon", x: x + 16, y: y + height / 2 - 8, width: 16, height: 16, viewBox: "0 0 16 16" }, path);
  const name = s("text", { class: "name", x: x + 42, y: y + 21 });
  name.textContent = escapeBidi(fitLabel(label, labelWidth(node)));
  const stateNode = s("text", { class: "state", x: x + 42, y: y + 38 });
  const root = s("g", { class: "task", "data-state": "Pending", "data-work": work, "data-task": label }, halo, box, mark, name, document.createTextNode(" "), stateNode);
  if (name.textContent !== escapeBidi(label)) root.prepend(tooltip(label));
  if (onPick) {
    for (const [key, value] of Object.entries({ role: "button", tabindex: "0", "aria-pressed": "false" })) root.setAttribute(key, value);
    root.addEventListener("click", () => onPick(work));
    root.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      onPick(work);
    });
  }
  return {
    work,
    node: root,
    /** @param {Work | undefined} state @param {boolean} picked */
    update(state, picked) {
      const status = state?.status ?? "Pending";
      const stateText = `${state?.reused ? "Already done" : STATUS_LABELS[status]}${state && state.rounds > 1 ? ` ×${state.rounds}` : ""}`;
      if (root.dataset.state !== status) {
        root.dataset.state = status;
        path.setAttribute("d", STATUS_PATHS[status] ?? STATUS_PATHS.Pending);
      }
      setText(stateNode, onPick ? stateText : kind === "CondNode" ? "Condition" : "Task");
      if (!onPick) return;
      const ariaLabel = escapeBidi(`${label} ${stateText}`);
      if (root.getAttribute("aria-label") !== ariaLabel) root.setAttribute("aria-label", ariaLabel);
      if (root.getAttribute("aria-pressed") !== String(picked)) root.setAttribute("aria-pressed", String(picked));
    },
  };
}
