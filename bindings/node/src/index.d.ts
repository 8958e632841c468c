/**
 * toolnexus: turns an mcp.json into tools that an agent can call.
 *
 * Everything that waits gives a promise, and takes an `AbortSignal`, with whose reason the promise is rejected. The process stays
 * alive while a call is under way, a request of a server is being answered, or `notices()` are waited for, and no longer: an
 * open source alone does not keep it.
 */
import type { EventEmitter } from 'node:events'

/** A JSON object. */
export type JsonObject = Record<string, unknown>

/** Where to find the servers: the object of an mcp.json, its text (first character `{`), or its path. */
export type Config = JsonObject | string | URL

/** The statuses of the C ABI, `TN_OK` and `TN_E_…`. Newer libraries can have more. */
export type Status =
  | 'TN_OK' | 'TN_E_ARGUMENT' | 'TN_E_UTF8' | 'TN_E_JSON' | 'TN_E_HANDLE' | 'TN_E_REENTRANT' | 'TN_E_FORKED' | 'TN_E_CONFIG'
  | 'TN_E_NOT_FOUND' | 'TN_E_CANCELLED' | 'TN_E_TIMEOUT' | 'TN_E_CLOSED' | 'TN_E_LIMIT' | 'TN_E_SPAWN' | 'TN_E_TRANSPORT'
  | 'TN_E_PROTOCOL' | 'TN_E_SERVER' | 'TN_E_AUTH' | 'TN_E_INTERNAL' | (string & {})

/** What went wrong in the library, or in the way it was used. */
export class ToolnexusError extends Error {
  private constructor()
  readonly status: Status
  /** `ERR_TN_CONFIG`, … */
  readonly code: string
  /** Where in the call: `start`, `initialize`, `list`, `call`, … */
  readonly phase?: string
  readonly server?: string
  /** With `TN_E_SERVER` the server's own JSON-RPC error. */
  readonly data?: unknown
}

/** How to end a call. */
export interface Limits {
  /** Cancels the call; its promise is rejected with the signal's reason. */
  signal?: AbortSignal
  /** How long the call may take in all, in ms. Default: one hour. */
  deadline?: number
}

export interface CallOptions extends Limits {
  /** How long the call may be silent, in ms; progress starts the time anew. Default: the server's `callTimeout`. */
  timeout?: number
  /** Gets the progress of the call. If it throws, the call is cancelled and its promise rejected with that. */
  onProgress?: (progress: Progress) => void
}

export interface Progress {
  kind: 'progress'
  server: string
  progress: number
  total?: number
  message?: string
}

// -- tools ------------------------------------------------------------------------------------------------------------

/** What a tool's author claims about it. A hint that was not given is absent. */
export interface ToolHints {
  readOnly?: boolean
  destructive?: boolean
  idempotent?: boolean
  openWorld?: boolean
}

/** What a tool gave. A failure of the tool, its server or the way to it is a result too: `output` says what happened. */
export interface ToolResult {
  /** The text for the model. */
  output: string
  isError: boolean
  /** `TN_OK` with `isError`: the tool ran, and reported failure. */
  status: Status
  metadata: JsonObject
  /** The server's `structuredContent`. */
  structured?: unknown
  /** What is not text. */
  parts: Part[]
  /** The server's own content. */
  content: unknown[]
  error?: { code: string; message: string; phase?: string; server?: string; data?: unknown }
}

export interface Part {
  type: 'image' | 'audio' | 'file' | (string & {})
  mimeType?: string
  name?: string
  url?: string
  /** Base64. */
  data?: string
  /** The index in `content` of what this part was made of. */
  content?: number
}

/** What tools of servers and of the program have in common. */
export interface AnyTool {
  /** The name for the model: of a server's tool, `server_tool`. */
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly source: 'mcp' | 'native' | (string & {})
  readonly hints: ToolHints
  /**
   * Calls the tool. `args`: an object, or the JSON text that a model wrote.
   *
   * @throws TypeError for arguments of a wrong type, ToolnexusError for a freed tool, the signal's reason
   */
  execute(args?: JsonObject | string | null, options?: CallOptions): Promise<ToolResult>
}

/** A tool of a server. Its source stays open while the program has it. */
export class Tool implements AnyTool, Disposable {
  private constructor()
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly source: 'mcp' | 'native' | (string & {})
  readonly hints: ToolHints
  /** Absent of a resource tool. */
  readonly server?: string
  readonly originalName?: string
  readonly title?: string
  readonly outputSchema?: JsonObject
  execute(args?: JsonObject | string | null, options?: CallOptions): Promise<ToolResult>
  /** Gives it back now; otherwise the garbage collector does. */
  free(): void
  [Symbol.dispose](): void
}

/** What a tool of the program can give. Text is the output; another value without `output` is written as JSON. */
export type ToolAnswer =
  | { output: string; isError?: boolean; metadata?: JsonObject; parts?: Part[] }
  | string | number | boolean | null | undefined | void | JsonObject | unknown[]

export interface ToolDefinition<Args = any> {
  /** 1 to 64 of `A-Z a-z 0-9 _ -`. */
  name: string
  description?: string
  /** Default: an object with any properties. */
  inputSchema?: JsonObject
  hints?: ToolHints
  /** Runs the tool. What it throws is an error result with the message. `signal`: the call is no longer wanted. */
  execute(args: Args, context: { signal: AbortSignal }): ToolAnswer | Promise<ToolAnswer>
}

/** A tool that the program runs. */
export class HostTool implements AnyTool {
  private constructor()
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly source: 'native'
  readonly hints: ToolHints
  execute(args?: JsonObject | string | null, options?: CallOptions): Promise<ToolResult>
}

/** Makes a tool of a function. It is called in this thread. Arguments are not checked against the schema. */
export function defineTool<Args = any>(tool: ToolDefinition<Args>): HostTool

// -- what servers ask ---------------------------------------------------------------------------------------------------

/** What a server asks of the program. */
export interface Request {
  id: number
  server: string
  kind: 'input' | 'url' | 'sampling' | 'oauth' | 'token_get' | 'token_put' | (string & {})
  prompt?: string
  url?: string
  data?: JsonObject
  tool?: string
  expiresAt?: string
  /** As received. */
  params?: JsonObject
}

/** A form to fill in (`data.schema`), or a URL to open with the person's consent. */
export interface Elicitation extends Request {
  kind: 'input' | 'url'
}

/** `ok` accepts. Without it `declined` declines, and everything else cancels. */
export type Answer =
  | { ok: true; data?: JsonObject }
  | { ok: false; reason?: 'declined' | 'cancelled' | 'expired' }

/** Answers a request. What it throws cancels the request, and is shown as a warning. `signal`: no longer wanted. */
export type Handler<R extends Request = Request> = (request: R, context: { signal: AbortSignal }) => Answer | Promise<Answer>

export interface Handlers {
  /** Without it servers are told that there is no elicitation. */
  onElicit?: Handler<Elicitation>
  /** Without it servers are told that there is no sampling. `data` of the answer is the message that was made. */
  onSampling?: Handler
  /** Requests of all other kinds. */
  onRequest?: Handler
}

// -- sources ------------------------------------------------------------------------------------------------------------

/** What can be set for all servers; a server's own entry counts first. */
export interface McpOptions {
  elicitation?: boolean
  sampling?: boolean
  roots?: string[]
  /** Values for `${input:ID}`. */
  inputs?: Record<string, string>
  workspaceFolder?: string
  clientInfo?: { name: string; version: string }
  /** Whether servers get all of the environment, or which variables beside the usual few. */
  inheritEnv?: boolean | string[]
  /** How many servers are started at once; 0: all. */
  parallel?: number
  restart?: { max?: number; backoffMs?: number }
  liveTools?: boolean
  lifecycle?: 'auto' | 'initialize' | 'discover'
  maxMessageBytes?: number
  requestTimeoutMs?: number
}

export interface LibraryOptions {
  /** The file of the native library. Counts until the library is loaded. */
  library?: string
}

export interface LoadOptions extends McpOptions, Limits, Handlers, LibraryOptions {}

export interface ServerStatus {
  status: 'connected' | 'disabled' | 'failed' | 'needs_auth' | (string & {})
  tools?: number
  protocolVersion?: string
  serverInfo?: JsonObject
  capabilities?: JsonObject
  instructions?: string
  skipped?: { tool: string; reason: string }[]
  ms?: number
  /** Of a failed server: where, why, and the end of its stderr. */
  phase?: string
  reason?: string
  stderr?: string
}

export interface SourceStatus {
  servers: Record<string, ServerStatus>
  warnings: string[]
  guardian?: boolean
}

/** Something happened at a server. */
export interface Notice {
  kind: 'server_log' | 'tools_changed' | 'resources_changed' | 'prompts_changed' | 'resource_updated' | 'server' | (string & {})
  server?: string
  [key: string]: unknown
}

export interface SourceEvents {
  notice: [notice: Notice]
  toolsChanged: [notice: Notice]
  resourcesChanged: [notice: Notice]
  promptsChanged: [notice: Notice]
  resourceUpdated: [notice: Notice]
  serverLog: [notice: Notice]
  server: [notice: Notice]
  close: []
}

/** A file of a skill that is what the skill's entry says. That does not make it safe: the server wrote both. */
export interface SkillFile {
  /** The text; of a file that is no text its type and size, and `contents` has it in base64. */
  output: string
  /** `skill` is the uri of SKILL.md, `uri` the file's. */
  metadata: { server: string; skill: string; uri: string }
  /** The file as the server sent it: one element. */
  contents: { uri?: string; mimeType?: string; text?: string; blob?: string }[]
  /** The entry that it was checked against. Read the skill's other files with it. */
  skill: JsonObject
}

/**
 * The connected servers of one config. Listeners do not keep it, nor the process: close it when it is no longer needed. A
 * source that the program has forgotten is closed by the garbage collector.
 */
export class McpSource extends EventEmitter<SourceEvents> implements AsyncDisposable {
  private constructor()
  /** Every server's tools, as of now: the list is asked for each time, so keep it in a variable in a loop. */
  get tools(): readonly Tool[]
  /** `list_mcp_resources` and `read_mcp_resource`. Nobody but you registers them anywhere. */
  resourceTools(): readonly Tool[]
  /** The state of every server, as of now. */
  get status(): SourceStatus
  /** The tools in the form of a provider of models. */
  schema(provider: 'openai' | 'anthropic' | 'gemini'): JsonObject[]
  /**
   * Any request to one server: `resources/read`, `prompts/get`, `completion/complete`, … The reply's `result`.
   *
   * @throws ToolnexusError; with the status `TN_E_SERVER` its `data` is the server's error
   */
  request<Result = any>(server: string, method: string, params?: JsonObject, options?: CallOptions): Promise<Result>
  /**
   * One file of a skill, if it is what the skill's entry says: its size, its digest, and in SKILL.md the frontmatter.
   *
   * @param skill the entry, as `request(server, 'skills/list')` has it, or the uri of SKILL.md: then the server is asked for it
   * @param uri the file; without it SKILL.md
   * @throws ToolnexusError; the status is `TN_E_PROTOCOL` for what does not verify, and nothing of that is handed out
   */
  readSkill(server: string, skill: string | JsonObject, uri?: string, options?: CallOptions): Promise<SkillFile>
  /** Ends a server, or all, and starts it again. */
  restart(server?: string, options?: Limits): Promise<SourceStatus>
  /** What happens at the servers, until the source is closed. The process stays alive for as long as this is iterated. */
  notices(options?: { signal?: AbortSignal }): AsyncIterableIterator<Notice>
  /** Ends the servers; resolves when nothing of them runs. Again: no effect. */
  close(options?: Limits): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Connects to the servers of a config. A server that fails is no failure of the load: `status` tells why.
 *
 * @throws ToolnexusError for a config that cannot be read, or an unknown option
 */
export function loadMcp(config: Config, options?: LoadOptions): Promise<McpSource>

export interface Inventory {
  /** By server; the servers' own names, not filtered. */
  tools: Record<string, { name: string; description?: string; inputSchema: JsonObject; [key: string]: unknown }[]>
  status: Record<string, ServerStatus['status']>
  servers: Record<string, ServerStatus>
  warnings: string[]
}

/** What the servers of a config offer. Keeps nothing open. */
export function listMcpTools(config: Config, options?: McpOptions & Limits & LibraryOptions): Promise<Inventory>

export interface ParsedConfig {
  servers: Record<string, JsonObject>
  failed: Record<string, { path: string; reason: string }>
  warnings: string[]
}

/** Reads and checks a config, and connects to nothing. `secrets`: show the values of `env` and `headers`. */
export function parseConfig(config: Config, options?: McpOptions & LibraryOptions & { secrets?: boolean }): Promise<ParsedConfig>

// -- toolkit ------------------------------------------------------------------------------------------------------------

export interface ToolkitOptions extends Limits, Handlers, LibraryOptions {
  mcpConfig?: Config
  mcpOptions?: McpOptions
  /** Tools of the program. */
  extraTools?: AnyTool[]
  /** Names that the toolkit has not, whoever brings them. */
  disableTools?: string[]
  /** There are none. */
  builtins?: false
}

/** The tools of a config's servers, then those that the program registered. A name stays with the tool that had it first. */
export class Toolkit implements AsyncDisposable {
  private constructor()
  /** The servers, if there is a config. */
  readonly source?: McpSource
  get tools(): readonly AnyTool[]
  get(name: string): AnyTool | undefined
  schema(provider: 'openai' | 'anthropic' | 'gemini'): JsonObject[]
  /** Adds tools. Gives a warning for each whose name is taken or disabled. */
  register(...tools: AnyTool[]): string[]
  /** Calls a tool by its name. One that is not there is an error result: `Unknown tool: …`. */
  execute(name: string, args?: JsonObject | string | null, options?: CallOptions): Promise<ToolResult>
  /** Ends the calls under way and the servers. */
  close(options?: Limits): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export function createToolkit(options?: ToolkitOptions): Promise<Toolkit>

// -- library ------------------------------------------------------------------------------------------------------------

/** The version of the native library. */
export function version(): string

export interface LogEntry {
  kind: 'log'
  level: 1 | 2 | 3 | 4 | 5
  target: string
  message: string
}

/** Sends the library's log to a function in this thread, for the whole process; null: to standard error. */
export function logTo(listener: ((entry: LogEntry) => void) | null, level?: 'off' | 'error' | 'warning' | 'info' | 'debug' | 'trace'): void

/**
 * For the end of tests: gives back all that this thread holds, and ends the library in the whole process; calls under way
 * are rejected as cancelled. Counts the references that are left: `{ live: {} }`. A later call starts the library anew.
 */
export function shutdown(timeout?: number): Promise<{ live: Record<string, number> }>
