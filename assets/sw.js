// The service worker of the installed app. It keeps one thing: a page that says that the portal cannot be reached. Everything else always comes
// from the portal, so the app never runs old code, and nothing of a session is stored here. A new version of the portal registers it anew.

const worker = /** @type {any} */ (globalThis);
const OWN = `offline ${worker.registration.scope} `; // other portals may be below other paths of the same origin
const CACHE = OWN + worker.location.search; // the version
const SHELL = ["offline.html", "offline.js", "styles/offline.css"];

worker.addEventListener("install", (/** @type {any} */ event) => {
  worker.skipWaiting();
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(SHELL.map((name) => new Request(name, { cache: "reload" })))));
});

worker.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil(activate()));

async function activate() {
  await worker.registration.navigationPreload?.enable(); // the request need not wait for this worker to start
  const mine = (await caches.keys()).filter((name) => name.startsWith(OWN) && name !== CACHE);
  await Promise.all(mine.map((name) => caches.delete(name)));
  await worker.clients.claim();
}

worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const { request } = event;
  if (request.method !== "GET") return;
  if (request.mode === "navigate" && request.destination === "document") event.respondWith(open(event));
  else if (SHELL.some((name) => request.url === address(name))) event.respondWith(fetch(request).catch(() => kept(request.url)));
});

/** Returns a document of the portal, or the page that says that there is no connection. @param {any} event */
async function open(event) {
  try {
    return (await event.preloadResponse) ?? (await fetch(event.request));
  } catch {
    return kept(address(SHELL[0]));
  }
}

/** @param {string} name */
const address = (name) => new URL(name, worker.registration.scope).href;

/** @param {string} url */
const kept = async (url) => (await caches.match(url)) ?? Response.error();
