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

  // The headers of this document keep Chromium from every connection (Connection-Allowlist). What follows is for browsers that do
  // not know that header, where no policy covers hints to connect to somewhere: elements and interfaces that the list does not have
  // are not there. From here on nothing that generated code could replace is relied upon, and a name is made text once.
  const { apply } = Reflect;
  const { toLowerCase, lastIndexOf, slice } = String.prototype;
  const elements = Object.freeze(Object.assign(Object.create(null), Object.fromEntries(`
    a abbr address area article aside audio b bdi bdo blockquote body br button canvas caption cite code col colgroup data datalist dd del details dfn dialog div
    dl dt em fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html i img input ins kbd label legend li main map mark menu meter nav
    ol optgroup option output p picture pre progress q rp rt ruby s samp search section select slot small source span strong style sub summary sup table tbody
    td template textarea tfoot th thead time title tr track u ul var video wbr
    svg animate animatemotion animatetransform circle clippath defs desc ellipse feblend fecolormatrix fecomponenttransfer fecomposite feconvolvematrix
    fediffuselighting fedisplacementmap fedistantlight fedropshadow feflood fefunca fefuncb fefuncg fefuncr fegaussianblur femerge femergenode femorphology
    feoffset fepointlight fespecularlighting fespotlight fetile feturbulence filter foreignobject g image line lineargradient marker mask metadata mpath path
    pattern polygon polyline radialgradient rect set stop switch symbol text textpath tspan use view
    math annotation maction merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt mstyle msub msubsup msup mtable mtd
    mtext mtr munder munderover semantics`.trim().split(/\s+/).map((name) => [name, true]))));
  const create = Document.prototype.createElement;
  const createNS = Document.prototype.createElementNS;
  /** @param {unknown} name */
  const known = (name) => {
    const text = `${name}`;
    const low = apply(toLowerCase, text, []);
    return elements[apply(slice, low, [apply(lastIndexOf, low, [":"]) + 1])] ? text : "span";
  };
  Document.prototype.createElement = /** @type {any} */ (function createElement(/** @type {any} */ name) {
    return apply(create, this, [known(name)]);
  });
  Document.prototype.createElementNS = /** @type {any} */ (function createElementNS(/** @type {any} */ space, /** @type {any} */ name) {
    return apply(createNS, this, [space, known(name)]);
  });
  // Other ways to an element of any name: documents, elements of one's own, markup (what takes texts is closed by Trusted Types,
  // execCommand("insertHTML") too).
  delete /** @type {any} */ (DOMImplementation.prototype).createDocument;
  for (const of of [Document, Document.prototype, Element.prototype, DocumentFragment.prototype, world.ShadowRoot.prototype]) {
    for (const name of Object.getOwnPropertyNames(of)) {
      if (/HTML/.test(name) && !/^(innerHTML|outerHTML|insertAdjacentHTML|getHTML)$/.test(name)) delete (/** @type {any} */ (of)[name]);
    }
  }
  /** @param {object} of @param {string} name @returns {() => any} */
  const getter = (of, name) => /** @type {any} */ (Object.getOwnPropertyDescriptor(of, name)).get;
  const [targetOf, nameOf, { preventDefault }] = [getter(Event.prototype, "target"), getter(Element.prototype, "localName"), Event.prototype];
  for (const type of ["paste", "drop"]) {
    addEventListener(type, (event) => {
      const target = apply(targetOf, event, []);
      const name = target === document ? "" : apply(nameOf, target, []);
      if (name !== "input" && name !== "textarea") apply(preventDefault, event, []); // elsewhere it becomes elements
    }, true);
  }
  delete world.CustomElementRegistry.prototype.define;
  const interfaces = new RegExp(`^(on[a-z]+|(HTML|SVG|MathML|CSS|DOM|Text|Form|Canvas|WebGL|Media|Animation|Keyframe|Node|Static|Performance|Readable|Writable|Transform|Compression|Decompression)\\w*|\\w*(Event|Observer|ObserverEntry|Array|Error|Range)|${`
    AbortController AbortSignal ArrayBuffer AsyncDisposableStack Atomics Attr BigInt Blob Boolean CDATASection CharacterData Comment Crypto CryptoKey DataTransfer DataView Date
    DisposableStack Document DocumentFragment DocumentTimeline DocumentType Element ElementInternals EventTarget File FileList FileReader FinalizationRegistry FontFace FontFaceSet Function
    Headers Highlight History IdleDeadline Image ImageBitmap ImageData Infinity Intl Iterator JSON Location Map Math MessageChannel MessagePort NaN NamedNodeMap Navigator Number
    Object Option Path2D Promise Proxy RadioNodeList React Reflect RegExp Request Response Screen Selection Set ShadowRoot String StyleSheet StyleSheetList SubtleCrypto Symbol
    TimeRanges Touch TouchList TreeWalker URL URLSearchParams ValidityState VisualViewport WeakMap WeakRef WeakSet Window XMLSerializer XPathResult
    addEventListener alert atob blur btoa cancelAnimationFrame cancelIdleCallback clearInterval clearTimeout close closed confirm console createImageBitmap crypto decodeURI
    decodeURIComponent devicePixelRatio dispatchEvent document encodeURI encodeURIComponent escape eval event fetch find focus getComputedStyle getSelection globalThis history innerHeight
    innerWidth isFinite isNaN isSecureContext length location locationbar matchMedia menubar name navigator open origin outerHeight outerWidth pageXOffset pageYOffset
    parseFloat parseInt performance personalbar print prompt queueMicrotask removeEventListener reportError requestAnimationFrame requestIdleCallback screen screenLeft screenTop
    screenX screenY scroll scrollBy scrollTo scrollX scrollY scrollbars self setInterval setTimeout status statusbar stop structuredClone toolbar top trustedTypes undefined
    unescape visualViewport window`.trim().split(/\s+/).join("|")})$`);
  for (const name of Object.getOwnPropertyNames(world)) if (!interfaces.test(name)) Reflect.deleteProperty(world, name);
  const about = new Set(["constructor", "hardwareConcurrency", "language", "languages", "maxTouchPoints", "onLine", "platform", "userAgent", "vendor", "webdriver"]);
  for (const name of Object.getOwnPropertyNames(Navigator.prototype)) if (!about.has(name)) Reflect.deleteProperty(Navigator.prototype, name);
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
    if (stopped) stopped.textContent = "This interface stopped because of an error in its code.";
    fail(error);
  };
  addEventListener("error", (event) => fail(event.error ?? event.message));
  addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    fail(event.reason);
  });

  // Interfaces render themselves with this, as in any page that has React and ReactDOM.
  const Shown = (/** @type {any} */ { children }) => {
    React.useEffect(() => tell("shown"), []);
    return children;
  };
  /** @type {any} */
  let root;
  world.ReactDOM = {
    createRoot: () => ({
      render: (/** @type {unknown} */ element) => {
        root ??= createRoot(document.getElementById("root"), { onUncaughtError: stop, onCaughtError: fail });
        root.render(React.createElement(Shown, null, element));
      },
    }),
  };
  /** Runs what the portal has built. @param {string} code */
  const show = (code) => {
    const script = /** @type {HTMLScriptElement} */ (create.call(document, "script"));
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    script.onload = () => URL.revokeObjectURL(url);
    script.src = policy ? policy.createScriptURL(url) : url;
    document.body.append(script);
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
  else tell("no-react");
})();
