// Where the nodes and arrows of a flow chart lie. Pure: it knows neither a page nor how a job is.
//
// A chart is structured (spec/jobs.md): it is a list of things one below the other, each a node or a fork of lists that
// meet again. So each list is laid out by itself around its axis, on which it is entered and left, and put into the one
// around it.

/**
 * @typedef {{to: number, loopBack: boolean, label?: string}} Arrow
 * @typedef {{id: number, hint: string | [string, number], label?: string, arrows: Arrow[]}} Node as portal.jobs.list has it
 *
 * @typedef {{x: number, y: number, text: string, end: boolean}} Label end: the text ends at x
 * @typedef {{id: number, kind: string, work: number, label: string, x: number, y: number, width: number, height: number}} Placed
 *   x, y: the upper left corner; work: 0 if it stands for none
 * @typedef {{from: number, to: number, back: boolean, points: [number, number][], label: Label | null}} Edge
 * @typedef {{width: number, height: number, nodes: Placed[], edges: Edge[]}} Chart
 *
 * @typedef {{node: Placed, arrows: Arrow[], loops: number}} Step loops: how many ways lead back to it
 * @typedef {{axis: number, steps: Part[]}} Way
 * @typedef {Step | {ways: Way[]}} Part
 * @typedef {{left: number, right: number, height: number}} Size left, right: of the axis
 */

const NODE = { height: 50, least: 136, most: 244, beside: 58 }; // beside: what a node has besides its name
const BAR = { height: 6, beyond: 28 };
const DOT = 12;
const ROW = 34; // between things one below the other
const GAP = 20; // between things side by side
const LANE = 48; // for a way back, and for one that leads past something: a label has room there
const BESIDE = 38; // from a way back to what it leads past
const TURN = 15; // above a node, where a way back comes in
const EDGE = 18; // around everything
const LETTER = 7.900; // px, of the wider ones of usual fonts

/** How wide a text is about: letters of wide scripts take two. @param {string} text */
const widthOf = (text) => [...text].reduce((sum, letter) => sum + (letter > "\u2e7f" ? 2 : 1) * LETTER, 0);

/** A text that has room, cut in the middle: names differ at their ends. @param {string} text @param {number} room px */
export function fitting(text, room) {
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

/** How much room the name of a node has. @param {Placed} node */
export const roomIn = ({ kind, width }) => width - besides(kind);

/** A condition is pointed. @param {string} kind */
const besides = (kind) => NODE.beside + (kind === "CondNode" ? 10 : 0);

/** @param {Node} node @returns {Placed} */
function unplaced({ id, hint, label = "" }) {
  const [kind, work] = Array.isArray(hint) ? hint : [hint, 0];
  const [width, height] = work > 0 ? [Math.ceil(Math.min(NODE.most, Math.max(NODE.least, widthOf(label) + besides(kind)))), NODE.height]
    : isBar(kind) ? [2 * BAR.beyond, BAR.height] : [DOT, DOT];
  return { id, kind, work, label, x: -width / 2, y: 0, width, height };
}

/** @param {string} kind */
const isBar = (kind) => kind === "ParBegin" || kind === "ParEnd";

/** Lays out a chart. @param {Node[]} list @returns {Chart} */
export function layOut(list) {
  if (list.length === 0) return { width: 0, height: 0, nodes: [], edges: [] };
  const main = { axis: 0, steps: structure(list) };
  const size = put(main.steps);
  move(main, size.left + EDGE, EDGE);
  const nodes = every(main);
  const edges = forward(main, nodes);
  for (const edge of backward(list, nodes, edges)) edges.push(edge);
  return { width: Math.ceil(size.left + size.right + 2 * EDGE), height: Math.ceil(size.height + 2 * EDGE), nodes: [...nodes.values()].sort((a, b) => a.id - b.id), edges };
}

// The structure.

/** @param {Node[]} list @returns {Part[]} */
function structure(list) {
  const index = new Map(list.map((node) => [node.id, node]));
  const reach = reaching(list, index);
  const back = list.flatMap(({ arrows }) => arrows.filter(({ loopBack }) => loopBack).map(({ to }) => to));
  /** @param {number} at @param {number} stop @returns {Part[]} */
  const read = (at, stop) => {
    /** @type {Part[]} */
    const steps = [];
    for (let node = index.get(at); node && at !== stop; node = index.get(at)) {
      const id = at;
      const arrows = node.arrows.filter(({ loopBack }) => !loopBack);
      steps.push({ node: unplaced(node), arrows, loops: back.filter((to) => to === id).length });
      at = arrows.length === 1 ? arrows[0].to : meeting(arrows.map(({ to }) => reach.get(to) ?? new Set()));
      const join = at;
      if (arrows.length > 1) steps.push({ ways: arrows.map(({ to }) => ({ axis: 0, steps: read(to, join) })) });
    }
    return steps;
  };
  return read(list[0].id, 0);
}

/**
 * The nodes that can be reached from each, itself included, by arrows that do not lead back: these lead to higher ids. From
 * the end of a body that only leads back, the loop is left all the same: to the node behind it.
 * @param {Node[]} list @param {Map<number, Node>} index
 */
function reaching(list, index) {
  /** @type {Map<number, Set<number>>} */
  const reach = new Map();
  for (const { id, arrows } of [...list].sort((a, b) => b.id - a.id)) {
    const next = arrows.filter(({ loopBack }) => !loopBack).map(({ to }) => to);
    if (next.length === 0 && arrows.length > 0 && index.has(id + 1)) next.push(id + 1);
    reach.set(id, new Set([id, ...next.flatMap((to) => [...(reach.get(to) ?? [])])]));
  }
  return reach;
}

/** The first node that is in all sets; 0 if there is none. @param {Set<number>[]} sets */
function meeting([first, ...others]) {
  const common = [...(first ?? [])].filter((id) => others.every((set) => set.has(id)));
  return common.length > 0 ? Math.min(...common) : 0;
}

/** All nodes, by id. @param {Way} way @param {Map<number, Placed>} [found] */
function every({ steps }, found = new Map()) {
  for (const part of steps) {
    if ("node" in part) found.set(part.node.id, part.node);
    else for (const way of part.ways) every(way, found);
  }
  return found;
}

// The places.

/** Puts the nodes of a list to where they are from the top of its axis, and says how much room it takes. @param {Part[]} steps @returns {Size} */
function put(steps) {
  const size = { left: LANE / 2, right: LANE / 2, height: 0 };
  let back = 0;
  steps.forEach((part, i) => {
    if (i > 0) size.height += ROW;
    const one = "node" in part ? putNode(part, size.height) : putWays(part.ways, steps[i - 1], steps[i + 1], size.height);
    if ("node" in part) back += part.loops * LANE;
    size.left = Math.max(size.left, one.left);
    size.right = Math.max(size.right, one.right);
    size.height += one.height;
  });
  size.left += back;
  return size;
}

/** @param {Step} step @param {number} y @returns {Size} */
function putNode({ node }, y) {
  node.y = y;
  return { left: node.width / 2, right: node.width / 2, height: node.height };
}

/** @param {Way[]} ways @param {Part} before @param {Part | undefined} behind @param {number} y @returns {Size} */
function putWays(ways, before, behind, y) {
  const sizes = ways.map(({ steps }) => put(steps));
  const fork = "node" in before ? before.node : undefined;
  const axes = !fork || isBar(fork.kind) ? abreast(sizes) : around(ways, sizes, fork.width / 2 + LANE);
  ways.forEach((way, i) => move(way, axes[i], y));
  for (const part of [before, behind]) {
    if (!part || !("node" in part) || !isBar(part.node.kind)) continue;
    part.node.x = Math.min(...axes) - BAR.beyond;
    part.node.width = Math.max(...axes) - Math.min(...axes) + 2 * BAR.beyond;
  }
  return {
    left: Math.max(BAR.beyond - Math.min(...axes), ...sizes.map(({ left }, i) => left - axes[i])),
    right: Math.max(BAR.beyond + Math.max(...axes), ...sizes.map(({ right }, i) => right + axes[i])),
    height: Math.max(...sizes.map(({ height }) => height)),
  };
}

/** The axes of ways side by side, as far from each other at the left as at the right of the middle. @param {Size[]} sizes */
function abreast(sizes) {
  const between = sizes.slice(1).map(({ left }, i) => sizes[i].right + GAP + left);
  const axes = [0];
  between.forEach((one, i) => axes.push(axes[i] + Math.max(one, between[between.length - 1 - i])));
  const middle = axes[axes.length - 1] / 2;
  return axes.map((axis) => axis - middle);
}

/** The axes of two ways below a condition: one that only leads past the other goes at its right. @param {Way[]} ways @param {Size[]} sizes @param {number} least */
function around(ways, sizes, least) {
  const past = ways.findIndex(({ steps }) => steps.length === 0);
  if (ways.length !== 2 || ways.every(({ steps }) => steps.length === 0)) return abreast(sizes);
  if (past < 0) return [-Math.max(least, sizes[0].right + GAP / 2), Math.max(least, sizes[1].left + GAP / 2)];
  const lane = Math.max(least, sizes[1 - past].right + LANE / 2);
  return past === 0 ? [lane, 0] : [0, lane];
}

/** @param {Way} way @param {number} x @param {number} y */
function move(way, x, y) {
  way.axis += x;
  for (const part of way.steps) {
    if ("node" in part) {
      part.node.x += x;
      part.node.y += y;
    } else {
      for (const inner of part.ways) move(inner, x, y);
    }
  }
}

// The arrows.

/** The arrows that do not lead back. @param {Way} way @param {Map<number, Placed>} nodes @returns {Edge[]} */
function forward({ axis, steps }, nodes) {
  return steps.flatMap((part, i) => {
    const next = steps[i + 1];
    if ("node" in part && next && "ways" in next) {
      return next.ways.map((way, k) => edge(part.node, nodes.get(part.arrows[k].to), way.axis, part.arrows[k].label));
    }
    if ("node" in part) return part.arrows.slice(0, 1).map((arrow) => edge(part.node, nodes.get(arrow.to), axis, arrow.label));
    return part.ways.flatMap((way) => forward(way, nodes));
  }).filter((one) => one !== null);
}

/** @param {Placed} node */
const middle = ({ x, y, width, height }) => ({ x: x + width / 2, y: y + height / 2 });

/** An arrow that goes down at x: beside a node it begins and ends at its side. @param {Placed} from @param {Placed | undefined} to @param {number} x @param {string} [text] @returns {Edge | null} */
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

/** The arrows that lead back, at the left of all that they lead past; the inner ones first. @param {Node[]} list @param {Map<number, Placed>} nodes @param {Edge[]} others @returns {Edge[]} */
function backward(list, nodes, others) {
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
    const x = Math.min(...passed, ...[...nodes.values()].filter(({ id }) => within(id)).map((node) => node.x)) - BESIDE;
    edges.push(wayBack(begin, end, x, label));
  }
  return edges;
}

/** @param {Placed} from @param {Placed} to @param {number} x @param {string} [text] @returns {Edge} */
function wayBack(from, to, x, text) {
  const [begin, end] = [middle(from), middle(to)];
  const below = from.y + from.height + ROW / 3;
  /** @type {[number, number][]} */
  const start = from.kind === "AltEnd" || from.kind === "LoopEnd" ? [[begin.x, from.y + from.height], [begin.x, below], [x, below]] : [[from.x, begin.y], [x, begin.y]];
  const label = text ? { x: from.x - 6, y: begin.y - 6, text, end: true } : null;
  return { from: from.id, to: to.id, back: true, points: [...start, [x, to.y - TURN], [end.x, to.y - TURN], [end.x, to.y]], label };
}

/** The path of an arrow, its corners round. @param {[number, number][]} points @param {number} [radius] */
export function pathOf(points, radius = 8) {
  return points.map(([x, y], i) => {
    const [before, next] = [points[i - 1], points[i + 1]];
    if (!before) return `M${x} ${y}`;
    if (!next) return `L${x} ${y}`;
    const r = Math.min(radius, distance([x, y], before) / 2, distance([x, y], next) / 2);
    return `L${toward([x, y], before, r)}Q${x} ${y} ${toward([x, y], next, r)}`;
  }).join("");
}

/** @param {[number, number]} a @param {[number, number]} b */
const distance = (a, b) => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]);

/** @param {[number, number]} from @param {[number, number]} to @param {number} by */
const toward = (from, to, by) => `${from[0] + Math.sign(to[0] - from[0]) * by} ${from[1] + Math.sign(to[1] - from[1]) * by}`;
