import { kindOf, optionText, text } from './errors.js'
import { Host, announced, split } from './host.js'
import { documentOf, toolResult } from './result.js'
import { checked, runtime } from './runtime.js'
import { McpSource, configText } from './source.js'
import { HostTool, REFERENCE, Tool, ToolList, argumentText, hosted, runHere, schemaOf } from './tool.js'

/** The tools of a config's servers, and the program's own, as one list. */
export class Toolkit {
  #runtime
  #reference
  #host
  #list = new ToolList()
  /** The program's own tools that are registered, by name. */
  #own = new Map()
  #closing = new AbortController()

  constructor(runtime, reference, host) {
    this.#runtime = runtime
    this.#reference = reference
    this.#host = host
    runtime.owns(this, reference, host)
    const source = runtime.library.tn_toolkit_mcp(reference.value)
    this.source = source ? new McpSource(runtime, runtime.reference(source), host, this) : undefined
    host.serve(this.source ?? this, this.#own)
  }

  get #tools() {
    return this.#runtime.library.tn_toolkit_tools(this.#reference.value)
  }

  get tools() {
    return this.#list.update(this.#runtime, this.#tools, this, this.#own)
  }

  get(name) {
    return this.tools.find((tool) => tool.name === name)
  }

  schema(provider) {
    return schemaOf(this.#runtime, this.#tools, provider)
  }

  register(...tools) {
    return tools.flatMap((tool) => {
      if (tool instanceof HostTool) return this.#registerOwn(tool)
      if (tool instanceof Tool) return this.#register(tool[REFERENCE].value).warnings
      throw new TypeError(`register: ${kindOf(tool)} is no tool; make one with defineTool`)
    })
  }

  #registerOwn(tool) {
    const { library } = hosted(this.#runtime, tool.spec, this.#host.channel.queue)
    try {
      const { registered, warnings } = this.#register(library.value)
      if (registered) this.#own.set(tool.name, tool)
      return warnings
    } finally {
      library.free()
    }
  }

  #register(tool) {
    return this.#runtime.document(this.#runtime.library.tn_toolkit_register(this.#reference.value, tool))
  }

  async execute(name, args, options) {
    const own = this.#own.get(text('name', name))
    if (own) return runHere(own, args, options, this.#closing.signal)
    const json = argumentText(args)
    const make = (context, queue, id) => [this.#reference.value, name, json, context, queue, id]
    return this.#runtime.submit('tn_toolkit_execute_submit', make, toolResult, options, { owner: this })
  }

  async close(options = {}) {
    checked(options)
    this.#closing.abort()
    const make = (context, queue, id) => [this.#reference.value, context, queue, id]
    await this.#runtime.submit('tn_toolkit_close_submit', make, documentOf, options, { owner: this })
    this.source?.ended()
    this.#host.free()
  }

  async [Symbol.asyncDispose]() {
    await this.close()
  }
}

/** Makes a toolkit. */
export async function createToolkit(options = {}) {
  const { library, limits, handlers, core } = split(options)
  const { extraTools = [], mcpConfig, mcpOptions, ...rest } = core
  if (!Array.isArray(extraTools)) throw new TypeError(`options.extraTools is ${kindOf(extraTools)}, expected an array`)
  const wanted = { ...rest, mcpOptions: announced(handlers, mcpOptions) }
  if (mcpConfig !== undefined) wanted.mcpConfig = configText(mcpConfig)
  const json = optionText('options', wanted)
  const own = runtime(library)
  const host = new Host(own, handlers)
  let toolkit
  try {
    const make = (context, queue, id) => [json, host.channel.queue, context, queue, id]
    const made = (event) => (documentOf(event), own.take('toolkit', event))
    const reference = await own.submit('tn_toolkit_create_submit', make, made, limits, { aside: true })
    toolkit = new Toolkit(own, reference, host)
  } catch (error) {
    host.free()
    throw error
  }
  try {
    for (const warning of toolkit.register(...extraTools)) process.emitWarning(warning, 'ToolnexusWarning')
    return toolkit
  } catch (error) {
    await toolkit.close()
    throw error
  }
}
