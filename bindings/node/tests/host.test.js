// What the library asks of the program: elicitation, the program's own tools, notices.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { createToolkit, defineTool, loadMcp, shutdown } from 'toolnexus'
import { Host } from '../src/host.js'
import { toolResult } from '../src/result.js'
import { runtime } from '../src/runtime.js'
import { hosted } from '../src/tool.js'
import { behaviour, progress } from './common.js'

async function elicited(onElicit, options) {
  const source = await loadMcp(behaviour('asks-elicitation', '--era', 'legacy'), { onElicit })
  try {
    return await source.tools.find((tool) => tool.name === 'x_odd').execute({}, options)
  } finally {
    await source.close()
  }
}

test('elicitation: an async function answers, with what was asked in hand', async () => {
  let asked
  const result = await elicited(async (request) => {
    asked = request
    await new Promise(setImmediate)
    return { ok: true, data: { confirmed: false } }
  })
  assert.match(result.output, /accept/)
  assert.equal(asked.kind, 'input')
  assert.equal(asked.server, 'x')
  assert.equal(typeof asked.data.schema, 'object')
})

test('elicitation: a handler that throws or answers badly cancels, and warns', async () => {
  const bad = [
    () => { throw new Error('no idea') },
    async () => 'yes',
    async () => ({ ok: true, data: { confirmed: 'no' } })
  ]
  for (const handler of bad) {
    const warned = once(process, 'warning')
    assert.match((await elicited(handler)).output, /cancel/)
    assert.equal((await warned)[0].name, 'ToolnexusWarning')
  }
})

test('elicitation: the handler learns that its answer is no longer wanted', async () => {
  const controller = new AbortController()
  let told
  const call = elicited((_, { signal }) => {
    told = once(signal, 'abort')
    controller.abort()
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ ok: false })))
  }, { signal: controller.signal })
  await assert.rejects(call, { name: 'AbortError' })
  await told
})

const tool = (execute, more) => defineTool({ name: 'mine', execute, ...more })

test('tools of the program: what they give', async () => {
  for (const [gives, output] of [['a', 'a'], [undefined, ''], [3, '3'], [null, 'null'], [{ a: [1] }, '{"a":[1]}'], [{ output: 'b' }, 'b']]) {
    const result = await tool(() => gives).execute()
    assert.equal(result.output, output)
    assert.equal(result.isError, false)
    assert.equal(result.status, 'TN_OK')
  }
  const full = { output: 'no', isError: true, metadata: { a: 1 }, parts: [{ type: 'image', data: 'AA==' }] }
  assert.deepEqual(await tool(async () => full).execute(), { ...full, status: 'TN_OK', content: [] })
  for (const [fails, says] of [
    [() => { throw new Error('broken') }, 'broken'],
    [async () => { throw 'text' }, 'text'],
    [() => Promise.reject(null), 'null'],
    [() => ({ output: 7 }), "the tool's output is number, expected a string"],
    [() => 1n, 'Do not know how to serialize a BigInt']
  ]) {
    const result = await tool(fails).execute()
    assert.equal(result.output, says)
    assert.equal(result.isError, true)
    assert.equal(result.status, 'TN_OK')
  }
})

test('tools of the program: limits, as for those of servers', async () => {
  const signals = []
  const never = tool((_, { signal }) => (signals.push(signal), new Promise(() => {})))
  const late = await never.execute({}, { timeout: 20 })
  assert.equal(late.status, 'TN_E_TIMEOUT')
  assert.equal(late.output, 'the host did not answer within the time-out of 20 ms (tool mine)')
  assert.equal((await never.execute({}, { deadline: 20 })).status, 'TN_E_TIMEOUT')
  await assert.rejects(never.execute({}, { signal: AbortSignal.timeout(20) }), { name: 'TimeoutError' })
  assert.ok(signals.length === 3 && signals.every((signal) => signal.aborted))
  assert.equal((await never.execute('[1]')).status, 'TN_E_JSON')
  assert.equal((await never.execute('{')).status, 'TN_E_JSON')
  await assert.rejects(never.execute([1]), TypeError)
  assert.equal((await tool(({ a }) => a).execute('{"a":"text"}')).output, 'text')
})

test('tools of the program: a bad one is refused, and says why', () => {
  assert.throws(() => defineTool(), TypeError)
  assert.throws(() => defineTool({ name: 'a' }), TypeError)
  assert.throws(() => defineTool({ name: 'a b', execute() {} }), { status: 'TN_E_ARGUMENT', message: /spec.name/ })
  assert.throws(() => defineTool({ name: 'a', colour: 1, execute() {} }), { message: /colour/ })
  const { inputSchema, hints, source } = tool(() => '', { hints: { readOnly: true } })
  assert.deepEqual({ inputSchema, hints, source }, {
    inputSchema: { type: 'object', properties: {} }, hints: { readOnly: true }, source: 'native'
  })
})

test('toolkit: one list, the first of a name stays, closing ends every call', async () => {
  const mine = tool(() => new Promise(() => {}))
  const taken = defineTool({ name: 'progress_echo', execute: () => 'hijacked' })
  const kit = await createToolkit({ mcpConfig: progress, extraTools: [mine], disableTools: ['progress_fail'] })
  assert.deepEqual(kit.tools.map(({ name }) => name), ['progress_echo', 'progress_slow', 'mine'])
  assert.equal(kit.get('mine'), mine)
  assert.equal(kit.get('nope'), undefined)
  assert.equal(kit.register(taken, mine).length, 2)
  assert.deepEqual(kit.register(...kit.source.resourceTools()), [])
  assert.equal((await kit.execute('progress_echo', { text: 'a' })).output, 'a')
  const read = await kit.execute('read_mcp_resource', { server: 'progress', uri: 'fixture://hello' })
  assert.equal(read.output, 'hello resource')
  assert.deepEqual(kit.schema('openai').map((one) => one.function.name).slice(-3), ['mine', 'list_mcp_resources', 'read_mcp_resource'])
  assert.throws(() => kit.register({}), TypeError)

  const calls = [kit.execute('mine'), kit.execute('progress_slow', { durationMs: 60_000 })]
  await kit.close()
  for (const result of await Promise.all(calls)) assert.equal(result.status, 'TN_E_CLOSED')
  assert.equal((await kit.execute('mine')).output, 'the toolkit is closed')
  assert.equal((await kit.execute('progress_echo')).status, 'TN_E_CLOSED')
  await kit.close()
})

test('toolkit: without servers; bad options', async () => {
  const kit = await createToolkit({ extraTools: [tool(() => 'here')] })
  assert.equal(kit.source, undefined)
  assert.equal((await kit.execute('mine')).output, 'here')
  await kit[Symbol.asyncDispose]()
  await assert.rejects(createToolkit({ builtins: true }), { status: 'TN_E_ARGUMENT' })
  await assert.rejects(createToolkit({ mcpConfig: '{' }), { status: 'TN_E_CONFIG' })
  await assert.rejects(createToolkit({ extraTools: [{}] }), TypeError)
  await assert.rejects(createToolkit({ extraTools: 1 }), TypeError)
})

test('a tool of the program that the library itself calls', async () => {
  const own = runtime()
  const mine = tool(({ a }) => a.toUpperCase())
  const host = new Host(own, {})
  host.serve({}, new Map([['mine', mine]]))
  const { library: made } = hosted(own, mine.spec, host.channel.queue)
  const make = (context, queue, id) => [made.value, '{"a":"text"}', context, queue, id]
  const result = await own.submit('tn_tool_execute_submit', make, toolResult)
  assert.equal(result.output, 'TEXT')
  for (const one of [made, host]) one.free()
})

test('notices: listeners and iteration', async () => {
  const source = await loadMcp(behaviour('changes-tools'))
  const odd = source.tools.find((one) => one.name === 'x_odd')
  const seen = []
  source.on('toolsChanged', () => { throw new Error('a listener of the program') })
  const iterated = (async () => {
    for await (const notice of source.notices()) seen.push(notice.kind)
  })()
  const warned = once(process, 'warning')
  const changed = once(source, 'notice')
  await odd.execute()
  const [notice] = await changed
  assert.deepEqual(notice, { kind: 'tools_changed', server: 'x' })
  assert.match((await warned)[0].message, /a listener of the program/)
  assert.ok(source.tools.some((one) => one.name.startsWith('x_added-')))
  await source.close()
  await iterated
  assert.deepEqual(seen, ['tools_changed'])
  for await (const _ of source.notices()) assert.fail('a closed source has no notices')
})

test('nothing is left', async () => assert.deepEqual(await shutdown(), { live: {} }))
