// The state of one session, made from the callbacks of the live stream. No page, no network and no clock in here.

/**
 * @typedef {Record<string, any> & {callback?: string, sessionError?: string}} Response
 * @typedef {"user"|"reasoning"|"answer"|"tool"|"error"} Kind
 *
 * @typedef {object} Block one thing in the conversation
 * @property {Kind} kind
 * @property {string} key unique in the session
 * @property {string} text the prompt, the thought, the answer, the error, or the output of a tool so far
 * @property {"running"|"done"|"failed"|"stopped"} state
 * @property {number} begun when it began, in ms; NaN when that was not seen
 * @property {number} [seconds] how long it took, if that is known
 * @property {Tool} [tool]
 *
 * @typedef {{name: string, args: string, nested: boolean, result: string, error: string}} Tool
 *
 * @typedef {object} Question
 * @property {string} id
 * @property {"permission"|"input"|"plan"|"sign-in"|"form"} kind
 * @property {string} title what is asked
 * @property {string} name the names of what is permitted, all of which are remembered
 * @property {string} detail exactly what will happen; the plan
 * @property {string[]} choices of a plan: the ways to go on
 * @property {boolean} freeform
 * @property {string} source the MCP server that asks, "" for the agent itself
 * @property {string} url the page to visit
 * @property {import("./form.js").Field[]} fields
 *
 * @typedef {object} State
 * @property {"idle"|"running"|"closed"|"missing"} phase
 * @property {boolean} connected
 * @property {Block[]} blocks in their order
 * @property {Map<string, Block>} byKey
 * @property {Set<Block>} open the blocks that still run
 * @property {Question[]} questions the open ones
 * @property {Map<string, string>} answered by whom a question was answered
 */

/** @returns {State} */
export function newState() {
  return { phase: "idle", connected: true, blocks: [], byKey: new Map(), open: new Set(), questions: [], answered: new Map() };
}

/**
 * What the user wants to know first.
 * @param {State} state @returns {"idle"|"running"|"waiting"|"closed"|"missing"|"reconnecting"}
 */
export function statusOf(state) {
  if (state.phase === "closed" || state.phase === "missing") return state.phase;
  if (!state.connected) return "reconnecting";
  return state.questions.length > 0 ? "waiting" : state.phase;
}

/**
 * Changes the state by one response and returns the blocks that it touched. Costs O(1), whatever the session holds;
 * unknown callbacks change nothing.
 * @param {State} state @param {Response} response
 * @param {number} at when it happened, in ms; NaN for a past whose times are not known
 * @returns {Block[]}
 */
export function apply(state, response, at) {
  if (response.sessionError !== undefined) {
    return [add(state, "error", String(state.blocks.length), response.sessionError)];
  }
  const name = response.callback ?? "";
  return Object.hasOwn(callbacks, name) ? (callbacks[name](state, response, at) ?? []) : [];
}

/** The session ended, or was never there. @param {State} state @param {"closed"|"missing"} phase @returns {Block[]} */
export function end(state, phase) {
  state.phase = phase;
  state.questions = [];
  return stopOpenBlocks(state);
}

/** @type {Record<string, (state: State, r: Response, at: number) => Block[] | void>} */
const callbacks = {
  onUserMessage(state, r) {
    state.phase = "running";
    let id = r.runId; // one that steers has the id of the run that it joins
    for (let n = 2; state.byKey.has(`user:${id}`); n++) id = `${r.runId}/${n}`;
    return [add(state, "user", id, r.content)];
  },
  onAgentStart(state) {
    state.phase = "running";
  },
  onIdle(state) {
    state.phase = "idle";
    state.questions = [];
    return stopOpenBlocks(state);
  },

  onStartReasoning: (state, r, at) => [get(state, "reasoning", r.reasoningId, at)],
  onReasoning: (state, r, at) => [append(get(state, "reasoning", r.reasoningId, at), r.delta)],
  onEndReasoning: (state, r, at) => [complete(state, get(state, "reasoning", r.reasoningId, at), r.completeContent, at)],

  // An answer appears with its first text: many messages only call tools.
  onMessage: (state, r, at) => (r.delta ? [append(get(state, "answer", r.messageId, at), r.delta)] : []),
  onEndMessage(state, r, at) {
    if (!r.completeContent && !state.byKey.has(`answer:${r.messageId}`)) return [];
    return [complete(state, get(state, "answer", r.messageId, at), r.completeContent, at)];
  },

  onStartToolExecution(state, r, at) {
    const block = get(state, "tool", r.toolCallId, at);
    Object.assign(toolOf(block), { name: r.toolName, args: r.toolArguments ?? "", nested: Boolean(r.parentToolCallId) });
    return [block];
  },
  onToolExecution: (state, r, at) => [append(get(state, "tool", r.toolCallId, at), r.delta)],
  onEndToolExecution(state, r, at) {
    const block = get(state, "tool", r.toolCallId, at);
    const tool = toolOf(block);
    tool.result = r.result?.detailedContent || r.result?.content || "";
    tool.error = r.error ? r.error.message || "It failed." : "";
    finish(state, block, r.error ? "failed" : "done", at);
    return [block];
  },

  onPermissionRequest(state, r) {
    const name = (r.names ?? [r.name]).join(", ");
    const common = { id: r.requestId, title: r.title, name, detail: r.detail };
    // A tool may have such a name, too, but then there is nothing besides.
    if (r.name === "plan" && Array.isArray(r.choices)) ask(state, { ...common, kind: "plan", choices: r.choices });
    else if (r.name === "sign-in" && r.url) ask(state, { ...common, kind: "sign-in", url: r.url, detail: withoutEnd(r.detail, r.url) });
    else ask(state, { ...common, kind: "permission" });
  },
  onUserInputRequest(state, r) {
    const choices = r.choices ?? [];
    const freeform = r.freeform !== false || choices.length === 0;
    ask(state, { id: r.requestId, kind: "input", title: r.question, choices, freeform });
  },
  onFormRequest(state, r) {
    ask(state, { id: r.requestId, kind: "form", title: r.message, source: r.source ?? "", fields: r.fields ?? [] });
  },
  onQuestionAnswered(state, r) {
    state.questions = state.questions.filter((question) => question.id !== r.requestId);
    state.answered.set(r.requestId, r.by ?? "");
  },
};

/** @param {string} text @param {string} end */
const withoutEnd = (text, end) => (text.endsWith(end) ? text.slice(0, -end.length).trim() : text);

/** @param {State} state @param {Partial<Question> & Pick<Question, "id"|"kind"|"title">} question */
function ask(state, question) {
  if (state.answered.has(question.id) || state.questions.some(({ id }) => id === question.id)) return;
  const rest = { name: "", detail: "", choices: [], freeform: false, source: "", url: "", fields: [] };
  state.questions = [...state.questions, { ...rest, ...question }];
}

/** A block that is whole from its start. @param {State} state @param {Kind} kind @param {string} id @param {string} text */
function add(state, kind, id, text) {
  const block = get(state, kind, id, NaN);
  block.text = text;
  return finish(state, block, kind === "error" ? "failed" : "done", NaN);
}

/** Returns the block, which begins now if it is new. @param {State} state @param {Kind} kind @param {string} id @param {number} at @returns {Block} */
function get(state, kind, id, at) {
  const key = `${kind}:${id}`;
  let block = state.byKey.get(key);
  if (!block) {
    block = { kind, key, text: "", state: "running", begun: at };
    if (kind === "tool") block.tool = { name: "", args: "", nested: false, result: "", error: "" };
    state.byKey.set(key, block);
    state.open.add(block);
    state.blocks.push(block);
  }
  return block;
}

/** @param {Block} block @returns {Tool} */
const toolOf = (block) => /** @type {Tool} */ (block.tool);

/** @param {Block} block @param {string} delta */
function append(block, delta) {
  if (block.state === "running") block.text += delta ?? "";
  return block;
}

/** @param {State} state @param {Block} block @param {string|undefined} text the whole of it @param {number} at */
function complete(state, block, text, at) {
  block.text = text || block.text;
  return finish(state, block, "done", at);
}

/** @param {State} state @param {Block} block @param {Block["state"]} outcome @param {number} at */
function finish(state, block, outcome, at) {
  block.state = outcome;
  state.open.delete(block);
  const ms = at - block.begun;
  if (ms > 0) block.seconds = ms / 1000;
  return block;
}

/** What still runs when the turn is over will not end any more. @param {State} state */
function stopOpenBlocks(state) {
  const stopped = [...state.open];
  for (const block of stopped) block.state = "stopped";
  state.open.clear();
  return stopped;
}
