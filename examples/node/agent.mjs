// The tools of an mcp.json's servers beside one of the program's own, as an agent uses them.
//
//     node agent.mjs CONFIG      CONFIG: JSON text or a path, with the fixture as its server `progress`
//
// Before: `npm ci --omit=dev` in bindings/node, and TOOLNEXUS_LIBRARY (see bindings/node/README.md).
import { ToolnexusError, createToolkit, defineTool } from '../../bindings/node/src/index.js'

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  hints: { readOnly: true },
  execute: ({ a, b }) => String(a + b)
})

async function main(config) {
  const toolkit = await createToolkit({
    mcpConfig: config,
    extraTools: [add],
    // A server asks the person at the screen. This program has none.
    onElicit: async () => ({ ok: false, reason: 'declined' })
  })
  try {
    toolkit.register(...toolkit.source.resourceTools())
    // A server that failed costs only itself.
    for (const [name, server] of Object.entries(toolkit.source.status.servers)) {
      console.log(`${name}: ${server.status}${server.reason ? `: ${server.reason}` : ''}`)
    }
    // This is what a model is given ...
    console.log(toolkit.schema('openai').map((tool) => tool.function.name).join(' '))
    // ... and this is what it may ask for: names and arguments as text. Whatever it is, there is a result it can read.
    for (const [name, args] of [
      ['add', '{"a":1,"b":2}'],
      ['list_mcp_resources', '{}'],
      ['progress_fail', '{}'],
      ['no_such_tool', '{}'],
      ['progress_echo', '["not an object"]']
    ]) {
      const result = await toolkit.execute(name, args, { timeout: 10_000 })
      console.log(`${name}${result.isError ? ' failed' : ''}: ${result.output}`)
    }
    await slow(toolkit)
  } finally {
    await toolkit.close()
  }
}

/** A call that reports its progress, and that is given up. */
async function slow(toolkit) {
  const controller = new AbortController()
  const onProgress = () => controller.abort()
  try {
    await toolkit.execute('progress_slow', { durationMs: 60_000, intervalMs: 20 }, { signal: controller.signal, onProgress })
  } catch (error) {
    if (error.name !== 'AbortError') throw error
    console.log('progress_slow was given up')
  }
}

try {
  await main(process.argv[2] ?? 'mcp.json')
} catch (error) {
  if (!(error instanceof ToolnexusError)) throw error
  console.error(`${error.code}: ${error.message}`)
  process.exitCode = 1
}
