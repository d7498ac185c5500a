// Icons of our own: lines on a grid of 16.

const PATHS = {
  link: "M6.5 9.5l3-3M7 4.5l1.2-1.2a2.9 2.9 0 0 1 4.1 4.1L11.1 8.6M9 11.5l-1.2 1.2a2.9 2.9 0 0 1-4.1-4.1L4.9 7.4",
  clip: "M12.5 7.5l-5 5a2.8 2.8 0 0 1-4-4l5.6-5.6a1.9 1.9 0 0 1 2.7 2.7l-5.4 5.4a.9.9 0 0 1-1.3-1.3l4.7-4.7",
  close: "M4 4l8 8M12 4l-8 8",
  down: "M8 3v10M3.5 8.5L8 13l4.5-4.5",
  up: "M8 13V3M3.5 7.5L8 3l4.5 4.5",
  stop: "M4.5 4.5h7v7h-7z",
  side: "M2.5 3.5h11v9h-11zM10 3.5v9",
  file: "M4 2.5h5l3 3v8H4zM9 2.5v3h3",
  check: "M3.5 8.5l3 3 6-7",
  ring: "M8 3.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9z",
  half: "M8 3.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM8 6v2.2l1.6 1",
  reload: "M12.5 8a4.5 4.5 0 1 1-1.4-3.3M12.6 2.6v2.6H10",
};

/** @typedef {keyof typeof PATHS} IconName */

/** An icon, which says nothing: who hears the page hears the name of its button. @param {IconName} name */
export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const node = document.createElementNS(space, "svg");
  for (const [key, value] of Object.entries({ class: "icon", viewBox: "0 0 16 16", width: "16", height: "16", "aria-hidden": "true" })) node.setAttribute(key, value);
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", PATHS[name]);
  node.append(path);
  return node;
}
