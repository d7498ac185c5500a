// The form that adds an MCP server. It shows exactly what will run before anything is stored.

import { h, messageOf, setText } from "../dom.js";
import { parsePairs, splitWords } from "../server-config.js";
import { segments } from "./settings-parts.js";

/** @param {{onAdd: (server: Record<string, unknown>) => Promise<void>, onCancel: () => void}} options */
export function serverForm({ onAdd, onCancel }) {
  let kind = "command";
  const name = h("input", { id: "server-name", autocomplete: "off", spellcheck: "false", maxlength: "100", placeholder: "github" });
  const command = h("input", { id: "server-command", autocomplete: "off", spellcheck: "false", autocapitalize: "off", placeholder: "npx -y @example/server" });
  const variables = h("textarea", { id: "server-variables", rows: "2", autocomplete: "off", spellcheck: "false", autocapitalize: "off", placeholder: "API_KEY=value" });
  const url = h("input", { id: "server-url", type: "url", inputmode: "url", autocomplete: "off", placeholder: "https://example.com/mcp" });
  const headers = h("textarea", { id: "server-headers", rows: "2", autocomplete: "off", spellcheck: "false", autocapitalize: "off", placeholder: "Authorization: Bearer value" });
  const field = (/** @type {HTMLElement} */ control, /** @type {string} */ label) => h("div", { class: "field" }, h("label", { for: control.id }, label), control);
  const fields = { command: [field(command, "Command"), field(variables, "Variables, one per line")], url: [field(url, "URL"), field(headers, "Headers, one per line")] };
  const what = h("div", { class: "server-what", role: "status", "data-testid": "server-what" });
  const problem = h("p", { class: "error-text", role: "alert" });
  const submit = h("button", { class: "primary", type: "submit", "data-testid": "save-server" }, "Add server");
  const kinds = segments({ name: "server-kind", value: kind, choices: [["command", "Command"], ["url", "URL"]], onChange: (value) => {
    kind = value;
    show();
  } });
  kinds.setAttribute("aria-label", "Kind of server");
  const node = h("form", { class: "server-form", "data-testid": "server-form", "aria-label": "Add an MCP server", novalidate: true, hidden: true },
    field(name, "Name"), kinds, ...fields.command, ...fields.url, what, problem,
    h("div", { class: "dialog-actions" }, h("button", { type: "button", click: () => cancel() }, "Cancel"), submit));

  /** What the fields say. @throws {Error} if they are not complete */
  const written = () => {
    if (!name.value.trim()) throw new Error("Give the server a name.");
    if (kind === "url") {
      if (!/^https?:\/\/./.test(url.value.trim())) throw new Error("Enter a URL that begins with https:// or http://.");
      return { name: name.value.trim(), url: url.value.trim(), headers: parsePairs(headers.value, ":") };
    }
    const [program, ...args] = splitWords(command.value);
    if (!program) throw new Error("Enter the command that starts the server.");
    return { name: name.value.trim(), command: program, args, variables: parsePairs(variables.value, "=") };
  };
  const show = () => {
    for (const part of fields.command) part.hidden = kind !== "command";
    for (const part of fields.url) part.hidden = kind !== "url";
    try {
      const server = written();
      what.replaceChildren(...(server.url === undefined
        ? [h("p", {}, "Each session will run, with the rights of the portal:"), wordList([server.command ?? "", ...(server.args ?? [])]), names("with the variables", server.variables ?? {})]
        : [h("p", {}, "Each session will connect to:"), wordList([server.url]), names("with the headers", server.headers ?? {})]));
    } catch {
      what.replaceChildren();
    }
  };
  const cancel = () => {
    node.reset();
    kind = "command";
    setText(problem, "");
    show();
    onCancel();
  };
  node.addEventListener("input", () => {
    setText(problem, "");
    show();
  });
  node.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const server = written();
      submit.disabled = true;
      setText(problem, "");
      await onAdd(server);
      node.reset(); // also the values, which are not kept anywhere in the page
      kind = "command";
      show();
    } catch (error) {
      setText(problem, messageOf(error));
    }
    submit.disabled = false;
  });
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    onCancel(); // what was typed stays
  });
  show();
  return { node, focus: () => name.focus() };
}

/** The words of a command, each visible as one. @param {string[]} words */
const wordList = (words) => h("ol", { class: "words" }, ...words.map((word) => h("li", {}, h("code", {}, word === "" ? "(empty)" : word))));

/** The names of variables or headers, without their values. @param {string} text @param {Record<string, string>} pairs */
function names(text, pairs) {
  const all = Object.keys(pairs);
  return h("p", { hidden: all.length === 0 }, `${text} `, ...all.flatMap((name, i) => [...(i > 0 ? [", "] : []), h("code", {}, name)]));
}
