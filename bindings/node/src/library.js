// Finds the native library, checks its version, and declares its functions.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import koffi from 'koffi'

/** The ABI that this package was written for: TN_ABI_VERSION of the header. */
const ABI = 1
const FILE = process.platform === 'darwin' ? 'libtoolnexus.0.dylib' : 'libtoolnexus.so.0'

// References are numbers to us, never addresses, and so are all other pointers: the only ones we pass are NULL.
const REF = 'uintptr'
const FUNCTIONS = {
  tn_version: ['str'],
  tn_status_name: ['str', 'int32'],
  tn_free: ['void', REF],
  tn_log_to_queue: ['int32', 'int32', REF],
  tn_log_to_callback: ['int32', 'int32', REF, REF, REF],
  tn_shutdown: [REF, 'uint32'],
  tn_result_is_error: ['bool', REF],
  tn_result_status: ['int32', REF],
  tn_result_json: ['str', REF, REF],
  tn_result_take_mcp: [REF, REF],
  tn_result_take_toolkit: [REF, REF],
  tn_result_take_tool: [REF, REF],
  tn_context_new: [REF],
  tn_context_set_timeout: ['int32', REF, 'uint32'],
  tn_context_set_deadline: ['int32', REF, 'uint32'],
  tn_context_set_progress: ['int32', REF, REF, 'uint64'],
  tn_context_cancel: ['int32', REF],
  tn_config_parse: [REF, 'str', 'str'],
  tn_mcp_load_submit: ['int32', 'str', 'str', REF, REF, REF, 'uint64'],
  tn_mcp_inventory_submit: ['int32', 'str', 'str', REF, REF, 'uint64'],
  tn_mcp_tools: [REF, REF],
  tn_resource_tools: [REF, REF],
  tn_mcp_status: [REF, REF],
  tn_mcp_request_submit: ['int32', REF, 'str', 'str', 'str', REF, REF, 'uint64'],
  tn_mcp_skill_read_submit: ['int32', REF, 'str', 'str', 'str', REF, REF, 'uint64'],
  tn_mcp_restart_submit: ['int32', REF, 'str', REF, REF, 'uint64'],
  tn_mcp_close_submit: ['int32', REF, REF, REF, 'uint64'],
  tn_tools_get: [REF, REF, 'size_t'],
  tn_tools_json: ['str', REF, REF],
  tn_tools_schema: [REF, REF, 'str'],
  tn_tool_execute_submit: ['int32', REF, 'str', REF, REF, 'uint64'],
  tn_tool_create: [REF, 'str', REF],
  tn_toolkit_create_submit: ['int32', 'str', REF, REF, REF, 'uint64'],
  tn_toolkit_register: [REF, REF, REF],
  tn_toolkit_tools: [REF, REF],
  tn_toolkit_mcp: [REF, REF],
  tn_toolkit_execute_submit: ['int32', REF, 'str', 'str', REF, REF, 'uint64'],
  tn_toolkit_close_submit: ['int32', REF, REF, REF, 'uint64'],
  tn_queue_new: [REF],
  tn_queue_fd: ['int32', REF],
  tn_queue_take_json: [REF, REF, 'int32'],
  tn_queue_close: ['int32', REF],
  tn_answer: [REF, 'uint64', 'str']
}

/** The places to look at, the first that applies alone: a named file that does not load is an error, not a reason to go on. */
function place(explicit) {
  if (explicit !== undefined) return { path: explicit, from: 'the option `library`' }
  const named = process.env.TOOLNEXUS_LIBRARY
  if (named) return { path: named, from: 'TOOLNEXUS_LIBRARY' }
  const beside = fileURLToPath(new URL(`../lib/${FILE}`, import.meta.url))
  if (existsSync(beside)) return { path: beside, from: 'the package' }
  return { path: FILE, from: 'the system', beside }
}

function open({ path, from, beside }) {
  try {
    return koffi.load(path)
  } catch (error) {
    const looked = beside ? ` TOOLNEXUS_LIBRARY is not set and there is no ${beside}.` : ''
    throw new Error(
      `The toolnexus library was not loaded from ${path} (named by ${from}): ${error.message}.${looked} ` +
        'Build it with `make library` and set TOOLNEXUS_LIBRARY to target/dist/libtoolnexus.so.0.',
      { cause: error }
    )
  }
}

/** Loads the library; its functions, by name. */
export function loadLibrary(explicit) {
  const found = place(explicit)
  const native = open(found)
  let version
  try {
    version = native.func('tn_abi_version', 'uint32', [])()
  } catch (error) {
    throw new Error(`${found.path} is no toolnexus library: ${error.message}`, { cause: error })
  }
  const show = (abi) => `${abi >>> 16}.${abi & 0xffff}`
  if (version >>> 16 !== ABI >>> 16 || (version & 0xffff) < (ABI & 0xffff)) {
    throw new Error(
      `The toolnexus library at ${found.path} has ABI ${show(version)}, but this package wants ${show(ABI)} ` +
        `or a later ${ABI >>> 16}.x.`
    )
  }
  const library = { path: found.path }
  for (const [name, [result, ...parameters]] of Object.entries(FUNCTIONS)) {
    library[name] = native.func(name, result, parameters)
  }
  return library
}
