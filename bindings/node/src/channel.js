// A queue of the library, read by the event loop: its socket says when there is something to take.
import { Socket } from 'node:net'

/** As many takes in a row (about 1 MiB each) as the rest of the event loop can wait for. */
const TAKES = 8
/** Takes hold about 1 MiB, in characters of up to 3 bytes, if there is more. */
const SHORT = 1 << 18

export class Channel {
  #library
  #live
  #deliver
  #socket
  #holds = 0
  #ended = false
  #whenEnded = []
  #draining = false

  /**
   * `live`: what has to be freed at the end of the thread. `deliver` gets each event and must not throw. A channel keeps the
   * process alive while it is held.
   */
  constructor(library, live, deliver) {
    this.#library = library
    this.#live = live
    this.#deliver = deliver
    this.queue = library.tn_queue_new()
    const fd = this.queue ? library.tn_queue_fd(this.queue) : -1
    if (fd < 0) {
      library.tn_free(this.queue)
      throw new Error('toolnexus: there is no file descriptor left for a queue of the library')
    }
    live.add(this)
    const drain = () => this.#drain()
    // What the bytes say is only that there is something, so they are read to the same place.
    const onread = { buffer: Buffer.alloc(64), callback: () => (drain(), true) }
    this.#socket = new Socket({ fd, readable: true, writable: false, onread })
    this.#socket.on('end', drain).on('error', drain)
    this.#socket.unref()
  }

  get ended() {
    return this.#ended
  }

  hold() {
    if (this.#holds++ === 0) this.#socket.ref()
  }

  release() {
    if (--this.#holds === 0) this.#socket.unref()
  }

  #drain = () => {
    this.#draining = false
    for (let takes = 0; takes < TAKES; takes++) {
      if (this.#ended) return
      const taken = this.#library.tn_queue_take_json(this.queue, 0)
      const json = this.#library.tn_result_json(taken, 0)
      this.#library.tn_free(taken)
      const events = JSON.parse(json)
      // A failure is no array: nothing will come any more.
      if (!Array.isArray(events)) return this.free()
      for (const event of events) this.#deliver(event)
      // A short one was all there was. The end of a queue is told only by the next.
      if (json.length < SHORT && (events.length === 0 || this.#whenEnded.length === 0)) return
    }
    if (this.#draining) return
    this.#draining = true
    setImmediate(this.#drain)
  }

  /** Completes what is pending as cancelled; resolves when the last of it was delivered. */
  close() {
    return new Promise((resolve) => {
      if (this.#ended) return resolve()
      this.#whenEnded.push(resolve)
      this.hold()
      this.#library.tn_queue_close(this.queue)
      this.#drain()
    })
  }

  /** Ends the queue with what is in it. */
  free() {
    if (this.#ended) return
    this.#ended = true
    this.#live.delete(this)
    this.#socket.destroy()
    this.#library.tn_free(this.queue)
    for (const ended of this.#whenEnded) ended()
  }
}
