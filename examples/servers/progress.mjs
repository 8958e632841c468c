// An MCP server on stdio in plain Node (18 or newer), with nothing to install: `node progress.mjs`.
//
// It speaks both eras of the protocol: `initialize` (2025-11-25 and older) and `server/discover` (2026-07-28).
// Tools: `echo {text}`, `fail {}` and `slow {durationMs, intervalMs}`, which reports progress every intervalMs and stops
// when the call is cancelled. One resource: `fixture://hello`. It exits when its stdin ends.

import { createInterface } from 'node:readline'

const SERVER = { name: 'progress', version: '1.0.0' }
const CAPABILITIES = { tools: {}, resources: {} }
const MODERN = '2026-07-28'
const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

const RESOURCE = {
  uri: 'fixture://hello',
  name: 'hello',
  mimeType: 'text/plain',
  description: 'A fixed text resource.'
}

const milliseconds = (description) => ({ type: 'integer', minimum: 0, description })
const TOOLS = [
  {
    name: 'echo',
    description: 'Gives back the text.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    annotations: { readOnlyHint: true }
  },
  {
    name: 'slow',
    description: 'Takes a while, and reports progress.',
    inputSchema: {
      type: 'object',
      properties: {
        durationMs: milliseconds('How long it takes; 1000 if not given.'),
        intervalMs: milliseconds('Time between two progress notifications; 0 for none; 100 if not given.')
      }
    },
    annotations: { readOnlyHint: true }
  },
  { name: 'fail', description: 'Always fails.', inputSchema: { type: 'object', properties: {} } }
]

class RpcError extends Error {
  constructor(code, message, data) {
    super(message)
    Object.assign(this, { code, data })
  }
}

const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')
const text = (value) => ({ content: [{ type: 'text', text: value }] })

// Requests under way, by id: what `notifications/cancelled` aborts.
const running = new Map()

const tools = {
  echo: ({ text: value }) => {
    if (typeof value !== 'string') throw new RpcError(-32602, 'echo: text must be a string')
    return text(value)
  },
  fail: () => ({ ...text('this tool always fails'), isError: true }),
  slow: ({ durationMs = 1000, intervalMs = 100 }, { signal, progressToken }) =>
    new Promise((resolve) => {
      const started = performance.now()
      const report = () =>
        write({
          method: 'notifications/progress',
          params: { progressToken, progress: Math.min(Math.round(performance.now() - started), durationMs), total: durationMs }
        })
      const ticker = progressToken !== undefined && intervalMs > 0 ? setInterval(report, intervalMs) : undefined
      const finish = () => {
        clearInterval(ticker)
        clearTimeout(timer)
        resolve(text(`slept ${durationMs} ms`))
      }
      const timer = setTimeout(finish, durationMs)
      signal.addEventListener('abort', finish)
    })
}

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: LEGACY.includes(protocolVersion) ? protocolVersion : LEGACY[0],
    capabilities: CAPABILITIES,
    serverInfo: SERVER
  }),
  'server/discover': () => ({ supportedVersions: [MODERN], capabilities: CAPABILITIES }),
  ping: () => ({}),
  'tools/list': () => ({ tools: TOOLS }),
  'tools/call': ({ name, arguments: args = {} }, call) => {
    if (!Object.hasOwn(tools, name)) throw new RpcError(-32602, `Unknown tool: ${name}`)
    return tools[name](args, call)
  },
  'resources/list': () => ({ resources: [RESOURCE] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'resources/read': ({ uri }, { modern }) => {
    if (uri !== RESOURCE.uri) throw new RpcError(modern ? -32602 : -32002, `Resource not found: ${uri}`, { uri })
    return { contents: [{ uri, mimeType: RESOURCE.mimeType, text: 'hello resource' }] }
  }
}

// In 2026-07-28 a result says what it is and who gives it, and a request which revision it is made in.
const CACHED = ['server/discover', 'tools/list', 'resources/list', 'resources/templates/list', 'resources/read']
const asModern = (method, result) => ({
  ...result,
  resultType: 'complete',
  ...(CACHED.includes(method) && { ttlMs: 0, cacheScope: 'private' }),
  _meta: { 'io.modelcontextprotocol/serverInfo': SERVER }
})

async function answer({ id, method, params = {} }) {
  const controller = new AbortController()
  running.set(id, controller)
  try {
    const version = params._meta?.[VERSION_KEY]
    const modern = version !== undefined
    if (modern && version !== MODERN)
      throw new RpcError(-32022, `Unsupported protocol version: ${version}`, { supported: [MODERN], requested: version })
    if (!Object.hasOwn(methods, method)) throw new RpcError(-32601, `Method not found: ${method}`)
    const call = { modern, signal: controller.signal, progressToken: params._meta?.progressToken }
    const result = await methods[method](params, call)
    // Nobody waits for the answer to a cancelled request.
    if (!controller.signal.aborted) write({ id, result: modern ? asModern(method, result) : result })
  } catch (error) {
    const { code = -32603, message, data } = error
    write({ id, error: { code, message, data } })
  } finally {
    running.delete(id)
  }
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    let message
    try {
      message = JSON.parse(line)
    } catch {
      return write({ id: null, error: { code: -32700, message: 'Parse error: not a line of JSON' } })
    }
    if (message?.method === 'notifications/cancelled') running.get(message.params?.requestId)?.abort()
    else if (message?.id !== undefined && message.method !== undefined) answer(message)
  })
  .on('close', () => process.exit())
