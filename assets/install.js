// The page as an app: its service worker, and the notice that the portal has a new version of the page.

import { h } from "./dom.js";

/** The version of the page, which is in the address of its code. @type {string} */
const version = /\/(v-[0-9a-f]{16})\//.exec(import.meta.url)?.[1] ?? "";

/** Registers the service worker, where browsers allow it: over HTTPS and on this machine. */
export function registerWorker() {
  if (!version) return;
  navigator.serviceWorker?.register(`sw.js?${version}`).catch(() => {}); // the page works without it
}

/** Offers to reload the page if the portal has another version of it. @param {HTMLElement} banner */
export async function checkVersion(banner) {
  const portal = await fetch("version", { cache: "no-store" }).then((response) => response.json(), () => ({}));
  banner.hidden = !version || !portal.page || portal.page === version;
  if (!banner.hidden) banner.replaceChildren("The portal was updated. ", h("button", { type: "button", class: "small", click: () => location.reload() }, "Reload"));
}
