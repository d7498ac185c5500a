// The inside of the frame that a generated interface runs in. It stands behind React in one inline script, which is all that the
// Content-Security-Policy of the frame lets run besides scripts from blobs, and comes before any generated code. What that code can do
// to this one is no matter: the page around trusts nothing that comes from the frame (spec/studio.md, The frame).
(() => {
  "use strict";
  const world = /** @type {any} */ (globalThis);
  const { React, createRoot } = world;
  delete world.createRoot;
  const page = window.parent;
  // Only the portal's page can stand around this document (frame-ancestors).
  /** @param {string} type @param {Record<string, unknown>} [more] @param {Transferable[]} [transfer] */
  const tell = (type, more = {}, transfer = []) => page.postMessage({ type, ...more }, { targetOrigin: "*", transfer });

  // What a Content-Security-Policy does not close: connections between browsers, and hints to connect to somewhere.
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "XSLTProcessor"]) delete world[name];
  for (const [of, name] of [[Element.prototype, "setHTML"], [world.ShadowRoot.prototype, "setHTML"], [Document, "parseHTML"]]) delete of[name];
  // From here on nothing that generated code could replace is relied upon, and a name is made text once.
  const { apply } = Reflect;
  const { toLowerCase, lastIndexOf, slice } = String.prototype;
  const inert = Object.freeze(/** @type {any} */ ({ __proto__: null, link: 1, meta: 1, base: 1, iframe: 1, frame: 1, object: 1, embed: 1 }));
  const create = Document.prototype.createElement;
  const createNS = Document.prototype.createElementNS;
  /** @param {unknown} name */
  const harmless = (name) => {
    const text = `${name}`;
    const low = apply(toLowerCase, text, []);
    return inert[apply(slice, low, [apply(lastIndexOf, low, [":"]) + 1])] ? "span" : text;
  };
  Document.prototype.createElement = /** @type {any} */ (function create_(/** @type {any} */ name, /** @type {any} */ options) {
    return apply(create, this, [harmless(name), options]);
  });
  Document.prototype.createElementNS = /** @type {any} */ (function createNS_(/** @type {any} */ space, /** @type {any} */ name, /** @type {any} */ options) {
    return apply(createNS, this, [space, harmless(name), options]);
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
    const { status, statusText } = answer;
    const headers = answer.headers.filter((/** @type {[string, string]} */ [, value]) => /^[\x00-\xff]*$/.test(value)); // others are none to fetch
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
