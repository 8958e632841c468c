// What calls of tools give.
import { errorOf } from './errors.js'

/** How a call can end that is a result a model can read. All else is an error of the program's, or a defect. */
const RESULTS = new Set(
  'OK CONFIG JSON NOT_FOUND TIMEOUT CLOSED LIMIT SPAWN TRANSPORT PROTOCOL SERVER AUTH'.split(' ').map((name) =>
    name === 'OK' ? 'TN_OK' : `TN_E_${name}`
  )
)

/** A result of a tool, from the completion of its call. */
export function toolResult({ status, isError, json }) {
  if (!RESULTS.has(status)) throw errorOf(status, json)
  const { output = '', metadata = {}, structured, parts = [], content = json.contents ?? [], error } = json
  const result = { output, isError, status, metadata, parts: parts.map((part) => withData(part, content)), content }
  if (structured !== undefined) result.structured = structured
  if (error !== undefined) result.error = error
  return result
}

/** A part with its data, which the document holds once, in the server's own content. */
function withData(part, content) {
  const block = content[part.content]
  const data = part.data ?? block?.data ?? block?.resource?.blob ?? block?.blob
  return typeof data === 'string' ? { ...part, data } : part
}

/** The document of a call that is no tool's. */
export function documentOf({ status, isError, json }) {
  if (isError) throw errorOf(status, json)
  return json
}
