// The visible rows of a long list. Pure.

/** Returns the total height of rows. @param {{height: number}[]} rows */
export const totalHeight = (rows) => rows.reduce((sum, { height }) => sum + height, 0);

/**
 * Returns the range of rows between two heights: from the first, to before the last.
 * @param {{height: number}[]} rows @param {number} top @param {number} bottom @returns {[number, number]}
 */
export function visibleRange(rows, top, bottom) {
  let from = 0;
  let y = 0;
  for (; from < rows.length && y + rows[from].height <= top; from++) y += rows[from].height;
  let to = from;
  for (; to < rows.length && y < bottom; to++) y += rows[to].height;
  return [from, to];
}
