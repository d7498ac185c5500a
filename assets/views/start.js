// The view that starts a session: the composer, with what the session starts with as chips, and examples.

import { h, hasKeyboard, messageOf, setText } from "../dom.js";
import { initialChoice, saveChoices } from "../preferences.js";
import { parseRoute, sessionAddress } from "../route.js";
import { isGone, newConnections, UNREACHABLE } from "../rpc.js";
import { runInput } from "./attachments.js";
import { createBox } from "./box.js";
import { createChip } from "./chip.js";
import { notice } from "./dialog.js";
import { fillDirectory, saveDirectory } from "./directory.js";
import { directoryChip } from "./directory-chip.js";
import { loadDraft } from "./drafts.js";
import { icon } from "./icons.js";
import { keep, loadKept } from "./kept.js";
import { modelChoices, preferredModel } from "./models.js";
import { permissionChoices, PRESETS } from "./permissions.js";
import { keepMode, modeChip } from "./settings.js";
import { setupLine } from "./setup.js";
import { hasArrived, NOTHING } from "./unsent.js";

const DRAFT = "new";
const CHOICES = "choices:new"; // of the draft, while there is one
const STARTED = "started";

/** @typedef {{key: string, id: string, sent: string | null}} Started */

/** @type {Started} */
const NONE = { key: "", id: "", sent: null };

/**
 * A session that was started but did not get its prompt, as far as is known, with the choices that it was started with. sent: the prompt that it may
 * have, because the connection broke; then it outlives the view and a reload. @type {Started}
 */
let started = loadKept(sessionStorage, STARTED) ?? NONE;

/** Whether a session is being started, perhaps by a view that was left. */
let sending = false;

/** Examples by model: the scripted one only understands keywords. */
const EXAMPLES = {
  demo: ["think, then show markdown", "run `git status` and say `done`", "ask `Which colour?` choices `red` `green`"],
  real: ["Explain what this project does and how it is built.", "Run the tests and tell me what fails and why.", "Review the last commit and point out mistakes."],
};

/**
 * @param {{rpc: import("../rpc.js").Connection, sessions: import("../sessions.js").Sessions, navigate: (address: string) => void,
 *   list: () => import("../list.js").List, directory?: string}} options directory: to start in
 * @returns {import("../app.js").View}
 */
export function startView({ rpc, sessions, navigate, list, directory: wantedDirectory = "" }) {
  const sendText = h("span", { class: "button-text" }, "Start");
  const send = h("button", { class: "primary", "data-testid": "send", type: "submit", disabled: true }, icon("send"), sendText);
  /** @type {Partial<Record<"directory" | "model" | "mode" | "permissions", string>>} */
  const kept = loadKept(sessionStorage, CHOICES) ?? {};
  const directory = directoryChip({ rpc, list, onDone: () => box.focus(), onClose: () => keepChoices() });
  const model = createChip({ label: "Model", id: "model", onChoose: () => changed() });
  const mode = modeChip("mode", kept.mode || initialChoice(localStorage, "mode"), () => keepChoices());
  const permissions = createChip({ label: "Permissions", id: "permissions", onChoose: () => keepChoices() });
  const setup = h("div", { class: "setup-place" });
  const examples = h("ul", { class: "examples" });
  /** Commands for `/`. @returns {import("./commands.js").Command[]} */
  const commands = () => [
    { name: "directory", label: "Choose directory", run: directory.open },
    { name: "model", label: "Choose model", run: model.open },
    ...PRESETS.map(({ id, name }) => ({ name: `permissions ${id}`, label: `Permissions: ${name}`, run: () => permissions.select(id) })),
    { name: "settings", label: "Settings", run: () => navigate("#/settings") },
    { name: "status", label: "Portal status", run: () => navigate("#/status") },
  ];
  const box = createBox({
    draft: DRAFT,
    buttons: [send],
    chips: [directory.node, model.node, mode.node, permissions.node],
    findFiles: (query) => rpc.call("portal.files.complete", { directory: directory.value, query }),
    commands,
    prompts: () => [],
    onSubmit: () => void start(),
    onChange: () => changed(),
  });
  const node = h("section", { class: "page", "data-testid": "start" },
    h("header", { class: "top" }, h("h1", {}, "New session")),
    h("div", { class: "scroll" }, h("div", { class: "column begin" }, box.node, setup,
      h("section", { class: "try" }, h("h2", {}, "Examples"), examples))));

  let ready = false;
  let shownFor = "";

  const show = () => {
    send.disabled = sending || !ready || !model.value || box.isEmpty() || box.isReading() || isUnsure();
    setText(sendText, sending ? "Starting…" : "Start");
    if (ready && model.value) showExamples(model.value === "demo" ? "demo" : "real");
  };
  const changed = () => {
    show();
    keepChoices();
  };
  /** Whether the portal may have the prompt: that shows when the session is attached again. */
  const isUnsure = () => started.sent !== null && (sessions.get(started.id)?.detached ?? true);
  /** Keeps what was chosen as long as the draft. An address with another directory would win after a reload. */
  const keepChoices = () => {
    if (!node.isConnected) return; // another view may have the draft now
    const isEmpty = box.isEmpty();
    keep(sessionStorage, CHOICES, isEmpty ? undefined : { directory: directory.value, model: model.value || kept.model, mode: mode.value, permissions: permissions.value });
    if (!isEmpty && wantedDirectory && directory.value !== wantedDirectory) history.replaceState(null, "", "#/");
  };
  /** @param {"demo" | "real"} kind */
  const showExamples = (kind) => {
    if (kind === shownFor) return;
    shownFor = kind;
    examples.replaceChildren(...EXAMPLES[kind].map((text) => h("li", {}, h("button", { type: "button", class: "example", click: () => {
      box.suggest(text, EXAMPLES[kind]);
      box.focus();
    } }, text))));
  };

  /** Says why the models take long to come, once the portal knows. */
  const explainWait = async () => {
    const status = await rpc.call("portal.status").catch(() => undefined);
    if (!ready && status?.agent.state === "starting" && setup.textContent !== status.agent.message) setup.replaceChildren(h("p", { class: "setup-line", role: "status", "data-testid": "setup" }, status.agent.message));
  };

  /** @type {ReturnType<typeof setInterval> | undefined} */
  let late;
  const load = async () => {
    clearInterval(late);
    late = setInterval(explainWait, 3000);
    const [offered] = await Promise.allSettled([rpc.call("model.list", { include_details: true })]);
    clearInterval(late);
    const [status] = await Promise.allSettled([rpc.call("portal.status")]); // second: the first call starts the agent
    const isOffline = [offered, status].some((result) => result.status === "rejected" && isGone(result.reason));
    if (isOffline) return; // it is loaded after a reconnect
    ready = true;
    const why = offered.status === "rejected" ? offered.reason.message : "";
    const found = offered.status === "fulfilled" ? offered.value : { models: [] };
    model.show(modelChoices(found), preferredModel(found, model.value || kept.model || initialChoice(localStorage, "model")), "No models available");
    const line = setupLine(status.status === "fulfilled" ? status.value.agent : undefined, why, load);
    setup.replaceChildren(...(line ? [line] : []));
    changed();
  };

  /** Starts the session, once for the same choices. */
  const session = async () => {
    const preset = PRESETS.find(({ id }) => id === permissions.value);
    const chosen = { directory: directory.value, model: model.value, permissions: !preset || preset.id === "ask" ? {} : preset.rules };
    const key = JSON.stringify(chosen);
    if (started.key === key) return started.id;
    const { session_id: id } = await rpc.call("portal.session.start", chosen);
    started = { key, id, sent: null };
    return id;
  };
  const remember = () => {
    saveChoices(localStorage, { model: model.value, permissions: permissions.value });
    saveDirectory(directory.value);
  };
  /** @param {unknown} error */
  const showError = (error) => {
    if (node.isConnected) box.showError(messageOf(error));
    else notice("Could not start the session", h("p", {}, messageOf(error)));
  };
  /** Detaches from a session that was started here and is not shown. */
  const leave = () => {
    const route = parseRoute(location.hash);
    if (started.id && !(route.view === "session" && route.id === started.id)) sessions.release(started.id);
  };
  /** @param {Started} now */
  const setStarted = (now) => {
    started = now;
    keep(sessionStorage, STARTED, now.sent === null ? undefined : now);
  };
  const start = async () => {
    if (send.disabled) return;
    const { text, attached, mentions } = box.written();
    sending = true;
    box.lock(true);
    box.showError("");
    show();
    try {
      const id = await session();
      await sessions.open(id); // before the run, so that all its times are known
      const { input, attachments: files } = runInput(text, attached, mentions);
      setStarted({ ...started, sent: text });
      await rpc.call("run.start", { session_id: id, input, portal: { mode: mode.value, attachments: files } });
      finish(id, text);
    } catch (error) {
      if (!isGone(error)) setStarted({ ...started, sent: null });
      showError(error);
    }
    sending = false;
    if (!node.isConnected) leave();
    box.lock(false);
    box.refresh();
  };
  /** Shows the session that has the prompt. @param {string} id @param {string} sent */
  const finish = (id, sent) => {
    setStarted({ key: "", id, sent: null });
    keepMode(id, mode.value);
    remember();
    box.forget(sent);
    if (!loadDraft(sessionStorage, DRAFT).text) keep(sessionStorage, CHOICES, undefined); // also if this view was left
    navigate(sessionAddress(id));
  };
  /** Attaches to the session again whose prompt could not be sent. */
  const reopen = () => sessions.open(started.id).catch((error) => {
    if (!isGone(error)) setStarted(NONE); // it was deleted
  }).finally(show);
  /** Shows the session if it got its prompt before the connection broke. The user stays if the prompt was changed meanwhile. */
  const lookForSent = () => {
    const { id, sent } = started;
    const opened = sending || sent === null ? undefined : sessions.get(id);
    if (!opened || sent === null || !hasArrived(opened, sent, NOTHING)) return;
    if (box.written().text === sent) return finish(id, sent);
    leave();
    setStarted(NONE);
  };

  box.accept(node);
  if (wantedDirectory || kept.directory) directory.value = wantedDirectory || kept.directory || "";
  model.select("", "Loading models…");
  permissions.show(permissionChoices(), initialPermissions(kept.permissions));
  show();
  const isNewConnection = newConnections(rpc);
  return {
    node,
    update() {
      if (isNewConnection()) {
        void fillDirectory(directory, rpc, list());
        void load();
        box.dropError(UNREACHABLE);
        if (started.sent !== null && !sending) void reopen();
      }
      lookForSent();
    },
    focus: () => hasKeyboard() && box.focus(),
    dispose() {
      clearInterval(late);
      box.dispose();
      if (!sending) leave();
    },
  };
}

/** The preset that a new session starts with. @param {string} [kept] that of its draft */
function initialPermissions(kept) {
  const wanted = kept || initialChoice(localStorage, "permissions");
  const id = wanted === "allow" ? "all" : wanted; // the name in earlier versions
  return PRESETS.some((preset) => preset.id === id) ? id : "ask";
}
