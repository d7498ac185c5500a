// A client of the portal in Node.js 20 or later, without packages: JSON-RPC with server-sent events (spec/rpc.md).
//
//   node client.mjs [http://localhost:8888]
//
// If the portal requires a token, PORTAL_TOKEN has it. The agent's text goes to standard output, the rest to standard error.
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'

const portal = (process.argv[2] ?? 'http://localhost:8888').replace(/\/$/, '')
const token = process.env.PORTAL_TOKEN
const prompt = 'Say `Here are the files of this directory:` then run `ls` and say `done`'

const note = text => console.error(`# ${text}`)

class Lost extends Error {} // the connection failed: another attempt may succeed

async function request(url, options = {}) {
  const headers = { ...options.headers, ...(token && { Authorization: `Bearer ${token}` }) }
  const response = await fetch(url, { ...options, headers }).catch(error => {
    throw new Lost(`No portal answers at ${portal} (${error.cause?.code ?? error.message}). Start one: make run ARGS=--demo`)
  })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  return response
}

async function call(method, params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const { result, error } = await (await request(`${portal}/rpc`, { method: 'POST', body })).json()
  if (error) throw new Error(`${method}: ${error.message}: ${error.data}`) // data is for people
  return result
}

/** Yields the events of a stream after the cursor. A caller that stops early closes the connection. */
async function* events(url, cursor) {
  const response = await request(url, { headers: cursor && { 'Last-Event-ID': cursor } })
  let rest = '', event = {}
  try {
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() // perhaps the start of a line
      for (const line of lines) {
        const [, field, value] = /^(id|event|data): (.*)$/.exec(line) ?? []
        if (field) event[field] = field === 'data' ? JSON.parse(value) : value
        if (line === '' && event.data) yield event
        if (line === '') event = {}
      }
    }
  } catch (error) {
    throw new Lost(error.message)
  }
}

async function handle(sessionId, event, data) {
  switch (event) {
    case 'timeline.message': // the end of a text has what was not sent in pieces, normally nothing
      if (data.type === 'text') process.stdout.write(data.content + (data.delta ? '' : '\n'))
      break
    case 'timeline.toolCall': return note(`${data.toolName} ${data.status}`)
    case 'tool.approval': case 'question': return answer(sessionId, data, data.args?.command === 'ls')
    case 'error': return note(`${data.message}: ${data.data}`)
    case 'gap': return note(`events are missing: ${data.reason}`)
  }
}

/** Allows what a question asks for, once, or refuses it. */
async function answer(sessionId, { requestId, detail }, approved) {
  try {
    await call('question.answer', { sessionId, requestId, approved })
    note(`${approved ? 'allowed once' : 'refused'}: ${detail}`)
  } catch (error) {
    if (error instanceof Lost) throw error
    note(error.message) // another client may have been first
  }
}

/** Follows a run to its end and returns its status. It drops its first connection in the middle. */
async function follow(sessionId, { messageId, streamUrl }) {
  let cursor, drop = 5, failures = 0
  for (;;) {
    try {
      // An event without an id belongs to the next one that has an id, and is sent again if the connection is lost
      // between them. So they are handled, and the cursor moves, when all have arrived.
      let together = []
      for await (const { id, event, data } of events(new URL(streamUrl, portal), cursor)) {
        together.push([event, data])
        if (!id) continue
        for (const one of together) await handle(sessionId, ...one)
        cursor = id, together = [], failures = 0
        if (event === 'done' && data.messageId === messageId) return data.status
        if (--drop === 0) { note(`connection dropped after ${cursor}`); break }
      }
    } catch (error) {
      if (!(error instanceof Lost) || ++failures > 5) throw error
      await sleep(1000)
    }
  }
}

async function main() {
  // An interactive client answers questions, and the agent asks before it runs a command.
  const options = { model: 'demo', workingDirectory: process.cwd(), interactive: true, permissions: { 'exec.run': 'ask' } }
  const { sessionId } = await call('session.create', options)
  note(`session ${sessionId}`)
  try {
    const status = await follow(sessionId, await call('session.send', { sessionId, prompt }))
    note(`run ${status}`)
    if (status !== 'completed') process.exitCode = 1
  } finally {
    await call('session.close', { sessionId })
    note('session closed')
  }
}

main().catch(error => { note(error.message); process.exitCode = 1 })
