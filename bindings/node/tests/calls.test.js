// Calls, and how they end.
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { createToolkit, defineTool, listMcpTools, loadMcp, logTo, parseConfig, shutdown, version } from 'toolnexus'
import { behaviour, progress } from './common.js'

let source, echo, slow
before(async () => {
  source = await loadMcp(progress)
  ;[echo, slow] = source.tools
})
after(async () => {
  await source.close()
  assert.deepEqual(await shutdown(), { live: {} })
})

test('a signal cancels, with its reason, and keeps no listener', async () => {
  const controller = new AbortController()
  const calls = Array.from({ length: 1000 }, () => echo.execute({ text: 'a' }, { signal: controller.signal }))
  assert.equal(getEventListeners(controller.signal, 'abort').length, 1)
  await Promise.all(calls)
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)

  const call = slow.execute({ durationMs: 60_000 }, { signal: controller.signal })
  const reason = new Error('enough')
  controller.abort(reason)
  await assert.rejects(call, (error) => error === reason)
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
  await assert.rejects(echo.execute({ text: 'a' }, { signal: controller.signal }), (error) => error === reason)
  await assert.rejects(slow.execute({ durationMs: 60_000 }, { signal: AbortSignal.timeout(20) }), { name: 'TimeoutError' })
})

test('time-outs are results', async () => {
  for (const limits of [{ timeout: 50 }, { deadline: 50 }]) {
    const result = await slow.execute({ durationMs: 60_000, intervalMs: 0 }, limits)
    assert.equal(result.status, 'TN_E_TIMEOUT')
    assert.equal(result.error.code, 'timeout')
    assert.match(result.output, /50 ms/)
  }
})

test('progress comes before the result; a listener that throws ends its call', async () => {
  const seen = []
  const args = { durationMs: 200, intervalMs: 20 }
  const result = await slow.execute(args, { onProgress: (progress) => seen.push(progress) })
  assert.equal(result.output, 'slept 200 ms')
  const count = seen.length
  assert.ok(count > 0)
  assert.equal(seen[0].total, 200)
  const failure = new Error('listener')
  const call = slow.execute({ durationMs: 60_000, intervalMs: 10 }, { onProgress: () => { throw failure } })
  await assert.rejects(call, (error) => error === failure)
  assert.equal(seen.length, count)
})

test('wrong types are errors of the language, before the library is asked', async () => {
  const circular = {}
  circular.self = circular
  for (const args of [1, true, [], () => {}, Symbol('a'), { big: 1n }, circular, 'a\0b', { toJSON: () => undefined }]) {
    await assert.rejects(echo.execute(args), TypeError)
  }
  for (const options of [null, 1, [], { signal: {} }, { timeout: '1' }, { deadline: null }, { onProgress: 1 }]) {
    await assert.rejects(echo.execute({ text: 'a' }, options), TypeError)
  }
  for (const timeout of [-1, NaN, 2 ** 32]) await assert.rejects(echo.execute({}, { timeout }), RangeError)
  for (const config of [undefined, null, 1, [], 'a\0b']) await assert.rejects(loadMcp(config), TypeError)
  for (const handler of [1, {}, null]) await assert.rejects(loadMcp(progress, { onElicit: handler }), TypeError)
  await assert.rejects(source.request(1, 'ping'), TypeError)
  await assert.rejects(source.request('progress', 'ping', [1]), TypeError)
  await assert.rejects(source.restart(1), TypeError)
  assert.throws(() => source.schema(1), TypeError)
  assert.throws(() => source.schema('other'), { status: 'TN_E_ARGUMENT', code: 'ERR_TN_ARGUMENT' })
  assert.throws(() => logTo(() => {}, 'loud'), TypeError)
})

test('an option that is not known is an error that names it', async () => {
  const never = () => {}
  const tool = { name: 'mine', execute: never }
  const mine = defineTool(tool)
  const kit = await createToolkit()
  for (const call of [
    () => echo.execute({ text: 'a' }, { timeoutMs: 5 }),
    () => mine.execute({}, { timeoutMs: 5 }),
    () => kit.execute('mine', {}, { timeoutMs: 5 }),
    () => kit.close({ timeoutMs: 5 }),
    () => source.request('progress', 'ping', {}, { timeoutMs: 5 }),
    () => source.restart('progress', { timeoutMs: 5 }),
    () => source.notices({ timeoutMs: 5 }).next()
  ]) {
    await assert.rejects(async () => call(), { name: 'TypeError', message: /^options\.timeoutMs is unknown, expected .*signal/ })
  }
  await kit.close()
  for (const make of [loadMcp, listMcpTools, parseConfig, (_, options) => createToolkit(options)]) {
    await assert.rejects(make(progress, { onElicitation: never }), { name: 'TypeError', message: /^options\.onElicitation is unknown/ })
    await assert.rejects(make(progress, { timeoutMs: 5 }), { status: 'TN_E_ARGUMENT', message: /timeoutMs/ })
  }
  await assert.rejects(listMcpTools(progress, { onElicit: never }), { name: 'TypeError', message: /^options\.onElicit is unknown/ })
  await assert.rejects(createToolkit({ mcpConfig: progress, mcpOptions: { onElicit: never } }), TypeError)
  assert.throws(() => defineTool({ ...tool, run: never }), { name: 'TypeError', message: /^tool\.run is unknown/ })
})

test('arguments of 16 MiB and odd characters', async () => {
  const text = 'ü€🦀'.repeat((16 << 20) / 9)
  const { output } = await echo.execute({ text })
  assert.ok(output === text)
  const odd = '\u0000 \u0001 \u2028 \ufeff "'
  assert.equal((await echo.execute({ text: odd })).output, odd)
})

test('requests: the reply, or an error with the server\'s own', async () => {
  const reply = await source.request('progress', 'resources/read', { uri: 'fixture://hello' })
  assert.equal(reply.contents[0].text, 'hello resource')
  await assert.rejects(source.request('progress', 'no/such'), (error) => {
    assert.equal(error.name, 'ToolnexusError')
    assert.equal(error.code, 'ERR_TN_SERVER')
    assert.equal(error.data.code, -32601)
    return true
  })
  await assert.rejects(source.request('nope', 'ping'), { status: 'TN_E_NOT_FOUND' })
})

test('skills: a file that is what the entry says, or nothing', async () => {
  const uri = 'skill://acme/pdf/SKILL.md'
  const own = await loadMcp(behaviour('skills'))
  const { output, metadata, skill } = await own.readSkill('x', uri)
  assert.match(output, /\nBody\n$/)
  assert.deepEqual(metadata, { server: 'x', skill: uri, uri })
  const logo = await own.readSkill('x', skill, 'skill://acme/pdf/logo.png')
  assert.equal(logo.contents[0].blob, 'iVBORw==')
  await assert.rejects(own.readSkill('x', skill, 'skill://acme/pdf/hidden.md'), { status: 'TN_E_PROTOCOL', message: /not among/ })
  await assert.rejects(own.readSkill('x', [1]), TypeError)
  await own.close()
  const forged = await loadMcp(behaviour('skill-digest'))
  await assert.rejects(forged.readSkill('x', uri), { status: 'TN_E_PROTOCOL', message: /is refused: .* has the digest/ })
  await forged.close()
})

test('a restart, and lists that stay the same objects', async () => {
  const { tools } = source
  assert.equal(source.tools, tools)
  assert.ok(Object.isFrozen(tools))
  const status = await source.restart('progress')
  assert.equal(status.servers.progress.status, 'connected')
  assert.equal((await source.tools[0].execute({ text: 'again' })).output, 'again')
})

test('a cancelled load leaves nothing', async () => {
  const controller = new AbortController()
  const loading = loadMcp(behaviour('never-replies'), { signal: controller.signal })
  setTimeout(() => controller.abort(), 50)
  await assert.rejects(loading, { name: 'AbortError' })
  await assert.rejects(loadMcp(progress, { signal: AbortSignal.abort() }), { name: 'AbortError' })
  await assert.rejects(loadMcp(behaviour('never-replies'), { deadline: 50 }), { status: 'TN_E_TIMEOUT' })
})

test('configs: objects, texts, paths and URLs', async () => {
  const file = new URL('../../../examples/c/mcp.json', import.meta.url)
  for (const config of [file, file.pathname, await readFile(file, 'utf8')]) {
    assert.deepEqual(Object.keys((await parseConfig(config)).servers), ['progress'])
  }
  const config = { mcpServers: { a: { command: ['x'], env: { KEY: 'a-long-secret' } } } }
  assert.equal((await parseConfig(config)).servers.a.env.KEY, '***')
  assert.equal((await parseConfig(config, { secrets: true })).servers.a.env.KEY, 'a-long-secret')
  await assert.rejects(parseConfig('{'), { status: 'TN_E_CONFIG' })
})

test('the event loop goes on, and libuv\'s threads stay free, while calls wait', async () => {
  const controller = new AbortController()
  const { signal } = controller
  const calls = Array.from({ length: 64 }, () => slow.execute({ durationMs: 60_000 }, { signal }))
  await readFile(new URL(import.meta.url))
  controller.abort()
  for (const call of calls) await assert.rejects(call, { name: 'AbortError' })
})

test('the log goes to a listener', async () => {
  let waiting
  const logged = new Promise((resolve) => {
    logTo((entry) => entry.message.includes('toolnexus-no-such-command') && resolve(entry))
    waiting = setInterval(() => {}, 1000) // listening to the log does not keep the process
  })
  const failing = await loadMcp({ mcpServers: { bad: { command: 'toolnexus-no-such-command' } } })
  assert.equal((await logged).level, 2)
  clearInterval(waiting)
  logTo(null)
  await failing.close()
})

test('the version', () => assert.match(version(), /^\d+\.\d+\.\d+$/))
