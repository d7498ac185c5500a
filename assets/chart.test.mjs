import assert from "node:assert/strict";
import { test } from "node:test";

import { fitLabel, layOut, pathOf, labelWidth } from "./chart.js";

/** An arrow. */
const to = (id, label, loopBack = false) => ({ to: id, loopBack, ...(label && { label }) });
const task = (id, label, ...arrows) => ({ id, hint: ["TaskNode", id], label, arrows });
const condition = (id, label, ...arrows) => ({ id, hint: ["CondNode", id], label, arrows });
const joint = (id, hint, ...arrows) => ({ id, hint, arrows });

/** The job refine of the built-in book. */
const REFINE = [
  task(1, "draft", to(2)),
  joint(2, "ParBegin", to(3), to(4), to(5)), task(3, "review-correctness", to(6)), task(4, "review-completeness", to(6)), task(5, "review-clarity", to(6)), joint(6, "ParEnd", to(7)),
  task(7, "apply", to(8)), condition(8, "settled", to(2, "false", true), to(9, "true")), joint(9, "LoopEnd"),
];

/** All kinds of works in each other: a loop that asks before; in it a loop that asks after, both sorts of Alt, and a condition of many works. */
const WILD = [
  task(1, "begin", to(2)),
  condition(2, "more-to-do", to(3, "true"), to(18, "false")),
  joint(3, "ParBegin", to(4), to(7), to(14)),
  task(4, "work", to(5)), condition(5, "good", to(4, "false", true), to(6, "true")), joint(6, "LoopEnd", to(17)),
  joint(7, "CondBegin", to(8)), task(8, "weigh", to(9)), joint(9, "CondEnd", to(10, "true"), to(11, "false")), task(10, "one", to(13)), task(11, "the other, whose name is long", to(13)), joint(13, "AltEnd", to(17)),
  condition(14, "is-it", to(15, "true"), to(16, "false")), task(15, "then", to(16)), joint(16, "AltEnd", to(17)),
  joint(17, "ParEnd", to(2, "", true)),
  joint(18, "LoopEnd", to(19)), task(19, "again", to(19, "", true), to(20)), joint(20, "LoopEnd"),
];

const CHARTS = {
  "a single task": [task(1, "only")],
  "tasks one after another": [task(1, "a", to(2)), task(2, "b", to(3)), task(3, "c")],
  "refine": REFINE,
  "everything nested": WILD,
  "a single parallel branch": [joint(1, "ParBegin", to(2)), task(2, "alone", to(3)), joint(3, "ParEnd")],
  "an Alt whose true is missing": [condition(1, "is-it", to(3, "true"), to(2, "false")), task(2, "else", to(3)), joint(3, "AltEnd")],
  "a loop around an Alt": [condition(1, "is-it", to(2, "true"), to(3, "false")), task(2, "a", to(4)), task(3, "b", to(4)), joint(4, "AltEnd", to(1, "", true), to(5)), joint(5, "LoopEnd")],
};

const byID = (chart) => new Map(chart.nodes.map((node) => [node.id, node]));

/** The straight segments of all arrows. */
const segments = (chart) => chart.edges.flatMap((edge) => edge.points.slice(1).map((end, i) => ({ edge, a: edge.points[i], b: end })));

/** Reports whether a segment crosses the inside of a box. */
const cuts = ({ a, b }, { x, y, width, height }) =>
  Math.max(a[0], b[0]) > x + 1 && Math.min(a[0], b[0]) < x + width - 1 && Math.max(a[1], b[1]) > y + 1 && Math.min(a[1], b[1]) < y + height - 1;

const labelBox = ({ x, y, text, end }) => ({ x: end ? x - 7 * text.length : x, y: y - 11, width: 7 * text.length, height: 13 });

const apart = (a, b) => a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;

for (const [name, nodes] of Object.entries(CHARTS)) {
  test(`in ${name} nothing overlaps`, () => {
    const chart = layOut(nodes);
    assert.equal(chart.nodes.length, nodes.length);
    assert.equal(chart.edges.length, nodes.reduce((sum, { arrows }) => sum + arrows.length, 0), "every arrow is there once");
    chart.nodes.forEach((a, i) => chart.nodes.slice(i + 1).forEach((b) => assert.ok(apart(a, b), `${a.label || a.kind} and ${b.label || b.kind}`)));
    for (const segment of segments(chart)) {
      for (const node of chart.nodes) assert.ok(!cuts(segment, node), `${segment.edge.from} → ${segment.edge.to} goes through ${node.id}`);
    }
    for (const { label, from } of chart.edges) {
      if (!label) continue;
      for (const node of chart.nodes) assert.ok(apart(labelBox(label), node), `${label.text} of ${from} lies over ${node.id}`);
      for (const other of chart.edges) assert.ok(!other.label || other.label === label || apart(labelBox(label), labelBox(other.label)), "labels");
    }
  });

  test(`${name} is within its size`, () => {
    const { width, height, nodes: all, edges } = layOut(nodes);
    const points = [...all.flatMap(({ x, y, width, height }) => [[x, y], [x + width, y + height]]), ...edges.flatMap(({ points }) => points)];
    for (const [x, y] of points) assert.ok(x >= 0 && y >= 0 && x <= width && y <= height, `${x}, ${y} of ${width}, ${height}`);
  });

  test(`in ${name} arrows go down, and only loop arrows go up`, () => {
    const chart = layOut(nodes);
    const places = byID(chart);
    for (const { from, to, back, points } of chart.edges) {
      const [begin, end] = [places.get(from), places.get(to)];
      assert.equal(back, nodes.find(({ id }) => id === from).arrows.find((one) => one.to === to).loopBack);
      assert.ok(back || begin.y < end.y, `${from} → ${to}`);
      assert.deepEqual(points.at(-1)[1] >= end.y && points.at(-1)[1] <= end.y + end.height, true, "it ends at its node");
      points.slice(1).forEach(([x, y], i) => assert.ok(x === points[i][0] || y === points[i][1], "it has right angles"));
    }
  });
}

test("parallel branches are side by side, between bars that span them", () => {
  const places = byID(layOut(REFINE));
  const [a, b, c] = [3, 4, 5].map((id) => places.get(id));
  assert.ok(a.y === b.y && b.y === c.y && a.x < b.x && b.x < c.x);
  for (const bar of [places.get(2), places.get(6)]) assert.ok(bar.x <= a.x + a.width / 2 && bar.x + bar.width >= c.x + c.width / 2);
  assert.equal(b.x + b.width / 2, places.get(1).x + places.get(1).width / 2, "the one in the middle is below the one above");
});

test("loop arrows pass on the left, inner ones nearer", () => {
  const chart = layOut(WILD);
  const left = (from) => Math.min(...chart.edges.find((edge) => edge.back && edge.from === from).points.map(([x]) => x));
  assert.ok(left(17) < left(5));
  assert.ok(left(5) < byID(chart).get(4).x);
});

test("a deeply nested chart is laid out quickly", () => {
  const nodes = [];
  const deep = 40;
  for (let i = 0; i < deep; i++) nodes.push(condition(i + 1, `c${i}`, to(i + 2, "true"), to(2 * deep + 1 - i, "false")));
  nodes.push(task(deep + 1, "inside", to(deep + 2)));
  for (let i = deep - 1; i >= 0; i--) nodes.push(joint(2 * deep + 1 - i, "AltEnd", ...(i > 0 ? [to(2 * deep + 2 - i)] : [])));
  const before = performance.now();
  assert.equal(layOut(nodes).nodes.length, 2 * deep + 1);
  assert.ok(performance.now() - before < 10_000, "it would take minutes if it were exponential");
});

test("an empty chart has no size", () => assert.deepEqual(layOut([]), { width: 0, height: 0, nodes: [], edges: [] }));

test("a long label is cut in the middle", () => {
  assert.equal(fitLabel("short", 100), "short");
  const cut = fitLabel("review-everything-that-was-ever-written", 120);
  assert.match(cut, /^rev.+…\S+ten$/);
  assert.ok([...fitLabel("漢".repeat(50), 120)].length < 12, "wide letters take more room");
  for (const node of layOut(REFINE).nodes.filter(({ label }) => label)) assert.equal(fitLabel(node.label, labelWidth(node)), node.label, "a node is as wide as its name");
});

test("the corners of an arrow are rounded as far as there is room", () => {
  assert.equal(pathOf([[0, 0], [0, 50]]), "M0 0L0 50");
  assert.equal(pathOf([[0, 0], [0, 50], [40, 50]]), "M0 0L0 42Q0 50 8 50L40 50");
  assert.equal(pathOf([[0, 0], [0, 10], [40, 10]]), "M0 0L0 5Q0 10 5 10L40 10");
});
