// The tab of the panel with a terminal: a shell in the session's directory (spec/page.md, "Terminal"). xterm.js is loaded when the tab
// opens first.

import { h, messageOf, setText } from "../dom.js";
import { socketURL } from "../rpc.js";

const SCROLLBACK = 5000; // lines
const PIECE = 4096; // characters of a message with input
const FONT_SIZE = 13; // px
const CONTRAST = 4.5; // of text, at least

/** @param {{session: import("../store.js").Session, leave: () => void}} options leave moves the focus out of the terminal */
export function terminalPanel({ session, leave }) {
  const status = h("p", { class: "muted terminal-status", role: "status", "data-testid": "terminal-status" });
  const again = h("button", { type: "button", class: "small", hidden: true, "data-testid": "terminal-again", click: () => void start() }, "New terminal");
  const end = h("button", { type: "button", class: "quiet small", hidden: true, "data-testid": "terminal-end", click: () => close("The terminal is closed.") }, "End shell");
  const screen = h("div", { class: "terminal-screen", "data-testid": "terminal-screen" });
  const node = h("div", { class: "terminal-panel", "data-testid": "terminal" }, h("div", { class: "terminal-bar" }, status, again, end), screen);

  /** @type {any} */
  let terminal;
  /** @type {WebSocket | undefined} */
  let socket;
  let isStarted = false;
  let isDisposed = false;

  /** @param {object} message */
  const send = (message) => socket?.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));
  /** Ends the shell, and says why there is none. @param {string} why */
  const close = (why) => {
    const old = socket;
    socket = undefined;
    old?.close(1000);
    if (isDisposed) return;
    const hadFocus = node.contains(document.activeElement);
    setText(status, why);
    again.hidden = false;
    end.hidden = true;
    if (terminal) terminal.options.disableStdin = true;
    if (hadFocus) again.focus();
  };
  const start = async () => {
    isStarted = true;
    again.hidden = true;
    setText(status, "Starting…");
    try {
      const { Terminal, FitAddon } = await loadTerminal();
      if (isDisposed) return;
      terminal?.dispose();
      screen.replaceChildren();
      terminal = new Terminal({
        scrollback: SCROLLBACK, fontSize: FONT_SIZE, fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono").trim() || "monospace",
        minimumContrastRatio: CONTRAST, theme: themeOf(screen), cursorBlink: false,
      });
      const fit = new FitAddon();
      terminal.loadAddon(fit);
      terminal.open(screen);
      fit.fit();
      resized = () => screen.clientWidth > 0 && fit.fit();
      connect();
    } catch (error) {
      close(`The terminal cannot be shown: ${messageOf(error)}`);
    }
  };
  let resized = () => {};
  const sizes = new ResizeObserver(() => resized());
  sizes.observe(screen);

  const connect = () => {
    const mine = new WebSocket(socketURL(location.href, `terminal/${encodeURIComponent(session.id)}?columns=${terminal.cols}&rows=${terminal.rows}`));
    socket = mine;
    let why = "";
    mine.onopen = () => {
      setText(status, "Ctrl+F6 leaves the terminal");
      end.hidden = false;
      terminal.focus();
    };
    mine.onmessage = ({ data }) => {
      if (socket !== mine) return;
      if (data[0] === "o") terminal.write(data.slice(1), () => socket === mine && send({ shown: 1 }));
      else why = data.slice(1);
    };
    mine.onclose = () => socket === mine && close(why || (end.hidden ? "The portal refused to open a terminal." : "The connection was lost, and the shell has ended."));
    terminal.onData((/** @type {string} */ text) => {
      for (let at = 0; at < text.length; at += PIECE) send({ input: text.slice(at, at + PIECE) });
    });
    terminal.onResize((/** @type {{cols: number, rows: number}} */ { cols, rows }) => send({ columns: cols, rows }));
    terminal.attachCustomKeyEventHandler((/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "F6" || !event.ctrlKey) return true;
      if (event.type === "keydown") leave();
      return false;
    });
  };

  return {
    node,
    /** Moves the focus into the terminal, which starts with the first call. */
    focus() {
      if (!isStarted) void start();
      else if (!again.hidden) again.focus();
      else {
        terminal?.focus();
        if (terminal) terminal.options.theme = themeOf(screen);
      }
    },
    /** Starts the terminal if it is not, as after a reload. */
    show() {
      if (!isStarted) void start();
    },
    dispose() {
      isDisposed = true;
      sizes.disconnect();
      close("");
      terminal?.dispose();
    },
  };
}

/** Loads xterm.js and its style sheet, once. @returns {Promise<any>} */
async function loadTerminal() {
  if (!customElements.get(SHEET)) customElements.define(SHEET, SheetElement);
  const style = new URL("../vendor/xterm.css", import.meta.url).href;
  if (!document.querySelector(`link[href="${CSS.escape(style)}"]`)) {
    const link = h("link", { rel: "stylesheet", href: style });
    const loaded = new Promise((resolve) => (link.onload = link.onerror = resolve));
    document.head.append(link);
    await loaded;
  }
  try {
    return await import(new URL("../vendor/xterm.js", import.meta.url).href);
  } catch {
    throw new Error("the portal does not deliver xterm.js. Check that it is running, then reload the page.");
  }
}

const SHEET = "portal-style"; // which xterm.js creates instead of "style" (.ci/vendor/build.sh)

/** A style sheet in the place of a style element, which the content policy forbids. */
class SheetElement extends HTMLElement {
  #sheet = new CSSStyleSheet();

  constructor() {
    super();
    Object.defineProperty(this, "textContent", { set: (/** @type {string} */ text) => this.#sheet.replaceSync(text) });
  }

  connectedCallback() {
    document.adoptedStyleSheets.push(this.#sheet);
  }

  disconnectedCallback() {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== this.#sheet);
  }
}

/** Returns the colours of the page. @param {HTMLElement} node */
function themeOf(node) {
  const probe = h("span");
  node.append(probe);
  const color = (/** @type {string} */ name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const [background, foreground, cursor, selection] = ["--page", "--text", "--accent", "--tint"].map(color);
  const [red, green, yellow, muted] = ["--bad", "--good", "--warn", "--muted"].map(color);
  probe.remove();
  return {
    background, foreground, cursor, cursorAccent: background, selectionBackground: selection, selectionInactiveBackground: selection,
    red, green, yellow, brightRed: red, brightGreen: green, brightYellow: yellow, blue: cursor, brightBlue: cursor, brightBlack: muted,
  };
}
