// What a new session needs: model, directory, permissions; and the card when the agent cannot work.

import * as api from "./rest.js";
import { find, h } from "./dom.js";
import { setupCard } from "./setup.js";

/** @typedef {import("./rest.js").Model} Model */

const LAST_MODEL = "portal.model"; // the browser remembers the last choice under this name

/** What to try, by model: the scripted one follows keywords only. */
const EXAMPLES = {
  demo: ["think, then show markdown", "run `git status` and say `done`", "ask `Which colour?` choices `red` `green`"],
  real: ["Explain what this project does and how it is built.", "Run the tests and tell me what fails and why.", "Review the last commit and point out mistakes."],
};

/** Errors of a start, said to the user. @type {Record<string, string>} */
const PROBLEMS = {
  ModelIdNotFound: "This model is not available any more. Choose another one.",
  WorkingDirectoryNotAbsolutePath: "The directory must be an absolute path.",
  WorkingDirectoryNotExists: "This directory does not exist.",
};

/**
 * @param {(error: unknown) => void} onError for what no card can explain
 * @param {() => void} onReady a session can be started now
 */
export function createStartForm(onError, onReady) {
  const model = find("model", HTMLSelectElement);
  const directory = find("directory", HTMLInputElement);
  const permissions = find("permissions", HTMLSelectElement);
  const setup = find("setup", HTMLElement);
  let begun = false;
  const showExamples = () => {
    const examples = model.value === "demo" ? EXAMPLES.demo : EXAMPLES.real;
    for (const [i, button] of document.querySelectorAll(".example").entries()) button.textContent = examples[i];
  };
  model.addEventListener("change", showExamples);

  const loadModels = async () => {
    model.disabled = true;
    model.replaceChildren(h("option", { value: "" }, "Asking the agent…"));
    /** @type {Model[]} */
    let models = [];
    let problem = "";
    try {
      models = await api.models();
    } catch (error) {
      if (!(error instanceof api.ApiError) || error.status === 401) return onError(error);
      problem = error.message;
    }
    const agent = await api.health().then((health) => health.agent, () => undefined);
    const card = setupCard(agent, problem, models, loadModels);
    setup.replaceChildren(...(card ? [card] : []));
    showModels(model, models);
    showExamples();
    onReady();
  };

  const loadDirectory = async () => {
    try {
      const { repoRoot } = await api.config();
      directory.value ||= repoRoot;
    } catch (error) {
      onError(error);
    }
  };

  return {
    /** Asks the server for what the form offers, once. */
    load() {
      if (begun) return;
      begun = true;
      void loadDirectory();
      void loadModels();
    },
    isReady: () => model.value !== "",
    /** Starts a session and returns its id. */
    async start() {
      try {
        const id = await api.start(model.value, directory.value.trim(), permissions.value);
        localStorage.setItem(LAST_MODEL, model.value);
        return id;
      } catch (error) {
        if (!(error instanceof api.ApiError) || !Object.hasOwn(PROBLEMS, error.message)) throw error;
        (error.message === "ModelIdNotFound" ? model : directory).focus();
        throw new api.ApiError(PROBLEMS[error.message], error.status);
      }
    },
  };
}

/** @param {HTMLSelectElement} select @param {Model[]} models */
function showModels(select, models) {
  const options = models.map(({ id, name, multiplier }) => h("option", { value: id }, `${name} ×${multiplier} (${id})`));
  select.replaceChildren(...(options.length > 0 ? options : [h("option", { value: "" }, "No model")]));
  select.disabled = options.length === 0;
  const last = localStorage.getItem(LAST_MODEL);
  if (models.some(({ id }) => id === last)) select.value = last ?? "";
}
