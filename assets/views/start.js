// The view that starts a session: prompt, model, directory, permissions, and what the agent still needs.

import { h, messageOf, setText } from "../dom.js";
import { sessionAddress } from "../route.js";
import { createAttachments, runInput, acceptFiles } from "./attachments.js";
import { directoryField, fillDirectory, saveDirectory } from "./directory.js";
import { modelField } from "./models.js";
import { setupCard } from "./setup.js";

const STORAGE_KEYS = { model: "portal.model", permissions: "portal.permissions", draft: "portal.draft" };

/** Examples by model: the scripted one only understands keywords. */
const EXAMPLES = {
  demo: ["think, then show markdown", "run `git status` and say `done`", "ask `Which colour?` choices `red` `green`"],
  real: ["Explain what this project does and how it is built.", "Run the tests and tell me what fails and why.", "Review the last commit and point out mistakes."],
};

/** @type {{id: string, name: string, text: string}[]} */
const PERMISSIONS = [
  { id: "ask", name: "Ask me", text: "Reads freely. Asks before changing files or running commands." },
  { id: "allow", name: "Allow everything", text: "Changes files and runs any command without asking." },
  { id: "deny", name: "Deny", text: "Denies everything that needs your permission." },
];

/**
 * @param {{rpc: import("../rpc.js").Connection, sessions: import("../sessions.js").Sessions, navigate: (address: string) => void,
 *   list: () => import("../list.js").List}} options
 * @returns {import("../app.js").View}
 */
export function startView({ rpc, sessions, navigate, list }) {
  const setup = h("div", { class: "setup-place" }); // below the prompt, which does not move when it appears
  const problem = h("p", { class: "error-text", role: "alert" });
  const directory = directoryField({ rpc });
  const models = modelField({ onChange: () => show() });
  const permissions = permissionField();
  const prompt = h("textarea", { "data-testid": "prompt", rows: 3, "aria-label": "Prompt", placeholder: "Ask a question or describe a task" });
  const attachments = createAttachments({ onChange: () => show(), onError: (message) => (problem.textContent = message) });
  const send = h("button", { class: "primary", "data-testid": "send", type: "submit", disabled: true }, "Start");
  const examples = h("ul", { class: "examples" });
  const form = h("form", { class: "start-form" },
    h("div", { class: "box" }, prompt, attachments.node, h("div", { class: "actions" }, attachments.button, attachments.picker,
      h("span", { class: "muted keys" }, h("kbd", {}, "Enter"), " to start, ", h("kbd", {}, "Shift"), "+", h("kbd", {}, "Enter"), " for a new line"), send)),
    problem,
    h("section", { class: "try" }, h("h2", {}, "Examples"), examples),
    models.node, setup, directory.node, permissions.node);
  const node = h("section", { class: "page", "data-testid": "start" },
    h("header", { class: "top" }, h("h1", {}, "New session")),
    h("div", { class: "scroll" }, h("div", { class: "column start" }, form)));

  let sending = false;
  let ready = false;
  /** A session that was started but did not get its prompt. */
  let started = { key: "", id: "" };
  let shownFor = "";

  const show = () => {
    send.disabled = sending || !ready || !models.value || !prompt.value.trim() && attachments.list().length === 0;
    setText(send, sending ? "Starting…" : "Start");
    const kind = models.value === "demo" ? "demo" : "real";
    if (kind === shownFor) return;
    shownFor = kind;
    examples.replaceChildren(...EXAMPLES[kind].map((text) => h("li", {}, h("button", { type: "button", class: "example", click: () => {
      prompt.value = text;
      prompt.focus();
      show();
    } }, text))));
  };

  const load = async () => {
    const [offered] = await Promise.allSettled([rpc.call("model.list", { include_details: true })]);
    const [status] = await Promise.allSettled([rpc.call("portal.status")]); // second: the first call starts the agent
    const isOffline = [offered, status].some((result) => result.status === "rejected" && result.reason.code === "gone");
    if (isOffline) return; // it is loaded after a reconnect
    ready = true;
    const why = offered.status === "rejected" ? offered.reason.message : "";
    const found = offered.status === "fulfilled" ? offered.value : { models: [] };
    models.show(found, localStorage.getItem(STORAGE_KEYS.model) ?? "");
    const card = setupCard(status.status === "fulfilled" ? status.value.agent : undefined, why, found.models, load);
    setup.replaceChildren(...(card ? [card] : []));
  };

  /** Starts the session, once for the same choices. */
  const session = async () => {
    const chosen = { directory: directory.value, model: models.value, permissions: permissions.value === "ask" ? {} : { "*": permissions.value } };
    const key = JSON.stringify(chosen);
    if (started.key === key) return started.id;
    const { session_id: id } = await rpc.call("portal.session.start", chosen);
    started = { key, id };
    return id;
  };

  const start = async () => {
    const text = prompt.value;
    if (send.disabled) return;
    sending = true;
    prompt.readOnly = true;
    problem.textContent = "";
    show();
    try {
      const id = await session();
      await sessions.open(id); // before the run, so that all its times are known
      const { input, attachments: files } = runInput(text, attachments.list(), []);
      await rpc.call("run.start", { session_id: id, input, portal: { attachments: files } });
      localStorage.setItem(STORAGE_KEYS.model, models.value);
      saveDirectory(directory.value);
      localStorage.setItem(STORAGE_KEYS.permissions, permissions.value);
      sessionStorage.removeItem(STORAGE_KEYS.draft);
      prompt.value = "";
      attachments.set([]);
      navigate(sessionAddress(id));
    } catch (error) {
      problem.textContent = messageOf(error);
    }
    sending = false;
    prompt.readOnly = false;
    show();
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void start();
  });
  acceptFiles(node, (files) => void attachments.add(files));
  prompt.addEventListener("input", show);
  prompt.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!event.repeat) void start();
  });

  prompt.value = sessionStorage.getItem(STORAGE_KEYS.draft) ?? "";
  show();
  let opened = false;
  return {
    node,
    update() {
      if (rpc.state === "open" && !opened) {
        void fillDirectory(directory, rpc, list());
        void load();
      }
      opened = rpc.state === "open";
    },
    focus: () => matchMedia("(hover: hover)").matches && prompt.focus(), // no on-screen keyboard on phones
    dispose() {
      if (prompt.value) sessionStorage.setItem(STORAGE_KEYS.draft, prompt.value);
    },
  };
}

/** The field for the permissions. */
function permissionField() {
  const last = localStorage.getItem(STORAGE_KEYS.permissions);
  const chosen = PERMISSIONS.some(({ id }) => id === last) ? last : "ask";
  const node = h("div", { class: "field" }, h("span", { class: "field-name" }, "Permissions"),
    h("div", { class: "permissions", role: "radiogroup", "aria-label": "Permissions", "data-testid": "permissions" },
      ...PERMISSIONS.map(({ id, name, text }) => h("label", { class: "permission" },
        h("input", { type: "radio", name: "permissions", value: id, checked: id === chosen }), h("strong", {}, name), h("span", { class: "muted" }, text)))));
  return {
    node,
    get value() {
      return node.querySelector(/** @type {"input"} */ ("input:checked"))?.value ?? "ask";
    },
  };
}
