// The icons: lines on a grid of 16.

const PATHS = {
  menu: "M2 4h12M2 8h12M2 12h12",
  new: "M8 3v10M3 8h10",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5 14 14",
  branch: "M5 5v6M5 5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM5 14a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11 6.500a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11 6.500c0 3-6 2-6 4.500",
  status: "M2 9h3l2-6 3 10 2-4h2",
  settings: "M2 4.500h6M12 4.500h2M2 11.500h2M8 11.500h6M10 2.700a1.800 1.800 0 1 0 0 3.600 1.800 1.800 0 0 0 0-3.600zM6 9.700a1.800 1.800 0 1 0 0 3.600 1.800 1.800 0 0 0 0-3.600z",
  list: "M5.500 4h8M5.500 8h8M5.500 12h8M2.500 4h.01M2.500 8h.01M2.500 12h.01",
  job: "M5.500 2h5v3.500h-5zM2 10.500h5V14H2zM9 10.500h5V14H9zM8 5.500V8M4.500 10.500V8h7v2.500",
  frame: "M2 3h12v10H2zM2 6h12M4.500 4.500h.01",
  warn: "M8 2 14.500 13.500h-13zM8 6.500v3M8 11.700h.01",
  link: "M6.5 9.5l3-3M7 4.5l1.2-1.2a2.9 2.9 0 0 1 4.1 4.1L11.1 8.6M9 11.5l-1.2 1.2a2.9 2.9 0 0 1-4.1-4.1L4.9 7.4",
  clip: "M12.5 7.5l-5 5a2.8 2.8 0 0 1-4-4l5.6-5.6a1.9 1.9 0 0 1 2.7 2.7l-5.4 5.4a.9.9 0 0 1-1.3-1.3l4.7-4.7",
  copy: "M5.500 5.500h7.500V14H5.500zM3 10.500V2h7.500",
  edit: "M3 13l.700-3 7.300-7.300 2.300 2.300L6 12.300zM9.500 4.200l2.300 2.300",
  retry: "M12.500 8a4.500 4.500 0 1 1-1.400-3.300L13 6.500M13 3v3.500H9.500",
  chevron: "M4.500 6.500L8 10l3.500-3.500",
  close: "M4 4l8 8M12 4l-8 8",
  down: "M8 3v10M3.5 8.5L8 13l4.5-4.5",
  stop: "M4.5 4.5h7v7h-7z",
  side: "M2.5 3.5h11v9h-11zM10 3.5v9",
  file: "M4 2.5h5l3 3v8H4zM9 2.5v3h3",
  filter: "M2.500 4h11M4.500 8h7M6.500 12h3",
  pin: "M6 2.500h4l-.500 4 2 2.500h-7l2-2.500zM8 9v4.500",
  bell: "M4 11V7.500a4 4 0 0 1 8 0V11l1 1H3zM6.800 13.800h2.400",
  check: "M3.5 8.5l3 3 6-7",
  ring: "M8 3.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9z",
  fold: "M4.500 6.500 8 10l3.500-3.500",
  star: "M8 2.300l1.750 3.600 3.950.550-2.850 2.800.670 3.950L8 11.350 4.480 13.200l.670-3.950L2.300 6.450l3.950-.550z",
  send: "M8 13V3.500M3.800 7.500 8 3.300l4.200 4.200",
  steer: "M3 13V8.500a3 3 0 0 1 3-3h6.500M9.500 2.500l3 3-3 3",
  up: "M8 12.500v-9M4 7l4-4 4 4",
  folder: "M2 4h4l1.500 1.500H14V13H2z",
  half: "M8 3.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM8 6v2.2l1.6 1",
};

/** @typedef {keyof typeof PATHS} IconName */

/** Creates an icon, hidden from screen readers: its button has a label. @param {IconName} name */
export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const node = document.createElementNS(space, "svg");
  for (const [key, value] of Object.entries({ class: "icon", viewBox: "0 0 16 16", width: "16", height: "16", "aria-hidden": "true" })) node.setAttribute(key, value);
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", PATHS[name]);
  node.append(path);
  return node;
}
