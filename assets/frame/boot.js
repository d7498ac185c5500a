// The script of the frame that runs a generated interface. It follows React in the one inline script that the frame's Content-Security-Policy
// allows besides scripts from blobs, and runs before any generated code. That code may tamper with this one: the page trusts nothing from the
// frame (spec/studio.md, The frame).
(() => {
  "use strict";
  const world = /** @type {any} */ (globalThis);
  const { React, createRoot } = world;
  delete world.createRoot;
  const page = window.parent;
  // Only the portal's page can embed this document (frame-ancestors).
  /** @param {string} type @param {Record<string, unknown>} [more] @param {Transferable[]} [transfer] */
  const send = (type, more = {}, transfer = []) => page.postMessage({ type, ...more }, { targetOrigin: "*", transfer });

  // A header of this document blocks all connections in Chromium (Connection-Allowlist). For browsers without that header, whose policies do not
  // cover connection hints, elements and interfaces that are not on the lists are removed. The code below does not rely on anything that generated
  // code can replace, and converts each name to text once.
  const { apply } = Reflect;
  const { toLowerCase, lastIndexOf, slice } = String.prototype;
  const allowedElements = Object.freeze(Object.assign(Object.create(null), Object.fromEntries(`
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
    return allowedElements[apply(slice, low, [apply(lastIndexOf, low, [":"]) + 1])] ? text : "span";
  };
  Document.prototype.createElement = /** @type {any} */ (function createElement(/** @type {any} */ name) {
    return apply(create, this, [known(name)]);
  });
  Document.prototype.createElementNS = /** @type {any} */ (function createElementNS(/** @type {any} */ space, /** @type {any} */ name) {
    return apply(createNS, this, [space, known(name)]);
  });
  // Other ways to create arbitrary elements: documents, custom elements, markup. Trusted Types block setters of HTML text and
  // execCommand("insertHTML").
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
      if (name !== "input" && name !== "textarea") apply(preventDefault, event, []); // elsewhere it inserts elements
    }, true);
  }
  delete world.CustomElementRegistry.prototype.define;
  const allowedGlobals = new RegExp(`^(on[a-z]+|(HTML|SVG|MathML|CSS|DOM|Text|Form|Canvas|WebGL|Media|Animation|Keyframe|Node|Static|Performance|Readable|Writable|Transform|Compression|Decompression)\\w*|\\w*(Event|Observer|ObserverEntry|Array|Error|Range)|${`
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
  for (const name of Object.getOwnPropertyNames(world)) if (!allowedGlobals.test(name)) Reflect.deleteProperty(world, name);
  const navigatorProperties = new Set(["constructor", "hardwareConcurrency", "language", "languages", "maxTouchPoints", "onLine", "platform", "userAgent", "vendor", "webdriver"]);
  for (const name of Object.getOwnPropertyNames(Navigator.prototype)) if (!navigatorProperties.has(name)) Reflect.deleteProperty(Navigator.prototype, name);
  // No other policy can be created (trusted-types), so text cannot become markup.
  const policy = world.trustedTypes?.createPolicy("portal", { createScriptURL: (/** @type {string} */ url) => url });

  // API calls, made by the page.
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
      signal.addEventListener("abort", () => {
        send("abort", { id });
        reject(signal.reason);
      }, { once: true });
      send("call", { id, method: request.method, url, headers: [...request.headers], body }, [body]);
    }).finally(() => calls.delete(id));
    if (answer.error) throw new TypeError(answer.error);
    const { status, statusText } = answer;
    const headers = answer.headers.filter((/** @type {[string, string]} */ [, value]) => /^[\x00-\xff]*$/.test(value)); // Response rejects others
    const response = new Response([204, 205, 304].includes(status) ? null : answer.body, { status, statusText, headers });
    return Object.defineProperty(response, "url", { value: url });
  };

  // A sandbox without allow-forms sends no submit events, which interfaces need.
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
    event.preventDefault(); // the frame must not navigate
    send("link", { url: href });
  });
  addEventListener("keydown", (event) => {
    const field = event.target;
    if (event.key !== "Enter" || event.isComposing || event.keyCode === 229 || event.defaultPrevented || !(field instanceof HTMLInputElement) || !field.form) return;
    if (["button", "submit", "reset", "image", "file", "checkbox", "radio", "color", "range"].includes(field.type)) return;
    event.preventDefault();
    const button = [...field.form.elements].find((one) => (one instanceof HTMLButtonElement || one instanceof HTMLInputElement) && (one.type === "submit" || one.type === "image"));
    if (button instanceof HTMLElement) button.click();
    else submit(field.form, null);
  });

  // Errors.
  /** @param {unknown} error */
  const textOf = (error) => (error instanceof Error ? `${error.name}: ${error.message}` : String(error));
  /** @param {unknown} error */
  const fail = (error) => send("failed", { text: textOf(error) });
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

  // Interfaces render themselves with this ReactDOM.
  const ReportShown = (/** @type {any} */ { children }) => {
    React.useEffect(() => send("shown"), []);
    return children;
  };
  /** @type {any} */
  let root;
  world.ReactDOM = {
    createRoot: () => ({
      render: (/** @type {unknown} */ element) => {
        root ??= createRoot(document.getElementById("root"), { onUncaughtError: stop, onCaughtError: fail });
        root.render(React.createElement(ReportShown, null, element));
      },
    }),
  };
  /** Runs a built script. @param {string} code */
  const show = (code) => {
    const script = /** @type {HTMLScriptElement} */ (create.call(document, "script"));
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    script.onload = () => URL.revokeObjectURL(url);
    script.src = policy ? policy.createScriptURL(url) : url;
    document.body.append(script);
  };

  let hasStarted = false;
  addEventListener("message", ({ source, data }) => {
    if (source !== page) return;
    if (data.type === "ping") send("pong", { n: data.n });
    if (data.type === "answer") calls.get(data.id)?.(data);
    if (data.type !== "show" || hasStarted) return;
    hasStarted = true;
    show(data.code);
  });
  send("ready");
})();
