// What the library asks of the program: servers' requests, calls of its tools, and notices.
import { callback, record } from './errors.js'
import { guarded, warn } from './runtime.js'

const REQUEST = 2
const CALL = 3
const NOTICE = 4
const CANCEL = 5

const HANDLER = { input: 'onElicit', url: 'onElicit', sampling: 'onSampling' }

/** Splits what is for this package from the options that the library takes. */
export function split(options) {
  const { library, signal, deadline, onElicit, onSampling, onRequest, ...core } = record('options', options)
  const handlers = { onElicit, onSampling, onRequest }
  for (const [name, handler] of Object.entries(handlers)) callback(`options.${name}`, handler)
  return { library, limits: { signal, deadline }, handlers, core }
}

/** What is announced to servers is what there is a handler for. */
export const announced = ({ onElicit, onSampling }, core) => ({
  elicitation: onElicit !== undefined,
  sampling: onSampling !== undefined,
  ...core
})

/** The events of one source or toolkit. */
export class Host {
  #runtime
  #handlers
  /** Requests and calls that wait for the program, by id: what tells it that they are no longer wanted. */
  #open = new Map()
  /** What gets the notices. Not kept alive: a source that the program has forgotten is closed. */
  #listener = new WeakRef({})
  #tools = new WeakRef(new Map())

  constructor(runtime, handlers) {
    this.#runtime = runtime
    this.#handlers = handlers
    this.channel = runtime.channel((event) => this.#deliver(event))
  }

  /** `listener` gets the notices; `tools` are the program's own tools, by name. */
  serve(listener, tools) {
    this.#listener = new WeakRef(listener)
    if (tools) this.#tools = new WeakRef(tools)
  }

  #deliver({ kind, id, json }) {
    if (kind === REQUEST) this.#wait(id, (signal) => this.#request(json, signal))
    else if (kind === CALL) this.#wait(id, (signal) => this.#call(json, signal))
    else if (kind === CANCEL) this.#open.get(id)?.abort()
    else if (kind === NOTICE) this.#notice(json)
  }

  #notice(notice) {
    const listener = this.#listener.deref()
    const name = notice.kind.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())
    for (const event of ['notice', name]) guarded(`a listener to ${event}`, () => listener?.emit?.(event, notice))
  }

  /** Has a question answered by what `ask` gives; the process stays for as long. */
  async #wait(id, ask) {
    const controller = new AbortController()
    this.#open.set(id, controller)
    this.channel.hold()
    try {
      this.#answer(id, await ask(controller.signal))
    } finally {
      this.channel.release()
      this.#open.delete(id)
    }
  }

  #answer(id, answer) {
    const { status, json } = this.#send(id, answer)
    if (status === 'TN_OK' || status === 'TN_E_NOT_FOUND') return // not found: no longer wanted
    warn('the answer to a server', json.error.message)
    this.#send(id, { ok: false, reason: 'cancelled' })
  }

  #send(id, answer) {
    return this.#runtime.read(this.#runtime.library.tn_answer(id, JSON.stringify(answer)))
  }

  async #request(request, signal) {
    const name = HANDLER[request.kind] ?? 'onRequest'
    const handler = this.#handlers[name]
    if (!handler) return { ok: false, reason: 'declined' }
    try {
      const { ok, data, reason } = record(`what ${name} gave`, await handler(request, { signal }))
      return { ok, data, reason }
    } catch (error) {
      if (!signal.aborted) warn(name, error)
      return { ok: false, reason: 'cancelled' }
    }
  }

  async #call({ tool: name, arguments: args }, signal) {
    const tool = this.#tools.deref()?.get(name)
    if (!tool) return { output: `Unknown tool: ${name}`, isError: true }
    const { output, isError, metadata, parts } = await tool.run(args, signal)
    return { output, isError, metadata, parts }
  }

  free() {
    this.channel.free()
  }
}
