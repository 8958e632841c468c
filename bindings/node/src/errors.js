/** What went wrong in the library, or in the way it was used. `status` is its name in the C ABI, such as `TN_E_CONFIG`. */
export class ToolnexusError extends Error {
  constructor(status, message, details = {}) {
    super(message)
    this.name = 'ToolnexusError'
    this.status = status
    this.code = status.replace(/^TN_E_/, 'ERR_TN_')
    this.phase = details.phase
    this.server = details.server
    this.data = details.data
  }
}

/** The error that a failed call's document describes. */
export function errorOf(status, document) {
  const error = document?.error
  return new ToolnexusError(status, error?.message ?? `the library reports ${status}`, error)
}

/** What values are called in messages. */
export const kindOf = (value) => (value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value)

/** A string that C can read whole. */
export function text(what, value) {
  if (typeof value !== 'string') throw new TypeError(`${what} is ${kindOf(value)}, expected a string`)
  if (value.includes('\0')) throw new TypeError(`${what} holds a NUL character, which the library cannot take`)
  return value
}

export function record(what, value) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError(`${what} is ${kindOf(value)}, expected an object`)
  }
  return value
}

/** An object with no other members than these: a misspelt option must not be as if it were not there. */
export function known(what, value, names) {
  for (const name of Object.keys(record(what, value))) {
    if (!names.includes(name)) throw new TypeError(`${what}.${name} is unknown, expected ${names.join(', ')}`)
  }
  return value
}

/** Options that the library reads, which says itself what it does not know. It would not see a function. */
export function optionText(what, value) {
  return JSON.stringify(record(what, value), (name, member) => {
    if (typeof member !== 'function' && typeof member !== 'symbol') return member
    throw new TypeError(`${what}.${name} is unknown: no option of that name takes a ${typeof member}`)
  })
}

export function callback(what, value) {
  if (value !== undefined && typeof value !== 'function') {
    throw new TypeError(`${what} is ${kindOf(value)}, expected a function`)
  }
  return value
}

/** Milliseconds as the library counts them. 0 and undefined: its default. */
export function milliseconds(what, value) {
  if (value === undefined) return 0
  if (typeof value !== 'number') throw new TypeError(`${what} is ${kindOf(value)}, expected a number of milliseconds`)
  if (!(value >= 0 && value <= 0xffffffff)) {
    throw new RangeError(`${what} is ${value}, expected 0 to ${0xffffffff} milliseconds`)
  }
  return Math.ceil(value)
}
