// What a thread has of the library: the loaded functions, the references that it holds, and its calls under way.
import { isMainThread } from 'node:worker_threads'
import { Channel } from './channel.js'
import { ToolnexusError, callback, errorOf, known, milliseconds, text } from './errors.js'
import { loadLibrary } from './library.js'

const DONE = 1
const NOTICE = 4
const CLOSED = 22
const CALL_OPTIONS = ['signal', 'timeout', 'deadline', 'onProgress']

let current

/** The thread's runtime, made at the first use. `path`: where the library is, if the program says so. */
export function runtime(path) {
  if (path !== undefined) text('options.library', path)
  current ??= new Runtime(path)
  if (path !== undefined && path !== current.asked && path !== current.library.path) {
    throw new Error(`The toolnexus library was already loaded from ${current.library.path}, and cannot be loaded from ${path}`)
  }
  return current
}

/** A reference of the library. Given back once, whoever comes first: the program, the garbage collector, the thread's end. */
class Reference {
  constructor(library, live, value) {
    this.value = value
    this.library = library
    this.live = live
    live.add(this)
  }

  free() {
    if (this.live.delete(this)) this.library.tn_free(this.value)
  }
}

class Runtime {
  #calls = new Map()
  #watched = new Map()
  #lastId = 0
  #channel
  #live = new Set()
  #forgotten = new FinalizationRegistry((owned) => owned.free())

  constructor(path) {
    this.asked = path
    this.library = loadLibrary(path)
    // A worker's end is not the process's: what it has open would stay open. The library itself sees to the process's.
    if (!isMainThread) process.on('exit', () => this.#freeAll())
  }

  // -- references -----------------------------------------------------------------------------------------------------

  /** Takes over a reference. */
  reference(value) {
    return new Reference(this.library, this.#live, value)
  }

  /** Frees `owned` when `owner` is garbage. */
  owns(owner, ...owned) {
    for (const one of owned) this.#forgotten.register(owner, one)
  }

  channel(deliver) {
    return new Channel(this.library, this.#live, deliver)
  }

  /** How many references are held, for the tests. */
  get held() {
    return this.#live.size
  }

  #freeAll() {
    for (const one of [...this.#live]) one.free()
  }

  // -- results --------------------------------------------------------------------------------------------------------

  /** Reads and frees a result. */
  read(result) {
    const { library } = this
    const status = library.tn_status_name(library.tn_result_status(result))
    const isError = library.tn_result_is_error(result)
    const json = library.tn_result_json(result, 0)
    library.tn_free(result)
    return { status, isError, json: json ? JSON.parse(json) : {} }
  }

  /** The document of a result that has to be a success. */
  document(result) {
    const { status, isError, json } = this.read(result)
    if (isError) throw errorOf(status, json)
    return json
  }

  /** Takes the object out of an event of a load. */
  take(kind, event) {
    const result = BigInt(event.result)
    const taken = this.library[`tn_result_take_${kind}`](result)
    this.library.tn_free(result)
    return this.reference(taken)
  }

  // -- calls ----------------------------------------------------------------------------------------------------------

  #open() {
    if (!this.#channel || this.#channel.ended) this.#channel = this.channel((event) => this.#deliver(event))
    return this.#channel
  }

  /**
   * Calls a `_submit` function: `make` gets the context, the queue and the id, and gives its arguments. What `settle` makes of
   * the completion is what the promise gives. `owner` cannot be garbage while the call is under way. `aside`: on a thread of
   * libuv's, for functions that read files.
   */
  submit(name, make, settle, options = {}, { owner, aside = false } = {}) {
    return new Promise((resolve, reject) => {
      const { signal, onProgress } = checked(options)
      if (signal?.aborted) return reject(signal.reason)
      const channel = this.#open()
      const id = ++this.#lastId
      const context = this.#context(options, channel, id)
      const call = { id, channel, context, owner, signal, onProgress, settle, resolve, reject, failure: undefined }
      if (signal) this.#watch(signal, call)
      this.#calls.set(id, call)
      channel.hold()
      const submitted = (error, status) => {
        if (!error && status === 0) return
        this.#finish(call)
        if (error) return reject(error)
        if (status !== CLOSED || channel !== this.#channel) return reject(this.#refused(status))
        // Another thread has shut the library down: it starts anew, with a new queue.
        this.#channel = undefined
        channel.close()
        resolve(this.submit(name, make, settle, options, { owner, aside }))
      }
      const args = make(context, channel.queue, id)
      if (aside) this.library[name].async(...args, submitted)
      else submitted(null, this.library[name](...args))
    })
  }

  // One listener for all the calls of a signal: a program may well use one for thousands.

  #watch(signal, call) {
    const watched = this.#watched.get(signal)
    if (watched) return watched.calls.add(call)
    const calls = new Set([call])
    const abort = () => {
      for (const { context } of calls) this.library.tn_context_cancel(context)
    }
    this.#watched.set(signal, { calls, abort })
    signal.addEventListener('abort', abort, { once: true })
  }

  #unwatch(signal, call) {
    const { calls, abort } = this.#watched.get(signal)
    calls.delete(call)
    if (calls.size > 0) return
    this.#watched.delete(signal)
    signal.removeEventListener('abort', abort)
  }

  #context({ signal, timeout, deadline, onProgress }, channel, id) {
    if (!signal && !timeout && !deadline && !onProgress) return 0
    const { library } = this
    const context = library.tn_context_new()
    if (timeout) library.tn_context_set_timeout(context, milliseconds('options.timeout', timeout))
    if (deadline) library.tn_context_set_deadline(context, milliseconds('options.deadline', deadline))
    if (onProgress) library.tn_context_set_progress(context, channel.queue, id)
    return context
  }

  #refused(status) {
    const name = this.library.tn_status_name(status)
    return new ToolnexusError(name, `the call was not accepted: ${name}`)
  }

  #finish(call) {
    this.#calls.delete(call.id)
    call.channel.release()
    if (call.signal) this.#unwatch(call.signal, call)
    if (call.context) this.library.tn_free(call.context)
    return call
  }

  #deliver(event) {
    if (event.kind === DONE) {
      const call = this.#calls.get(event.id)
      if (call) complete(this.#finish(call), event)
    } else if (event.kind === NOTICE && event.id !== 0) {
      const call = this.#calls.get(event.id)
      if (call) this.#progress(call, event.json)
    } else if (event.kind === NOTICE && event.json.kind === 'log') {
      this.#logTo?.(event.json)
    }
  }

  #progress(call, notice) {
    if (call.failure) return
    try {
      call.onProgress(notice)
    } catch (error) {
      // The program's mistake ends its call, and nothing else.
      call.failure = { error }
      this.library.tn_context_cancel(call.context)
    }
  }

  // -- the log, and the end -------------------------------------------------------------------------------------------

  #logTo

  /** Sends the library's log to `listener`; null: to standard error, as it was. */
  log(listener, level) {
    if (listener === null) {
      this.library.tn_log_to_callback(level, 0, 0, 0)
      this.#logTo = undefined
      return
    }
    this.#logTo = (entry) => guarded('the log listener', () => listener(entry))
    this.library.tn_log_to_queue(level, this.#open().queue)
  }

  async shutdown(timeout) {
    const channel = this.#channel
    for (const one of [...this.#live]) if (one !== channel) one.free()
    await channel?.close()
    const ended = await new Promise((resolve, reject) => {
      this.library.tn_shutdown.async(timeout, (error, result) => (error ? reject(error) : resolve(result)))
    })
    return this.document(ended)
  }
}

/** The options of a call, once they are known to be good. */
export function checked(options) {
  const { signal, timeout, deadline, onProgress } = known('options', options, CALL_OPTIONS)
  if (signal !== undefined && typeof signal?.addEventListener !== 'function') {
    throw new TypeError('options.signal is no AbortSignal')
  }
  milliseconds('options.timeout', timeout)
  milliseconds('options.deadline', deadline)
  callback('options.onProgress', onProgress)
  return options
}

function complete(call, event) {
  if (call.failure) return call.reject(call.failure.error)
  if (event.status === 'TN_E_CANCELLED' && call.signal?.aborted) return call.reject(call.signal.reason)
  try {
    call.resolve(call.settle(event))
  } catch (error) {
    call.reject(error)
  }
}

/** Runs a listener of the program's. What it throws is shown, and ends nothing. */
export function guarded(what, run) {
  try {
    run()
  } catch (error) {
    warn(what, error)
  }
}

export function warn(what, error) {
  process.emitWarning(`${what} failed: ${error?.stack ?? error}`, 'ToolnexusWarning')
}
