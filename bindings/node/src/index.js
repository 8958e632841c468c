// toolnexus for Node.js: an mcp.json as tools that an agent can call. The types, with their documentation: index.d.ts.
import { callback, milliseconds } from './errors.js'
import { runtime } from './runtime.js'

export { ToolnexusError } from './errors.js'
export { McpSource, listMcpTools, loadMcp, parseConfig } from './source.js'
export { HostTool, Tool, defineTool } from './tool.js'
export { Toolkit, createToolkit } from './toolkit.js'

const LEVELS = ['off', 'error', 'warning', 'info', 'debug', 'trace']

/** The version of the native library. */
export const version = () => runtime().library.tn_version()

/** Sends the library's log to a function; null: to standard error. */
export function logTo(listener, level = 'warning') {
  if (!LEVELS.includes(level)) throw new TypeError(`level is ${level}, expected one of ${LEVELS.join(', ')}`)
  if (listener !== null) callback('listener', listener ?? null)
  runtime().log(listener, LEVELS.indexOf(level))
}

/** Ends everything that this thread has of the library, and the library. */
export async function shutdown(timeout = 5000) {
  return runtime().shutdown(milliseconds('timeout', timeout))
}
