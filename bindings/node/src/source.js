import { EventEmitter, on } from 'node:events'
import { fileURLToPath } from 'node:url'
import { kindOf, known, optionText, record, text } from './errors.js'
import { Host, announced, split } from './host.js'
import { documentOf } from './result.js'
import { runtime } from './runtime.js'
import { ToolList, schemaOf } from './tool.js'

/** A config as the library takes it: JSON text or a path. */
export function configText(config) {
  if (config instanceof URL) return fileURLToPath(config)
  if (typeof config === 'string') return text('config', config)
  if (kindOf(config) !== 'object') throw new TypeError(`config is ${kindOf(config)}, expected an object, JSON text or a path`)
  return JSON.stringify(config)
}

/** The connected servers of one config. */
export class McpSource extends EventEmitter {
  #runtime
  #reference
  #host
  #list = new ToolList()
  #resources = new ToolList()
  #owner
  #closed = false

  /** `owner`: the toolkit that it belongs to. */
  constructor(runtime, reference, host, owner) {
    super()
    this.#owner = owner
    this.#runtime = runtime
    this.#reference = reference
    this.#host = host
    runtime.owns(this, reference, host)
  }

  get tools() {
    const { library } = this.#runtime
    return this.#list.update(this.#runtime, library.tn_mcp_tools(this.#reference.value), this)
  }

  resourceTools() {
    const { library } = this.#runtime
    return this.#resources.update(this.#runtime, library.tn_resource_tools(this.#reference.value), this)
  }

  get status() {
    return this.#runtime.document(this.#runtime.library.tn_mcp_status(this.#reference.value))
  }

  schema(provider) {
    return schemaOf(this.#runtime, this.#runtime.library.tn_mcp_tools(this.#reference.value), provider)
  }

  #submit(name, args, options) {
    const make = (context, queue, id) => [this.#reference.value, ...args, context, queue, id]
    return this.#runtime.submit(name, make, documentOf, options, { owner: this.#owner ?? this })
  }

  async request(server, method, params, options) {
    const sent = params === undefined ? null : JSON.stringify(record('params', params))
    return this.#submit('tn_mcp_request_submit', [text('server', server), text('method', method), sent], options)
  }

  async readSkill(server, skill, uri, options) {
    const wanted = typeof skill === 'string' ? text('skill', skill) : JSON.stringify(record('skill', skill))
    const file = uri === undefined ? null : text('uri', uri)
    return this.#submit('tn_mcp_skill_read_submit', [text('server', server), wanted, file], options)
  }

  async restart(server, options) {
    return this.#submit('tn_mcp_restart_submit', [server === undefined ? null : text('server', server)], options)
  }

  async *notices(options = {}) {
    const { signal } = known('options', options, ['signal'])
    if (this.#closed) return
    const { channel } = this.#host
    channel.hold()
    try {
      for await (const [notice] of on(this, 'notice', { signal, close: ['close'] })) yield notice
    } finally {
      channel.release()
    }
  }

  async close(options) {
    await this.#submit('tn_mcp_close_submit', [], options)
    this.ended()
  }

  /** For the toolkit, which closes its source itself. */
  ended() {
    if (this.#closed) return
    this.#closed = true
    this.emit('close')
    this.#host.free()
  }

  async [Symbol.asyncDispose]() {
    await this.close()
  }
}

/** Connects to the servers of a config. */
export async function loadMcp(config, options = {}) {
  const { library, limits, handlers, core } = split(options)
  const sent = configText(config)
  const own = runtime(library)
  const host = new Host(own, handlers)
  try {
    const json = optionText('options', announced(handlers, core))
    const make = (context, queue, id) => [sent, json, host.channel.queue, context, queue, id]
    const loaded = (event) => (documentOf(event), own.take('mcp', event))
    const reference = await own.submit('tn_mcp_load_submit', make, loaded, limits, { aside: true })
    const source = new McpSource(own, reference, host)
    host.serve(source)
    return source
  } catch (error) {
    host.free()
    throw error
  }
}

/** What the servers of a config offer: their own names, no filters. Keeps nothing open. */
export async function listMcpTools(config, options = {}) {
  const { library, signal, deadline, ...core } = record('options', options)
  const sent = configText(config)
  const json = optionText('options', core)
  const make = (context, queue, id) => [sent, json, context, queue, id]
  return runtime(library).submit('tn_mcp_inventory_submit', make, documentOf, { signal, deadline }, { aside: true })
}

/** Reads and checks a config, and connects to nothing. */
export async function parseConfig(config, options = {}) {
  const { library, ...core } = record('options', options)
  const sent = configText(config)
  const json = optionText('options', core)
  const own = runtime(library)
  return new Promise((resolve, reject) => {
    // It reads files, so not on the event loop.
    own.library.tn_config_parse.async(sent, json, (error, result) => {
      if (error) return reject(error)
      try {
        resolve(own.document(result))
      } catch (failed) {
        reject(failed)
      }
    })
  })
}
