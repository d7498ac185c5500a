// The inside of the frame that a generated interface runs in. It stands behind React in one inline script, which is all that the
// Content-Security-Policy of the frame lets run besides scripts from blobs, and comes before any generated code. What that code can do
// to this one is no matter: the page around trusts nothing that comes from the frame (spec/studio.md, The frame).
(() => {
  "use strict";
  const world = /** @type {any} */ (globalThis);
  const { React, createRoot } = world;
  delete world.createRoot;
  const page = window.parent;
  const origin = new URL(location.href).origin; // of the portal; that of the frame is none
  /** @param {string} type @param {Record<string, unknown>} [more] @param {Transferable[]} [transfer] */
  const tell = (type, more = {}, transfer = []) => page.postMessage({ type, ...more }, { targetOrigin: origin, transfer });

  // What a Content-Security-Policy does not close: connections between browsers, and hints to connect to somewhere.
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "XSLTProcessor"]) delete world[name];
  const inert = new Set(["link", "meta", "base", "iframe", "frame", "object", "embed"]);
  const create = Document.prototype.createElement;
  const createNS = Document.prototype.createElementNS;
  /** @param {unknown} name */
  const harmless = (name) => (inert.has(String(name).toLowerCase().split(":").at(-1) ?? "") ? "span" : name);
  Document.prototype.createElement = /** @type {any} */ (function create_(/** @type {any} */ name, /** @type {any} */ options) {
    return create.call(this, /** @type {string} */ (harmless(name)), options);
  });
  Document.prototype.createElementNS = /** @type {any} */ (function createNS_(/** @type {any} */ space, /** @type {any} */ name, /** @type {any} */ options) {
    return createNS.call(this, space, /** @type {string} */ (harmless(name)), options);
  });
  // With this policy there is no other (trusted-types), so markup cannot be made of text either.
  const policy = world.trustedTypes?.createPolicy("portal", { createScriptURL: (/** @type {string} */ url) => url });

  // Calls of the API: the page around makes them.
  let lastCall = 0;
  /** @type {Map<number, (answer: any) => void>} */
  const calls = new Map();
  /** @param {RequestInfo | URL} input @param {RequestInit} [init] */
  world.fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const request = new Request(input instanceof Request ? input : "https://relative.invalid/", init);
    const body = await request.arrayBuffer();
    const { signal } = request;
    signal.throwIfAborted();
    const id = ++lastCall;
    const answer = await new Promise((resolve, reject) => {
      calls.set(id, resolve);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      tell("call", { id, method: request.method, url, headers: [...request.headers], body }, [body]);
    }).finally(() => calls.delete(id));
    if (answer.error) throw new TypeError(answer.error);
    const { status, statusText, headers } = answer;
    const response = new Response([204, 205, 304].includes(status) ? null : answer.body, { status, statusText, headers });
    return Object.defineProperty(response, "url", { value: url });
  };

  // A sandbox without allow-forms tells nobody that a form was submitted, and interfaces wait for just that.
  /** @param {HTMLFormElement} form @param {HTMLElement | null} by */
  const submit = (form, by) => {
    if (form.noValidate || (by instanceof HTMLButtonElement && by.formNoValidate) || form.reportValidity()) {
      form.dispatchEvent(new SubmitEvent("submit", { bubbles: true, cancelable: true, submitter: by }));
    }
  };
  HTMLFormElement.prototype.requestSubmit = function requestSubmit(by = null) {
    submit(this, by);
  };
  addEventListener("click", (event) => {
    if (event.defaultPrevented || !(event.target instanceof Element)) return;
    const button = /** @type {HTMLButtonElement | HTMLInputElement | null} */ (event.target.closest("button, input[type=submit], input[type=image]"));
    if (button?.form && !button.disabled && button.type !== "button" && button.type !== "reset") {
      event.preventDefault();
      submit(button.form, button);
    }
    const href = event.target.closest("a[href], area[href]")?.getAttribute("href") ?? "#";
    if (href.startsWith("#")) return;
    event.preventDefault(); // the frame goes nowhere
    tell("link", { url: href });
  });
  addEventListener("keydown", (event) => {
    const field = event.target;
    if (event.key !== "Enter" || event.isComposing || event.defaultPrevented || !(field instanceof HTMLInputElement) || !field.form) return;
    if (["button", "submit", "reset", "image", "file", "checkbox", "radio", "color", "range"].includes(field.type)) return;
    event.preventDefault();
    const button = [...field.form.elements].find((one) => (one instanceof HTMLButtonElement || one instanceof HTMLInputElement) && (one.type === "submit" || one.type === "image"));
    if (button instanceof HTMLElement) button.click();
    else submit(field.form, null);
  });

  // What goes wrong.
  /** @param {unknown} error */
  const textOf = (error) => (error instanceof Error ? `${error.name}: ${error.message}` : String(error));
  /** @param {unknown} error */
  const fail = (error) => tell("failed", { text: textOf(error) });
  /** @param {unknown} error */
  const stop = (error) => {
    const stopped = document.getElementById("stopped");
    if (stopped) stopped.textContent = "This interface has stopped, as its code has an error.";
    fail(error);
  };
  addEventListener("error", (event) => fail(event.error ?? event.message));
  addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    fail(event.reason);
  });

  /** Runs what the portal has built. @param {string} code */
  const show = (code) => {
    const script = /** @type {HTMLScriptElement} */ (create.call(document, "script"));
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    script.onload = () => {
      URL.revokeObjectURL(url);
      if (typeof world.App === "function") mount(world.App);
    };
    script.src = policy ? policy.createScriptURL(url) : url;
    document.body.append(script);
  };
  /** @param {unknown} App */
  const mount = (App) => {
    const Shown = () => {
      React.useEffect(() => tell("shown"), []);
      return React.createElement(App);
    };
    createRoot(document.getElementById("root"), { onUncaughtError: stop, onCaughtError: fail }).render(React.createElement(Shown));
  };

  let begun = false;
  addEventListener("message", ({ source, data }) => {
    if (source !== page) return;
    if (data.type === "ping") tell("pong", { n: data.n });
    if (data.type === "answer") calls.get(data.id)?.(data);
    if (data.type !== "show" || begun) return;
    begun = true;
    show(data.code);
  });
  if (React) tell("ready");
  else tell("bare"); // this portal was built without React
})();
