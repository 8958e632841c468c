// What the tests share.
import { spawn } from 'node:child_process'
import { once } from 'node:events'

function required(name) {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set; run the tests with bindings/node/test`)
  return value
}

export const tiny = required('TOOLNEXUS_TINY')
export const hostile = required('TOOLNEXUS_HOSTILE')
/** The tiny server over HTTP. */
export const remote = required('TOOLNEXUS_REMOTE')

/** A config with the tiny server as `progress`. */
export const progress = { mcpServers: { progress: { command: [tiny] } } }
/** A config with one behaviour of the hostile server as `x`. */
export const behaviour = (...args) => ({ mcpServers: { x: { command: [hostile, ...args] } } })

/** Runs a program until it ends. One that does not end is killed, which its `signal` tells. */
export async function run(command, args, { timeout = 180_000, ...options } = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout, killSignal: 'SIGKILL', ...options })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (data) => (stdout += data))
  child.stderr.on('data', (data) => (stderr += data))
  const [code, signal] = await once(child, 'close')
  return { code, signal, stdout, stderr }
}

/** Runs a text as a program of its own, beside the tests so that it finds the package. */
export function script(text, options = {}) {
  const body = `import * as toolnexus from 'toolnexus'\n${text}`
  const { nodeArgs = [], ...rest } = options
  return run(process.execPath, [...nodeArgs, '--input-type=module', '--eval', body], { cwd: here, ...rest })
}

const here = new URL('.', import.meta.url).pathname
