package assets_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/server/portaltest"
)

// alone is the start of a script that shows single views with a scripted portal, in a document without the page. `show` shows a view as the
// page does, `settled` waits for what follows from it.
const alone = `
	const find = (selector) => document.querySelector(selector);
	const byId = (id) => find('[data-testid="' + id + '"]');
	const settled = () => new Promise((resolve) => setTimeout(resolve, 20));
	let view;
	const onChange = () => queueMicrotask(() => view.update());
	const show = async (next) => {
		view = next;
		document.body.replaceChildren(view.node);
		view.focus();
		view.update();
		await settled();
	};
	const type = (field, text) => {
		field.value = text;
		field.dispatchEvent(new Event("input", { bubbles: true }));
	};
	const answers = { // of the portal, by method
		"portal.status": () => ({ configuration: { directory: "/" } }),
		"portal.directory.describe": ({ path }) => ({ path, exists: true }),
		"model.list": () => ({ models: ["demo"] }),
	};
	const rpc = { state: "open", server: {}, call: async (method, params) => answers[method]?.(params) ?? {} };
	const nothing = () => {};
	const focused = () => document.activeElement.dataset.testid ?? document.activeElement.dataset.act ?? document.activeElement.className;
`

// ofInterface is a script after alone: an interface with two versions.
const ofInterface = alone + `
	const { interfaceView } = await import("/views/interface.js");
	const created_at = new Date().toISOString();
	const version = (number) => ({ number, description: "d", assumptions: ["a"], components: 1, bytes: 1, created_at });
	const info = (more = {}) => ({ interface_id: "i", title: "Films", format: "graphql", operations: 1, base_url: "https://films.test", allowed: "", created_at, current: 2, version_count: 2, versions: [version(1), version(2)], ...more });
	const happen = (type, more) => {
		view.receive({ method: "portal.interface.event", params: { interface_id: "i", type, ...more } });
		return settled();
	};
	const open = (first) => {
		answers["portal.interface.watch"] = () => ({ interface: first });
		return show(interfaceView({ id: "i", rpc, navigate: nothing, onTitle: nothing, onChange }));
	};
	const working = { prompt: "Make it dark", since: created_at };
`

// inDocument runs a script in a new tab, and returns its result.
func (t page) inDocument(script string) []string {
	t.Helper()
	b := t.open(t.portal.URL + "/theme.js") // a document of the site without scripts
	return evaluate[[]string](t.T, b, "(async () => {"+script+"})()")
}

func putsFailedRequestBack(t page) {
	assert.Equal(t, []string{"", "Make it dark\n\nand compact", "the request was stopped", "Make it light", "Make it dark", "The last request has no result.", "", ""}, t.inDocument(ofInterface+`
		const seen = [];
		const box = () => byId("prompt").value;
		await open(info());
		type(byId("prompt"), "Make it dark");
		byId("send").click();
		await happen("began", { interface: info({ work: working, request: working.prompt }) });
		seen.push(box());
		type(byId("prompt"), "and compact");
		await happen("ended", { interface: info({ error: "the request was stopped", request: working.prompt }) });
		seen.push(box(), byId("problem").textContent);
		type(byId("prompt"), "Make it light");
		await open(info({ error: "the request was stopped", request: working.prompt }));
		seen.push(box());
		sessionStorage.clear(); // another tab, after the portal was killed
		await open(info({ request: working.prompt }));
		seen.push(box(), byId("problem").textContent);
		sessionStorage.clear();
		const { repairPrompt } = await import("/interfaces.js");
		await open(info({ error: "x", request: repairPrompt("y") }));
		seen.push(box());
		await open(info({ error: "x", request: "A", question: { prompt: "p", text: "Which?", options: ["A"] } }));
		seen.push(box());
		return seen;`))
}

func keepsRewrittenRequest(t page) {
	assert.Equal(t, []string{"Make it dark", "Make it light", "Make it light"}, t.inDocument(ofInterface+`
		const seen = [];
		const box = () => byId("prompt").value;
		const failed = info({ error: "the request was stopped", request: "Make it dark" });
		await open(failed);
		seen.push(box());
		type(byId("prompt"), "Make it light");
		answers["portal.interface.change"] = async () => { throw new Error("The connection is lost."); };
		byId("send").click();
		await settled();
		seen.push(box());
		await happen("changed", { interface: failed }); // after the reconnect
		seen.push(box());
		return seen;`))
}

func dropsRequestThatAnotherPortalMade(t page) {
	assert.Equal(t, []string{"Make it dark", "The last request has no result.", "", "", "Make it light", ""}, t.inDocument(ofInterface+`
		const seen = [];
		const look = () => seen.push(byId("prompt").value, byId("problem").textContent);
		await open(info({ request: "Make it dark" }));
		look();
		await happen("changed", { interface: info({ current: 3 }) });
		look();
		await happen("changed", { interface: info({ request: "Make it dark" }) });
		await open(info({ request: "Make it dark" }));
		type(byId("prompt"), "Make it light");
		await happen("changed", { interface: info({ current: 3 }) });
		look();
		return seen;`))
}

func dropsRequestThatBeginsLate(t page) {
	assert.Equal(t, []string{"Make it dark", "", "Make it dark\n\nand compact"}, t.inDocument(ofInterface+`
		const seen = [];
		const began = () => happen("began", { interface: info({ request: working.prompt, work: working }) });
		await open(info({ request: working.prompt })); // as it is read just before its request begins
		seen.push(byId("prompt").value);
		await began();
		seen.push(byId("prompt").value);
		sessionStorage.clear();
		await open(info({ request: working.prompt }));
		type(byId("prompt"), working.prompt + "\n\nand compact");
		await began();
		seen.push(byId("prompt").value);
		return seen;`))
}

func leavesInterfaceThatLoads(t page) {
	assert.Equal(t, []string{"", "Make it dark"}, t.inDocument(ofInterface+`
		const titles = [];
		let loaded;
		answers["portal.interface.watch"] = () => new Promise((resolve) => (loaded = resolve));
		await show(interfaceView({ id: "i", rpc, navigate: nothing, onTitle: (title) => titles.push(title), onChange }));
		view.dispose();
		loaded({ interface: info({ error: "x", request: "Make it dark" }) });
		await settled();
		await open(info({ error: "x", request: "Make it dark" }));
		return [titles.join(), byId("prompt").value];`))
}

func keepsFocusInInterface(t page) {
	assert.Equal(t, []string{"prompt", "compare", "true", "prompt", "prompt", "prompt", "prompt"}, t.inDocument(ofInterface+`
		const seen = [];
		await open(info());
		seen.push(focused()); // it cannot have it before the interface is loaded
		find("details").open = true;
		find('[data-version="1"] [data-act="back"]').focus();
		await happen("changed", { interface: info({ current: 1 }) });
		seen.push(focused(), String(find("details").open));
		await happen("began", { interface: info({ work: working }) });
		byId("stop").focus();
		await happen("ended", { interface: info({ question: { prompt: "p", text: "Which?", options: ["A", "B"] } }) });
		seen.push(focused());
		byId("question").querySelector("button").focus();
		await happen("began", { interface: info({ work: working }) });
		seen.push(focused());
		await open(info({ current: 0, versions: [] }));
		byId("make").focus();
		await happen("began", { interface: info({ current: 0, versions: [], work: working }) });
		await happen("ended", { interface: info() });
		view.focus();
		seen.push(focused());
		type(byId("prompt"), "Make it dark");
		byId("send").focus();
		byId("send").click();
		await settled();
		seen.push(focused());
		return seen;`))
}

func announcesProgressOnce(t page) {
	assert.Equal(t, []string{"Updating the interface…", "1", " 3 lines"}, t.inDocument(ofInterface+`
		await open(info());
		await happen("began", { interface: info({ work: working }) });
		const live = find('[role="status"][data-testid="progress"]');
		const announced = new Set([live.textContent]);
		for (const text of ["one\n", "two\n", "three"]) {
			await happen("piece", { text });
			announced.add(live.textContent);
		}
		return [live.textContent, String(announced.size), byId("lines").textContent];`))
}

func allowsCallsLater(t page) {
	assert.Equal(t, []string{"true", "false", "Cannot call its API. Allow…", "false", "allow", "allow", "allow", "true", "frame", "Can call https://films.test Revoke", "true"}, t.inDocument(ofInterface+`
		const seen = [];
		answers["portal.interface.get"] = () => ({ version: 2, script: "" });
		await open(info());
		const shown = () => [...byId("allowed").querySelectorAll(":not([hidden])")].map((part) => part.textContent).join(" ");
		seen.push(String(byId("allowed").hidden));
		byId("refuse").click();
		await settled();
		seen.push(String(byId("allowed").hidden), shown());
		byId("allow-later").click();
		seen.push(String(byId("permission").hidden), focused());
		let answer;
		answers["portal.interface.allow"] = () => new Promise((resolve) => (answer = resolve));
		byId("allow").click();
		await settled();
		seen.push(focused());
		answer({ allowed: false, private: true });
		await settled();
		seen.push(focused());
		byId("allow").click();
		answer({ allowed: true, private: true });
		await happen("changed", { interface: info({ allowed: "https://films.test" }) });
		seen.push(String(byId("permission").hidden), focused(), shown());
		await happen("changed", { interface: info() });
		byId("refuse").click();
		await settled();
		byId("allow-later").click();
		await happen("changed", { interface: info({ allowed: "https://films.test" }) }); // by another window
		seen.push(String(byId("permission").hidden));
		return seen;`))
}

func failedVersionDoesNotHang(t page) {
	assert.Equal(t, []string{"It cannot be shown.Restore version 1", "It cannot be shown.Restore version 1"}, t.inDocument(ofInterface+`
		const ticks = [];
		setInterval = (tick) => void ticks.push(tick);
		answers["portal.interface.get"] = ({ version }) => (version === 1 ? { version, script: "" } : { version, error: "It cannot be shown." });
		await open(info({ current: 1 }));
		const frame = find("iframe");
		window.dispatchEvent(new MessageEvent("message", { source: frame.contentWindow, data: { type: "ready" } }));
		await happen("changed", { interface: info() });
		const before = byId("trouble").textContent;
		for (let i = 0; i < 10; i++) ticks.forEach((tick) => tick());
		return [before, byId("trouble").textContent];`))
}

func focusesJobThatLoads(t page) {
	assert.Equal(t, []string{"chart", "chart"}, t.inDocument(alone+`
		const { jobView } = await import("/views/job.js");
		const info = { job_id: "j", name: "n", status: "Running", directory: "/", input: "", started_at: new Date().toISOString(), works: [], sessions: 0, events: 0 };
		answers["portal.job.watch"] = () => ({ job: info, chart: { nodes: [{ id: 1, hint: "start", arrows: [] }] } });
		await show(jobView({ id: "j", rpc, sessions: {}, list: () => ({ sessions: new Map() }), navigate: nothing, onTitle: nothing, onChange }));
		const first = focused();
		byId("cancel").focus();
		view.receive({ method: "portal.job.closed", params: { job_id: "j", job: { ...info, status: "Canceled" } } });
		await settled();
		view.dispose();
		return [first, focused()];`))
}

// ofOperation is a script after alone: an operation, whose WebSocket is a script, and whose timers are quick.
const ofOperation = alone + `
	const wait = window.setTimeout;
	window.setTimeout = (act, ms) => wait(act, ms / 100);
	let socket;
	WebSocket = class { constructor() { socket = this; } close() {} };
	const operation = { operation_id: "o", type: "clarify", status: "pending", progress: 0, created_at: new Date().toISOString(), working_directory: "/w", copilot_session_id: "s" };
	const until = async (fits) => { while (!fits()) await settled(); };
`

func followsStatusOfOperation(t page) {
	assert.Equal(t, []string{"Try later.", "Queued", "true", "Running", "A"}, t.inDocument(ofOperation+`
		const { operationView } = await import("/views/operation.js");
		const seen = [];
		let answer = async () => { throw new Error("Try later."); };
		const visitor = { id: async () => "v", socket: () => "ws://x", call: () => answer() };
		await show(operationView({ id: "o", rpc, visitor, onTitle: nothing, onChange }));
		await until(() => byId("note").textContent);
		view.update(); // for another reason
		seen.push(byId("note").textContent);
		answer = async () => operation;
		await until(() => byId("status").textContent);
		seen.push(byId("status").textContent, String(byId("note").textContent === "" && !byId("stop").hidden));
		find(".subtitle a").focus();
		answer = async () => ({ ...operation, status: "running" });
		await until(() => byId("status").textContent === "Running"); // without a message
		seen.push(byId("status").textContent, document.activeElement.tagName);
		view.dispose();
		return seen;`))
}

func keepsRowOfOperation(t page) {
	assert.Equal(t, []string{"true", "50 %"}, t.inDocument(ofOperation+`
		const { operationsView } = await import("/views/operations.js");
		let progress = 10;
		const visitor = { call: async () => ({ operations: [{ ...operation, status: "running", progress }] }) };
		await show(operationsView({ rpc, visitor, navigate: nothing, list: () => ({ sessions: new Map() }) }));
		await until(() => find(".operation-row"));
		const link = find(".operation-row");
		link.focus();
		progress = 50;
		await until(() => byId("operations").textContent.includes("50 %"));
		view.dispose();
		return [String(document.activeElement === link), link.children[2].textContent];`))
}

func keepsTextOfForms(t page) {
	assert.Equal(t, []string{"an API", "an input", "a document", "", "", ""}, t.inDocument(alone+`
		const { interfacesView } = await import("/views/interfaces.js");
		const { jobsView } = await import("/views/jobs.js");
		const { operationsView } = await import("/views/operations.js");
		const list = () => ({ sessions: new Map() });
		let visited = { operations: [] };
		const visitor = { call: async () => visited };
		answers["portal.interfaces.list"] = () => ({ interfaces: [] });
		answers["portal.jobs.list"] = () => ({ book: "b", grid: [{ keyword: "k", jobs: [{ name: "j", jobName: "j" }] }], jobs: { j: { require_user_input: false } }, chart: {} });
		answers["portal.jobs.watch"] = () => ({ jobs: [] });
		const forms = [
			["description", () => interfacesView({ rpc, navigate: nothing, onChange })],
			["input", () => jobsView({ rpc, navigate: nothing, list, onChange })],
			["document", () => operationsView({ rpc, visitor, navigate: nothing, list })],
		];
		const leave = () => { const { node } = view; view.dispose(); node.remove(); };
		const seen = [];
		for (const [i, [field, create]] of forms.entries()) {
			await show(create());
			type(byId(field), ["an API", "an input", "a document"][i]);
			leave();
		}
		for (const [field, create] of forms) {
			await show(create());
			seen.push(byId(field).value);
			leave();
		}
		answers["portal.interfaces.create"] = () => ({ interface: { interface_id: "i" } });
		answers["portal.jobs.start"] = () => ({ job_id: "j" });
		for (const [field, create] of forms) {
			visited = { operations: [], operation_id: "o" };
			await show(create());
			while (byId("send").disabled) await settled();
			find("form").requestSubmit();
			leave(); // before it has been sent
			await settled();
			await show(create());
			seen.push(byId(field).value);
			leave();
		}
		return seen;`))
}

func startsNothingTwice(t page) {
	assert.Equal(t, []string{"films.json", "true", "two", "true", "one"}, t.inDocument(alone+`
		const { interfacesView } = await import("/views/interfaces.js");
		const { jobsView } = await import("/views/jobs.js");
		const list = () => ({ sessions: new Map() });
		const button = (name) => ({ name, jobName: name });
		answers["portal.interfaces.list"] = () => ({ interfaces: [] });
		answers["portal.jobs.list"] = () => ({ book: "b", grid: [{ keyword: "k", jobs: [button("one"), button("two")] }], jobs: { one: {}, two: {} }, chart: {} });
		answers["portal.jobs.watch"] = () => ({ jobs: [] });
		const requests = [];
		const lose = (request) => {
			requests.push(request);
			throw new Error("The connection is lost.");
		};
		answers["portal.interfaces.create"] = answers["portal.jobs.start"] = lose;
		const keptKey = () => String(requests.at(-1).key === requests.at(-2).key);
		const send = async () => {
			while (byId("send").disabled) await settled();
			find("form").requestSubmit();
			await settled();
		};
		const again = async (create) => {
			view?.dispose();
			await show(create());
			await send();
		};
		const interfaces = () => interfacesView({ rpc, navigate: nothing, onChange });
		await show(interfaces());
		const dropped = new DataTransfer();
		dropped.items.add(new File(["an API"], "films.json"));
		byId("drop").dispatchEvent(new DragEvent("drop", { dataTransfer: dropped }));
		while (requests.length === 0) await settled(); // the file is read
		await settled();
		await again(interfaces);
		const seen = [requests.at(-1).name, keptKey()];
		const jobs = () => jobsView({ rpc, navigate: nothing, list, onChange });
		view.dispose();
		await show(jobs());
		find('[value="two"]').click();
		await send();
		await again(jobs);
		seen.push(requests.at(-1).name, keptKey());
		answers["portal.jobs.start"] = () => ({ job_id: "j" });
		await send();
		view.dispose();
		await show(jobs());
		seen.push(find("input:checked").value);
		return seen;`))
}

func looksForFilesAfterEachRun(t page) {
	assert.Equal(t, []string{"a", "", "a", ""}, t.inDocument(alone+`
		const { filesSection } = await import("/views/side.js");
		const session = { id: "s", directory: "/", files: { a: {} }, run: "", ended: 1 };
		const responses = [];
		answers["portal.files.missing"] = () => new Promise((resolve) => responses.push((...paths) => resolve({ paths })));
		const section = filesSection(session, rpc, (path) => path);
		const listed = async () => {
			await settled();
			return section.node.hidden ? "" : section.node.querySelector("li").title;
		};
		responses[0]();
		const seen = [await listed()];
		session.ended++; // a run has begun and ended
		section.check();
		responses[1]("a");
		seen.push(await listed());
		session.ended++;
		section.check();
		session.ended++;
		section.check();
		responses[3]();
		responses[2]("a"); // late
		seen.push(await listed());
		section.check(true); // a run was reverted
		responses[4]?.("a");
		seen.push(await listed());
		return seen;`))
}

func showsTheLatestBranch(t page) {
	assert.Equal(t, []string{"1", "3"}, t.inDocument(alone+`
		const { createHeader } = await import("/views/header.js");
		const responses = [];
		answers["portal.directory.describe"] = () => new Promise((resolve) => responses.push((branch) => resolve({ git: { branch } })));
		const session = { id: "s", directory: "/", title: "", items: [], runs: {}, run: "", ended: 0, state: "idle", forkedFrom: null };
		const header = createHeader({ session, rpc, actions: [] });
		header.update();
		responses[0]("1");
		await settled();
		const seen = [header.node.querySelector(".git").textContent];
		session.ended++; // a run has begun and ended
		header.update();
		header.describe(); // after a commit
		responses[2]("3");
		responses[1]("2"); // late
		await settled();
		seen.push(header.node.querySelector(".git").textContent);
		return seen;`))
}

func ignoresOlderResponses(t page) {
	assert.Equal(t, []string{"new", "1", "1"}, t.inDocument(alone+`
		const { extensionsSection } = await import("/views/extensions.js");
		const { shareSession } = await import("/views/share.js");
		const { jobsView } = await import("/views/jobs.js");
		const seen = [];
		let responses;
		const hold = (method) => {
			responses = [];
			answers[method] = () => new Promise((resolve) => responses.push(resolve));
		};
		const respond = async (newer, older) => {
			do await settled();
			while (responses.length < 2);
			responses[1](newer);
			responses[0](older);
			await settled();
		};
		hold("portal.session.extensions");
		const extensions = (id) => ({ servers: [{ id, state: "ready", enabled: true, transport: "stdio" }], skills: [] });
		const section = extensionsSection({ id: "s" }, rpc);
		document.body.replaceChildren(section.node);
		section.node.open = true;
		section.update();
		await respond(extensions("new"), extensions("old"));
		seen.push(find("li span").textContent);

		hold("portal.share.list");
		const share = { share_id: "x", rights: "read", expires_at: new Date().toISOString() };
		answers["portal.share.create"] = () => ({ ...share, path: "/s/x" });
		shareSession(rpc, { session_id: "s" }, () => nothing);
		byId("share-create").click();
		await respond({ shares: [share] }, { shares: [] });
		seen.push(String(byId("share-list").children.length));
		find("dialog").close();

		hold("portal.jobs.list");
		const job = { job_id: "j", name: "n", status: "Running", directory: "/", input: "", started_at: new Date().toISOString(), works: [], sessions: 0, events: 0 };
		answers["portal.jobs.watch"] = () => ({ jobs: [job] });
		await show(jobsView({ rpc, navigate: nothing, list: () => ({ sessions: new Map() }), onChange }));
		view.receive({ method: "portal.jobs.changed", params: { jobs: [{ ...job, status: "Succeeded" }] } });
		responses[0]({ book: "b", grid: [], jobs: {}, chart: {} });
		await settled();
		seen.push(String(byId("jobs").children.length));
		view.dispose();
		return seen;`))
}

func copiesWholeFileOrNothing(t page) {
	assert.Equal(t, []string{"Copied", "one\r\ntwo", "Copied", "one\r\ntwo\r\n", "Not copied", "A line is too long to be shown, so the file cannot be copied."}, t.inDocument(alone+`
		const { filePanel } = await import("/views/file.js");
		const seen = [];
		let copied = "";
		Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => void (copied = text) } });
		const file = { path: "a", size: 9, modified_at: new Date().toISOString(), line_ends: "crlf", count: 2, from: 1, lines: [{ text: "one" }, { text: "two" }], no_final_end: true };
		const copy = async (found) => {
			answers["portal.file.read"] = () => found;
			const panel = filePanel({ session: { id: "s" }, rpc, isChanged: () => false, onShowChanges: nothing, onPlace: nothing });
			document.body.replaceChildren(panel.node);
			panel.open("a", 0);
			await settled();
			const button = find('[aria-label="Copy content"]');
			button.click();
			await settled();
			return button.textContent;
		};
		seen.push(await copy(file), copied, await copy({ ...file, no_final_end: undefined }), copied);
		seen.push(await copy({ ...file, lines: [{ text: "one" }, { text: "two", cut: 7 }] }), byId("file-note").textContent);
		return seen;`))
}

// TestViews tests single views with a scripted portal.
func TestViews(t *testing.T) {
	t.Parallel()
	shared := page{t, portaltest.StartChromium(t), startPortal(t, portaltest.Options{Args: []string{"--demo"}})}
	for name, look := range map[string]func(page){
		"puts a failed request back into the box":     putsFailedRequestBack,
		"keeps a rewritten request":                   keepsRewrittenRequest,
		"drops a request that another portal made":    dropsRequestThatAnotherPortalMade,
		"drops a request that begins late":            dropsRequestThatBeginsLate,
		"leaves an interface that loads":              leavesInterfaceThatLoads,
		"starts nothing twice after a reload":         startsNothingTwice,
		"keeps the focus in an interface":             keepsFocusInInterface,
		"announces the progress of an interface once": announcesProgressOnce,
		"allows calls later":                          allowsCallsLater,
		"does not say that a failed version hangs":    failedVersionDoesNotHang,
		"focuses a job that loads":                    focusesJobThatLoads,
		"follows the status of an operation":          followsStatusOfOperation,
		"keeps the row of an operation":               keepsRowOfOperation,
		"keeps the text of forms":                     keepsTextOfForms,
		"copies a whole file or nothing":              copiesWholeFileOrNothing,
		"looks for files after each run":              looksForFilesAfterEachRun,
		"shows the latest branch":                     showsTheLatestBranch,
		"ignores older responses":                     ignoresOlderResponses,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			look(subpage(t, shared))
		})
	}
}
