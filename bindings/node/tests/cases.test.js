// Runs the shared cases, tests/cases/cases.json at the root of the repository. A word that is not known here fails.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ToolnexusError, createToolkit, defineTool, listMcpTools, loadMcp, parseConfig, shutdown } from 'toolnexus'
import { hostile, remote, tiny } from './common.js'

const cases = JSON.parse(readFileSync(new URL('../../../tests/cases/cases.json', import.meta.url), 'utf8'))

/** A value of the file with its place-holders filled in. */
function filled(value) {
  if (typeof value === 'string') return value.replaceAll('$tiny', tiny).replaceAll('$hostile', hostile).replaceAll('$remote', remote)
  if (Array.isArray(value)) return value.map(filled)
  if (value === null || typeof value !== 'object') return value
  if ('$repeat' in value) return value.$repeat[0].repeat(value.$repeat[1])
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, filled(inner)]))
}

function only(what, object, ...words) {
  for (const word of Object.keys(object)) assert.ok(words.includes(word), `${what}: unknown word ${word}`)
}

function holds(actual, expected, path = '') {
  if (expected === null || typeof expected !== 'object' || Array.isArray(expected)) {
    return assert.deepEqual(actual, expected, path)
  }
  assert.ok(actual !== null && typeof actual === 'object', `${path} is ${actual}`)
  for (const [key, value] of Object.entries(expected)) holds(actual[key], value, `${path}.${key}`)
}

/** What a call comes to, an error of the language included. */
async function outcome(calling, signal) {
  try {
    return await calling
  } catch (error) {
    if (signal && error === signal.reason) return { status: 'TN_E_CANCELLED', isError: true, output: '' }
    if (!(error instanceof ToolnexusError)) throw error
    return { status: error.status, isError: true, output: error.message, data: error.data }
  }
}

function check(result, expect = {}) {
  only('expect', expect, 'status', 'isError', 'output', 'outputHas', 'outputLength', 'parts', 'structured', 'document', 'serverError')
  const { status = 'TN_OK', isError = status !== 'TN_OK' } = expect
  const shown = JSON.stringify(result).slice(0, 500)
  assert.equal(result.status, status, shown)
  assert.equal(result.isError, isError, shown)
  if (expect.output !== undefined) assert.equal(result.output, expect.output)
  for (const part of expect.outputHas ?? []) assert.ok(result.output.includes(part), `${part} is not in ${shown}`)
  if (expect.outputLength !== undefined) assert.equal(Buffer.byteLength(result.output), expect.outputLength)
  if (expect.structured !== undefined) assert.deepEqual(result.structured, expect.structured)
  if (expect.document !== undefined) holds(result.document, expect.document)
  if (expect.serverError !== undefined) assert.equal(result.data.code, expect.serverError)
  if (expect.parts !== undefined) {
    // Here a part has the data as well.
    assert.deepEqual(result.parts.map(({ data, ...part }) => part), expect.parts)
    for (const { data, url } of result.parts) assert.ok(typeof data === 'string' || url, shown)
  }
}

const hostTools = {
  upper: ({ text }) => text.toUpperCase(),
  fail() {
    throw new Error('it does not want to')
  }
}

class Case {
  constructor(one) {
    only(one.name, one, 'name', 'parse', 'config', 'options', 'answers', 'hostTool', 'load', 'steps')
    Object.assign(this, filled(one))
    this.resourceTools = []
  }

  async run() {
    try {
      if (!(await this.open())) return assert.deepEqual(this.steps, [])
      for (const step of this.steps) await this.step(step)
    } finally {
      await this.toolkit?.close()
      await this.source?.close()
      assert.deepEqual(await shutdown(), { live: {} })
    }
  }

  /** Whether there is a source. */
  async open() {
    const { status, ...expected } = this.load ?? {}
    let document
    const opening = async () => {
      if (this.parse !== undefined) document = await parseConfig(this.parse, this.options)
      else await this.connect()
      return { status: 'TN_OK', isError: false }
    }
    check(await outcome(opening()), { status })
    if (document === undefined) document = this.source?.status
    if (document) holds(document, expected)
    return this.source !== undefined
  }

  async connect() {
    const answers = this.answers && [...this.answers]
    const answer = async () => answers.shift()
    const handlers = answers && { onElicit: answer, ...(this.options?.sampling && { onSampling: answer }) }
    if (!this.hostTool) {
      this.source = await loadMcp(this.config, { ...this.options, ...handlers })
      return
    }
    const { does, ...tool } = this.hostTool
    assert.ok(Object.hasOwn(hostTools, does), `a host tool that does ${does}`)
    this.hostTools = [defineTool({ ...tool, execute: hostTools[does] })]
    const options = { mcpConfig: this.config, mcpOptions: this.options, extraTools: this.hostTools, ...handlers }
    this.toolkit = await createToolkit(options)
    this.source = this.toolkit.source
  }

  async step(step) {
    const [word] = Object.keys(step)
    assert.ok(Object.hasOwn(steps, word), `unknown step ${word}`)
    await steps[word](this, step)
  }

  find(name) {
    const tool = [...this.source.tools, ...this.resourceTools, ...(this.hostTools ?? [])].find((tool) => tool.name === name)
    assert.ok(tool, `there is no tool ${name}`)
    return tool
  }

  /** Starts a call; gives what it comes to. */
  async call(name, step) {
    only(name, step, 'call', 'start', 'arguments', 'text', 'timeoutMs', 'deadlineMs', 'cancel', 'times', 'through', 'expect')
    assert.ok([undefined, 'toolkit'].includes(step.through), `through ${step.through}`)
    const controller = new AbortController()
    const options = { signal: controller.signal, timeout: step.timeoutMs, deadline: step.deadlineMs }
    const args = step.text ?? step.arguments
    if (step.cancel === 'before') controller.abort()
    if (!step.through) this.last = this.find(name)
    const calling = step.through ? this.toolkit.execute(name, args, options) : this.last.execute(args, options)
    const ended = outcome(calling, controller.signal)
    if (step.cancel === 'during') {
      await this.received(name)
      controller.abort()
    }
    const result = await ended
    if (step.cancel === 'after') controller.abort()
    else assert.ok([undefined, 'before', 'during'].includes(step.cancel), `cancel ${step.cancel}`)
    return result
  }

  /** Waits until the server of a tool has the call. */
  async received(name) {
    const [server, tool] = name.split('_')
    const received = this.find(`${server}_received`)
    for (;;) {
      const { output } = await received.execute()
      if (output.includes(`"${tool}"`)) return
    }
  }
}

const steps = {
  tools: ({ source }, { tools }) => assert.deepEqual(source.tools.map((tool) => tool.name), tools),
  tool: (one, { tool, document }) => holds({ ...one.find(tool) }, document),
  schema({ source }, { schema, contains }) {
    const text = JSON.stringify(source.schema(schema))
    for (const part of contains) assert.ok(text.includes(part), `${part} is not in ${text}`)
  },
  async call(one, step) {
    const calls = Array.from({ length: step.times ?? 1 }, () => one.call(step.call, step))
    for (const result of await Promise.all(calls)) check(result, step.expect)
  },
  start(one, step) {
    one.started = one.call(step.start, step)
  },
  async await(one, { expect }) {
    check(await one.started, expect)
  },
  async request({ source }, { request, server, params, expect }) {
    const asked = source.request(server, request, params).then((document) => ({ status: 'TN_OK', isError: false, document }))
    check(await outcome(asked), expect)
  },
  status: ({ source }, { status }) => holds(source.status, status),
  inventory: async ({ config }, { inventory }) => holds(await listMcpTools(config), inventory),
  resourceTools(one) {
    one.resourceTools = one.source.resourceTools()
  },
  close: ({ source }) => source.close(),
  async free(one) {
    one.last.free()
    await assert.rejects(one.last.execute(), { name: 'ToolnexusError', status: 'TN_E_HANDLE' })
  }
}

assert.ok(cases.length > 0)
for (const one of cases) test(one.name, () => new Case(one).run())

test('an unknown word fails', async () => {
  const config = { mcpServers: {} }
  await assert.rejects(async () => new Case({ name: 'a', config, steps: [], odd: 1 }).run(), /unknown word odd/)
  await assert.rejects(new Case({ name: 'a', config, steps: [{ odd: 1 }] }).run(), /unknown step odd/)
  assert.throws(() => check({ status: 'TN_OK', isError: false }, { odd: 1 }), /unknown word odd/)
})
