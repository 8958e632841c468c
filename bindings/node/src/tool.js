// Tools: those of servers, which the library calls, and the program's own, which run here.
import { callback, kindOf, optionText, record, text } from './errors.js'
import { toolResult } from './result.js'
import { checked, runtime } from './runtime.js'

/** How long a tool of the program may take if nobody says otherwise, as in the library. */
const TIMEOUT = 300_000
const DEADLINE = 3_600_000
const TIMER = 0x7fffffff

/** The key of a tool's reference. */
export const REFERENCE = Symbol('reference')

/** Arguments as the library takes them: a text, or null for none. */
export function argumentText(args) {
  if (args === undefined || args === null) return null
  if (typeof args === 'string') return text('args', args)
  const json = JSON.stringify(record('args', args))
  if (json === undefined) throw new TypeError('args cannot be written as JSON')
  return json
}

export class Tool {
  #runtime
  #owner

  /** `owner`: the source, which is open for as long as one of its tools is in use. */
  constructor(runtime, value, document, owner) {
    this.#runtime = runtime
    this.#owner = owner
    Object.assign(this, document)
    Object.defineProperty(this, REFERENCE, { value: runtime.reference(value) })
    runtime.owns(this, this[REFERENCE])
  }

  async execute(args, options) {
    const json = argumentText(args)
    const { value } = this[REFERENCE]
    const make = (context, queue, id) => [value, json, context, queue, id]
    return this.#runtime.submit('tn_tool_execute_submit', make, toolResult, options, { owner: this.#owner })
  }

  free() {
    this[REFERENCE].free()
  }

  [Symbol.dispose]() {
    this.free()
  }
}

/** The tools of a list, whose reference this frees. `own`: the program's tools, by name. */
export class ToolList {
  #json
  #tools = []

  /** The same tools as the last time, if the list is the same. */
  update(runtime, list, owner, own) {
    const { library } = runtime
    const json = library.tn_tools_json(list, 0)
    if (json !== this.#json) {
      this.#json = json
      const documents = JSON.parse(json)
      this.#tools = Object.freeze(
        documents.map((document, index) => {
          const mine = document.source === 'native' ? own?.get(document.name) : undefined
          return mine ?? new Tool(runtime, library.tn_tools_get(list, index), document, owner)
        })
      )
    }
    library.tn_free(list)
    return this.#tools
  }
}

/** What a provider of models wants to have of the tools of a list, whose reference this frees. */
export function schemaOf(runtime, list, provider) {
  const { library } = runtime
  try {
    return runtime.document(library.tn_tools_schema(list, text('provider', provider)))
  } finally {
    library.tn_free(list)
  }
}

/** A tool that the program runs. */
export class HostTool {
  #run

  constructor({ execute, ...spec }) {
    if (typeof execute !== 'function') throw new TypeError(`tool.execute is ${kindOf(execute)}, expected a function`)
    this.#run = execute
    this.spec = optionText('tool', spec)
    // The library says whether the tool is good, and what its document is.
    const { library, document } = hosted(runtime(), this.spec, 0)
    library.free()
    Object.assign(this, document)
    Object.defineProperty(this, 'spec', { enumerable: false })
  }

  execute(args, options) {
    return runHere(this, args, options)
  }

  /** Runs the function. Whatever it does, this gives a result. */
  async run(args, signal) {
    try {
      return answerOf(await this.#run(args, { signal }))
    } catch (error) {
      return { output: String(error?.message ?? error), isError: true }
    }
  }
}

/** Makes the library's side of a host tool, whose calls arrive in `queue`. */
export function hosted(runtime, spec, queue) {
  const calls = queue || runtime.library.tn_queue_new()
  const made = runtime.library.tn_tool_create(spec, calls)
  const taken = runtime.library.tn_result_take_tool(made)
  if (!queue) runtime.library.tn_free(calls)
  const document = runtime.document(made)
  return { library: runtime.reference(taken), document }
}

/** What a tool's function gave, as a result: text, or an object with `output`, or any other value as JSON. */
function answerOf(value) {
  if (typeof value === 'string') return { output: value }
  if (value === undefined) return { output: '' }
  if (typeof value !== 'object' || value === null || !('output' in value)) return { output: JSON.stringify(value) }
  const { output, isError = false, metadata = {}, parts = [] } = value
  const expect = (fits, key, wanted) => {
    if (!fits) throw new TypeError(`the tool's ${key} is ${kindOf(value[key])}, expected ${wanted}`)
  }
  expect(typeof output === 'string', 'output', 'a string')
  expect(typeof isError === 'boolean', 'isError', 'true or false')
  expect(kindOf(metadata) === 'object', 'metadata', 'an object')
  expect(Array.isArray(parts), 'parts', 'an array')
  return { output, isError, metadata, parts }
}

/**
 * Calls a tool of the program as the library would: the same limits, the same results. `closing` ends the call as closed.
 */
export function runHere(tool, args, options = {}, closing = undefined) {
  return new Promise((resolve, reject) => {
    const { signal, timeout, deadline } = checked(options)
    if (signal?.aborted) return reject(signal.reason)
    const started = performance.now()
    const controller = new AbortController()
    const timers = []
    const finish = () => {
      timers.forEach(clearTimeout)
      signal?.removeEventListener('abort', aborted)
      closing?.removeEventListener('abort', closed)
    }
    const give = (status, { output, isError = status !== 'TN_OK', metadata = {}, parts = [], error }) => {
      finish()
      resolve({ output, isError, status, metadata, parts, content: [], ...(error && { error }) })
    }
    const fail = (status, message, metadata) => {
      const code = status.slice('TN_E_'.length).toLowerCase()
      give(status, { output: message, metadata, error: { code, message, phase: 'call' } })
      controller.abort(new Error(message))
    }
    const late = (message) =>
      fail('TN_E_TIMEOUT', `${message} (tool ${tool.name})`, { tool: tool.name, ms: Math.round(performance.now() - started) })
    const aborted = () => {
      finish()
      reject(signal.reason)
      controller.abort(signal.reason)
    }
    const closed = () => fail('TN_E_CLOSED', 'the toolkit is closed')
    if (closing?.aborted) return closed()

    const idle = timeout || TIMEOUT
    const total = deadline || DEADLINE
    const after = (ms, message) => timers.push(setTimeout(() => late(message), Math.min(ms, TIMER)))
    const parsed = parse(args)
    if (parsed.problem) return fail('TN_E_JSON', parsed.problem)
    after(idle, `the host did not answer within the time-out of ${idle} ms`)
    after(total, `the call took longer than its deadline of ${total} ms`)
    signal?.addEventListener('abort', aborted, { once: true })
    closing?.addEventListener('abort', closed, { once: true })
    tool.run(parsed.args, controller.signal).then((answer) => give('TN_OK', answer))
  })
}

/** The arguments as an object, or what is wrong with them in words for a model. */
function parse(args) {
  if (typeof args !== 'string') {
    argumentText(args)
    return { args: args ?? {} }
  }
  try {
    args = JSON.parse(args)
  } catch (error) {
    return { problem: `the arguments are not valid JSON: ${error.message}; send one JSON object` }
  }
  if (kindOf(args) === 'object') return { args }
  return { problem: `the arguments must be a JSON object, not ${kindOf(args)}` }
}

/** Makes a tool of a function of the program. */
export function defineTool(tool) {
  callback('tool.execute', record('tool', tool).execute)
  return new HostTool(tool)
}
