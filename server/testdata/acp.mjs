// An editor made with the official SDK of the Agent Client Protocol. It speaks the protocol on its standard streams and prints what it
// saw to standard error, as one line of JSON. Arguments: the SDK's directory, the working directory.
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [sdk, cwd] = process.argv.slice(2);
const acp = await import(pathToFileURL(`${sdk}/dist/v1/stable/acp.js`).href);
const seen = { text: "", prompts: "", kinds: new Set(), asked: [], title: "" };

const editor = acp.client({ name: "editor" })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    seen.asked.push(params.toolCall.title);
    return { outcome: { outcome: "selected", optionId: params.options.find(({ kind }) => kind === "allow_once").optionId } };
  })
  .onRequest(acp.methods.client.elicitation.create, ({ params }) => {
    seen.asked.push(params.message);
    return { action: "accept", content: { answer: "blue" } };
  })
  .onNotification(acp.methods.client.session.update, ({ params: { update } }) => {
    seen.kinds.add(update.sessionUpdate);
    if (update.sessionUpdate === "agent_message_chunk") seen.text += update.content.text;
    if (update.sessionUpdate === "user_message_chunk") seen.prompts += update.content.text;
  });

const stream = acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
await editor.connectWith(stream, async (portal) => {
  const { agent } = acp.methods;
  const { agentCapabilities } = await portal.request(agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: { elicitation: { form: {} }, session: { notices: {}, compaction: {} } },
  });
  const { sessionId, modes, configOptions } = await portal.request(agent.session.new, { cwd, mcpServers: [] });
  const prompt = (text) => portal.request(agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
  const first = await prompt("run `touch made`, ask `Which colour?` and say `all done`");
  const waiting = prompt("wait 10 min");
  await portal.notify(agent.session.cancel, { sessionId });
  const second = await waiting;
  await portal.request(agent.session.setMode, { sessionId, modeId: "plan" });
  await portal.request(agent.session.setMode, { sessionId, modeId: "interactive" });
  const { sessions } = await portal.request(agent.session.list, { cwd });
  const said = seen.text;
  seen.text = "";
  await portal.request(agent.session.load, { sessionId, cwd, mcpServers: [] });
  while (!seen.prompts.includes("wait 10 min")) await new Promise((soon) => setTimeout(soon, 5)); // the SDK handles updates beside the response
  const replayed = { text: seen.text, prompts: seen.prompts };
  await portal.request(agent.session.close, { sessionId });
  await portal.request(agent.session.resume, { sessionId, cwd });
  await portal.request(agent.session.delete, { sessionId });
  process.stderr.write(JSON.stringify({
    load: agentCapabilities.loadSession, modes: modes.availableModes.length, options: configOptions.map(({ id }) => id),
    stops: [first.stopReason, second.stopReason], said, replayed, asked: seen.asked, kinds: [...seen.kinds], listed: sessions.length,
  }));
});
process.exit(0);
