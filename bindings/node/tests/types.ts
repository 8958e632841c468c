// Compiled, never run: that the types say what a user expects of them, and refuse what they should.
import { createToolkit, defineTool, loadMcp, listMcpTools, logTo, parseConfig, shutdown, Tool, ToolnexusError } from 'toolnexus'
import type { AnyTool, Notice, ToolResult } from 'toolnexus'

const source = await loadMcp('mcp.json', {
  onElicit: async (request, { signal }) => {
    const kind: 'input' | 'url' = request.kind
    return signal.aborted || kind === 'url' ? { ok: false, reason: 'declined' } : { ok: true, data: { name: 'Ada' } }
  },
  signal: AbortSignal.timeout(1000),
  restart: { max: 1 }
})
const tools: readonly Tool[] = [...source.tools, ...source.resourceTools()]
const result: ToolResult = await tools[0]!.execute({ a: 1 }, { timeout: 5, onProgress: ({ progress }) => progress.toFixed() })
const output: string = result.output
const readOnly: boolean | undefined = tools[0]!.hints.readOnly
source.on('toolsChanged', (notice: Notice) => notice.server)
for await (const notice of source.notices()) notice.kind.length
const reply = await source.request<{ contents: unknown[] }>('files', 'resources/read', { uri: 'x' })
reply.contents.length
await source.restart('files')
source.status.servers['files']?.status.length

const add = defineTool<{ a: number; b: number }>({ name: 'add', execute: ({ a, b }) => String(a + b) })
const kit = await createToolkit({ mcpConfig: { mcpServers: {} }, extraTools: [add, ...tools], builtins: false })
const found: AnyTool | undefined = kit.get('add')
const warnings: string[] = kit.register(add)
await kit.source?.close()
{
  await using scoped = await loadMcp({ mcpServers: {} })
  scoped.tools.length
}
logTo((entry) => entry.message.length, 'info')
logTo(null)
const status = (error: unknown): string => (error instanceof ToolnexusError ? error.status : '')
const inventory = (await listMcpTools(new URL('file:///mcp.json'))).tools['files']?.[0]?.name
const failed = (await parseConfig('{}', { secrets: true })).failed['x']?.reason
const live: number | undefined = (await shutdown()).live['tool']
export { output, readOnly, found, warnings, status, inventory, failed, live }

// @ts-expect-error: not a config
loadMcp(1)
// @ts-expect-error: no such option
loadMcp('mcp.json', { paralel: 1 })
// @ts-expect-error: an answer says whether it is one
loadMcp('mcp.json', { onElicit: () => ({ data: {} }) })
// @ts-expect-error: arguments are an object
tools[0]!.execute([1])
// @ts-expect-error: no such provider
source.schema('other')
// @ts-expect-error: there are none
createToolkit({ builtins: true })
// @ts-expect-error: tools come from lists
new Tool()
// @ts-expect-error: a tool has something to run
defineTool({ name: 'x' })
