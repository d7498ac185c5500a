// Lays out the nodes and arrows of a flow chart. Pure: it knows neither the page nor the job.
//
// A chart is structured (spec/jobs.md): a sequence of steps, each a node or a fork into branches that join again. Each branch is laid out around
// its axis, where it is entered and left, and placed into the enclosing one.

/**
 * @typedef {{to: number, loopBack: boolean, label?: string}} Arrow
 * @typedef {{id: number, hint: string | [string, number], label?: string, arrows: Arrow[]}} Node see portal.jobs.list
 *
 * @typedef {{x: number, y: number, text: string, end: boolean}} Label end: whether the text ends at x
 * @typedef {{id: number, kind: string, work: number, label: string, x: number, y: number, width: number, height: number}} Placed
 *   x, y: the upper left corner; work: 0 for none
 * @typedef {{from: number, to: number, back: boolean, points: [number, number][], label: Label | null}} Edge
 * @typedef {{width: number, height: number, nodes: Placed[], edges: Edge[]}} Chart
 *
 * @typedef {{node: Placed, arrows: Arrow[], loops: number}} Step loops: how many arrows lead back to it
 * @typedef {{axis: number, steps: Part[]}} Branch
 * @typedef {Step | {branches: Branch[]}} Part
 * @typedef {{left: number, right: number, height: number}} Size left, right: from the axis
 */

const NODE = { height: 50, minWidth: 136, maxWidth: 244, inset: 58 }; // inset: the width that the label cannot use
const BAR = { height: 6, overhang: 28 };
const DOT = 12;
const ROW_GAP = 34; // between steps
const COLUMN_GAP = 20; // between branches
const LANE = 48; // for an arrow past other nodes, with room for a label
const LOOP_GAP = 38; // from a loop arrow to the nodes it passes
const LOOP_ENTRY = 15; // above a node, where a loop arrow enters
const MARGIN = 18;
const CHAR_WIDTH = 7.900; // px, for wide characters of common fonts

/** Estimates the width of a text: characters of wide scripts count twice. @param {string} text */
const widthOf = (text) => [...text].reduce((sum, letter) => sum + (letter > "\u2e7f" ? 2 : 1) * CHAR_WIDTH, 0);

/** Shortens a text in the middle to fit: names differ at their ends. @param {string} text @param {number} room px */
export function fitLabel(text, room) {
  if (widthOf(text) <= room) return text;
  const letters = [...text];
  let [head, tail] = [Math.ceil(letters.length / 2), Math.floor(letters.length / 2)];
  const cut = () => `${letters.slice(0, head).join("")}…${letters.slice(letters.length - tail).join("")}`;
  while (head > 1 && widthOf(cut()) > room) {
    if (head > tail) head--;
    else tail--;
  }
  return cut();
}

/** Returns the width available for the label of a node. @param {Placed} node */
export const labelWidth = ({ kind, width }) => width - labelInset(kind);

/** Conditions are pointed and have less room. @param {string} kind */
const labelInset = (kind) => NODE.inset + (kind === "CondNode" ? 10 : 0);

/** @param {Node} node @returns {Placed} */
function newNode({ id, hint, label = "" }) {
  const [kind, work] = Array.isArray(hint) ? hint : [hint, 0];
  const [width, height] = work > 0 ? [Math.ceil(Math.min(NODE.maxWidth, Math.max(NODE.minWidth, widthOf(label) + labelInset(kind)))), NODE.height]
    : isBar(kind) ? [2 * BAR.overhang, BAR.height] : [DOT, DOT];
  return { id, kind, work, label, x: -width / 2, y: 0, width, height };
}

/** @param {string} kind */
const isBar = (kind) => kind === "ParBegin" || kind === "ParEnd";

/** Lays out a chart. @param {Node[]} list @returns {Chart} */
export function layOut(list) {
  if (list.length === 0) return { width: 0, height: 0, nodes: [], edges: [] };
  const main = { axis: 0, steps: structure(list) };
  const size = layOutSteps(main.steps);
  moveBranch(main, size.left + MARGIN, MARGIN);
  const nodes = collectNodes(main);
  const edges = forwardEdges(main, nodes);
  for (const edge of loopEdges(list, nodes, edges)) edges.push(edge);
  return { width: Math.ceil(size.left + size.right + 2 * MARGIN), height: Math.ceil(size.height + 2 * MARGIN), nodes: [...nodes.values()].sort((a, b) => a.id - b.id), edges };
}

// The structure.

/** @param {Node[]} list @returns {Part[]} */
function structure(list) {
  const index = new Map(list.map((node) => [node.id, node]));
  const reach = reachableFrom(list, index);
  const back = list.flatMap(({ arrows }) => arrows.filter(({ loopBack }) => loopBack).map(({ to }) => to));
  /** @param {number} at @param {number} stop @returns {Part[]} */
  const read = (at, stop) => {
    /** @type {Part[]} */
    const steps = [];
    for (let node = index.get(at); node && at !== stop; node = index.get(at)) {
      const id = at;
      const arrows = node.arrows.filter(({ loopBack }) => !loopBack);
      steps.push({ node: newNode(node), arrows, loops: back.filter((to) => to === id).length });
      at = arrows.length === 1 ? arrows[0].to : commonEnd(arrows.map(({ to }) => reach.get(to) ?? new Set()));
      const join = at;
      if (arrows.length > 1) steps.push({ branches: arrows.map(({ to }) => ({ axis: 0, steps: read(to, join) })) });
    }
    return steps;
  };
  return read(list[0].id, 0);
}

/**
 * Returns the nodes reachable from each node, itself included, without loop arrows: other arrows lead to higher ids. The end of a loop's body
 * that only leads back counts as leading to the node after the loop.
 * @param {Node[]} list @param {Map<number, Node>} index
 */
function reachableFrom(list, index) {
  /** @type {Map<number, Set<number>>} */
  const reach = new Map();
  for (const { id, arrows } of [...list].sort((a, b) => b.id - a.id)) {
    const next = arrows.filter(({ loopBack }) => !loopBack).map(({ to }) => to);
    if (next.length === 0 && arrows.length > 0 && index.has(id + 1)) next.push(id + 1);
    reach.set(id, new Set([id, ...next.flatMap((to) => [...(reach.get(to) ?? [])])]));
  }
  return reach;
}

/** Returns the first node in all sets, or 0. @param {Set<number>[]} sets */
function commonEnd([first, ...others]) {
  const common = [...(first ?? [])].filter((id) => others.every((set) => set.has(id)));
  return common.length > 0 ? Math.min(...common) : 0;
}

/** Collects all nodes, by id. @param {Branch} branch @param {Map<number, Placed>} [found] */
function collectNodes({ steps }, found = new Map()) {
  for (const part of steps) {
    if ("node" in part) found.set(part.node.id, part.node);
    else for (const branch of part.branches) collectNodes(branch, found);
  }
  return found;
}

// The places.

/** Places the steps of a branch relative to the top of its axis, and returns their size. @param {Part[]} steps @returns {Size} */
function layOutSteps(steps) {
  const size = { left: LANE / 2, right: LANE / 2, height: 0 };
  let back = 0;
  steps.forEach((part, i) => {
    if (i > 0) size.height += ROW_GAP;
    const one = "node" in part ? placeNode(part, size.height) : layOutBranches(part.branches, steps[i - 1], steps[i + 1], size.height);
    if ("node" in part) back += part.loops * LANE;
    size.left = Math.max(size.left, one.left);
    size.right = Math.max(size.right, one.right);
    size.height += one.height;
  });
  size.left += back;
  return size;
}

/** @param {Step} step @param {number} y @returns {Size} */
function placeNode({ node }, y) {
  node.y = y;
  return { left: node.width / 2, right: node.width / 2, height: node.height };
}

/** @param {Branch[]} branches @param {Part} before @param {Part | undefined} after @param {number} y @returns {Size} */
function layOutBranches(branches, before, after, y) {
  const sizes = branches.map(({ steps }) => layOutSteps(steps));
  const fork = "node" in before ? before.node : undefined;
  const axes = !fork || isBar(fork.kind) ? parallelAxes(sizes) : branchAxes(branches, sizes, fork.width / 2 + LANE);
  branches.forEach((branch, i) => moveBranch(branch, axes[i], y));
  for (const part of [before, after]) {
    if (!part || !("node" in part) || !isBar(part.node.kind)) continue;
    part.node.x = Math.min(...axes) - BAR.overhang;
    part.node.width = Math.max(...axes) - Math.min(...axes) + 2 * BAR.overhang;
  }
  return {
    left: Math.max(BAR.overhang - Math.min(...axes), ...sizes.map(({ left }, i) => left - axes[i])),
    right: Math.max(BAR.overhang + Math.max(...axes), ...sizes.map(({ right }, i) => right + axes[i])),
    height: Math.max(...sizes.map(({ height }) => height)),
  };
}

/** Returns the axes of parallel branches, symmetric around the middle. @param {Size[]} sizes */
function parallelAxes(sizes) {
  const between = sizes.slice(1).map(({ left }, i) => sizes[i].right + COLUMN_GAP + left);
  const axes = [0];
  between.forEach((one, i) => axes.push(axes[i] + Math.max(one, between[between.length - 1 - i])));
  const middle = axes[axes.length - 1] / 2;
  return axes.map((axis) => axis - middle);
}

/** Returns the axes of the branches of a condition. An empty branch passes the other at its right. @param {Branch[]} branches @param {Size[]} sizes @param {number} minimum */
function branchAxes(branches, sizes, minimum) {
  const empty = branches.findIndex(({ steps }) => steps.length === 0);
  if (branches.length !== 2 || branches.every(({ steps }) => steps.length === 0)) return parallelAxes(sizes);
  if (empty < 0) return [-Math.max(minimum, sizes[0].right + COLUMN_GAP / 2), Math.max(minimum, sizes[1].left + COLUMN_GAP / 2)];
  const lane = Math.max(minimum, sizes[1 - empty].right + LANE / 2);
  return empty === 0 ? [lane, 0] : [0, lane];
}

/** @param {Branch} branch @param {number} x @param {number} y */
function moveBranch(branch, x, y) {
  branch.axis += x;
  for (const part of branch.steps) {
    if ("node" in part) {
      part.node.x += x;
      part.node.y += y;
    } else {
      for (const inner of part.branches) moveBranch(inner, x, y);
    }
  }
}

// The arrows.

/** Returns the arrows that do not lead back. @param {Branch} branch @param {Map<number, Placed>} nodes @returns {Edge[]} */
function forwardEdges({ axis, steps }, nodes) {
  return steps.flatMap((part, i) => {
    const next = steps[i + 1];
    if ("node" in part && next && "branches" in next) {
      return next.branches.map((branch, k) => edge(part.node, nodes.get(part.arrows[k].to), branch.axis, part.arrows[k].label));
    }
    if ("node" in part) return part.arrows.slice(0, 1).map((arrow) => edge(part.node, nodes.get(arrow.to), axis, arrow.label));
    return part.branches.flatMap((branch) => forwardEdges(branch, nodes));
  }).filter((one) => one !== null);
}

/** @param {Placed} node */
const middle = ({ x, y, width, height }) => ({ x: x + width / 2, y: y + height / 2 });

/** Returns an arrow that goes down at x. It starts and ends at the side of nodes that are not above and below. @param {Placed} from @param {Placed | undefined} to @param {number} x @param {string} [text] @returns {Edge | null} */
function edge(from, to, x, text) {
  if (!to) return null;
  /** @type {[number, number][]} */
  const points = [];
  /** @type {Label | null} */
  let label = null;
  const begin = middle(from);
  const side = x < begin.x ? from.x : from.x + from.width;
  if (isBar(from.kind) || x === begin.x) {
    points.push([x, from.y + from.height]);
    if (text) label = { x: x + 8, y: from.y + from.height + 16, text, end: false };
  } else {
    points.push([side, begin.y], [x, begin.y]);
    if (text) label = { x: x < begin.x ? side - 8 : side + 8, y: begin.y - 6, text, end: x < begin.x };
  }
  const end = middle(to);
  if (isBar(to.kind) || x === end.x) points.push([x, to.y]);
  else points.push([x, end.y], [x < end.x ? to.x : to.x + to.width, end.y]);
  return { from: from.id, to: to.id, back: false, points, label };
}

/** Returns the loop arrows, to the left of all they pass, inner ones first. @param {Node[]} list @param {Map<number, Placed>} nodes @param {Edge[]} others @returns {Edge[]} */
function loopEdges(list, nodes, others) {
  const arrows = list.flatMap(({ id, arrows }) => arrows.filter(({ loopBack }) => loopBack).map((arrow) => ({ from: id, ...arrow })));
  arrows.sort((a, b) => (a.from - a.to) - (b.from - b.to));
  /** @type {Edge[]} */
  const edges = [];
  for (const { from, to, label } of arrows) {
    const [begin, end] = [nodes.get(from), nodes.get(to)];
    if (!begin || !end) continue;
    /** @param {number} id */
    const within = (id) => to <= id && id <= from;
    const passed = [...others, ...edges].filter((one) => within(one.from) && within(one.to)).flatMap(({ points }) => points.map(([x]) => x));
    const x = Math.min(...passed, ...[...nodes.values()].filter(({ id }) => within(id)).map((node) => node.x)) - LOOP_GAP;
    edges.push(loopEdge(begin, end, x, label));
  }
  return edges;
}

/** @param {Placed} from @param {Placed} to @param {number} x @param {string} [text] @returns {Edge} */
function loopEdge(from, to, x, text) {
  const [begin, end] = [middle(from), middle(to)];
  const below = from.y + from.height + ROW_GAP / 3;
  /** @type {[number, number][]} */
  const start = from.kind === "AltEnd" || from.kind === "LoopEnd" ? [[begin.x, from.y + from.height], [begin.x, below], [x, below]] : [[from.x, begin.y], [x, begin.y]];
  const label = text ? { x: from.x - 6, y: begin.y - 6, text, end: true } : null;
  return { from: from.id, to: to.id, back: true, points: [...start, [x, to.y - LOOP_ENTRY], [end.x, to.y - LOOP_ENTRY], [end.x, to.y]], label };
}

/** Returns the SVG path of an arrow, with rounded corners. @param {[number, number][]} points @param {number} [radius] */
export function pathOf(points, radius = 8) {
  return points.map(([x, y], i) => {
    const [before, next] = [points[i - 1], points[i + 1]];
    if (!before) return `M${x} ${y}`;
    if (!next) return `L${x} ${y}`;
    const r = Math.min(radius, distance([x, y], before) / 2, distance([x, y], next) / 2);
    return `L${pointToward([x, y], before, r)}Q${x} ${y} ${pointToward([x, y], next, r)}`;
  }).join("");
}

/** @param {[number, number]} a @param {[number, number]} b */
const distance = (a, b) => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]);

/** @param {[number, number]} from @param {[number, number]} to @param {number} by */
const pointToward = (from, to, by) => `${from[0] + Math.sign(to[0] - from[0]) * by} ${from[1] + Math.sign(to[1] - from[1]) * by}`;
