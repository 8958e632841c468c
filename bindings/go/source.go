package toolnexus

import (
	"context"
	"encoding/json"
	"runtime"

	"toolnexus/bindings/go/internal/ffi"
)

// Source is the servers of one config, connected. It is safe for use by many goroutines. A source that is not closed is closed
// when the garbage collector finds that neither it nor a tool of it is in use; [Source.Close] is the way to do it.
type Source struct {
	handle ffi.Handle
	events *queue // nil: the host hears nothing
	keep   any
}

// ServerStatus is what became of one server.
type ServerStatus struct {
	Status          string          `json:"status"` // "connected", "disabled", "failed" or "needs_auth"
	Tools           int             `json:"tools"`
	ProtocolVersion string          `json:"protocolVersion"`
	ServerInfo      json.RawMessage `json:"serverInfo"`
	Capabilities    json.RawMessage `json:"capabilities"`
	Instructions    string          `json:"instructions"`
	Phase           string          `json:"phase"`  // in which a failed one failed
	Reason          string          `json:"reason"` // and why
	Stderr          string          `json:"stderr"` // and the last lines that it wrote
}

// Statuses is the state of all servers.
type Statuses struct {
	Servers  map[string]ServerStatus `json:"servers"`
	Warnings []string                `json:"warnings"`
	JSON     json.RawMessage         `json:"-"` // the whole document
}

// Load connects to every server of a config, all at once, and returns when each is connected or has failed. config is JSON text
// (its first character is a {) or the path of a file. One bad server never fails the load: [Source.Status] says what is wrong
// with it. When ctx ends, the whole load ends with everything that it started.
func Load(ctx context.Context, config string, opts ...Option) (*Source, error) {
	if err := start(); err != nil {
		return nil, err
	}
	o := optionsOf(opts)
	if o.disable != nil {
		return nil, wrong("WithoutTools is for toolkits; a source's tools are chosen in its config")
	}
	text, options, err := o.texts(config)
	if err != nil {
		return nil, err
	}
	events, err := listen(o)
	if err != nil {
		return nil, err
	}
	result, err := run(ctx, nil, func(to ffi.Target) int32 { return ffi.Load(text, options, events.reference(), to) })
	var mcp ffi.Handle
	if err == nil {
		mcp = ffi.TakeMCP(result)
	}
	if _, err := document(ctx, result, err); err != nil {
		events.end()
		ffi.Free(mcp)
		return nil, err
	}
	return newSource(mcp, events, nil), nil
}

func newSource(handle ffi.Handle, events *queue, keep any) *Source {
	source := &Source{handle: handle, events: events, keep: keep}
	runtime.AddCleanup(source, func(held held) {
		ffi.Free(held.handle)
		held.events.end()
	}, held{handle, events})
	return source
}

// held is what a cleanup gives back.
type held struct {
	handle ffi.Handle
	events *queue
}

func (q *queue) reference() ffi.Handle {
	if q == nil {
		return 0
	}
	return q.handle
}

func (q *queue) end() {
	if q != nil {
		ffi.CloseQueue(q.handle)
	}
}

// Tools is every server's tools as of now: servers in the order of the config, tools as listed. After the close, the last list.
func (s *Source) Tools() []*Tool {
	defer runtime.KeepAlive(s)
	return toolsOf(ffi.MCPTools(s.handle), s)
}

// Tool is the tool of a name, as of now; nil if there is none.
func (s *Source) Tool(name string) *Tool {
	return find(s.Tools(), name)
}

// find gives back all but the one.
func find(tools []*Tool, name string) (found *Tool) {
	for _, tool := range tools {
		if tool.Name == name {
			found = tool
		} else {
			tool.Close()
		}
	}
	return found
}

// ResourceTools is two read-only tools over the servers' resources, list_mcp_resources and read_mcp_resource. Nothing registers
// them anywhere but you.
func (s *Source) ResourceTools() []*Tool {
	defer runtime.KeepAlive(s)
	return toolsOf(ffi.ResourceTools(s.handle), s)
}

// Schema is the tools as a provider of models wants them: "openai", "anthropic" or "gemini".
func (s *Source) Schema(provider string) (json.RawMessage, error) {
	defer runtime.KeepAlive(s)
	return schema(func() ffi.Handle { return ffi.MCPTools(s.handle) }, provider)
}

func schema(list func() ffi.Handle, provider string) (json.RawMessage, error) {
	name, err := cString("the provider", provider)
	if err != nil {
		return nil, err
	}
	return document(context.Background(), ffi.Schema(list(), name), nil)
}

// Status is the state of every server as of now.
func (s *Source) Status() (*Statuses, error) {
	defer runtime.KeepAlive(s)
	text, err := document(context.Background(), ffi.Status(s.handle), nil)
	if err != nil {
		return nil, err
	}
	status := &Statuses{JSON: text}
	return status, json.Unmarshal(text, status)
}

// Request sends any request to one server ("resources/read", "prompts/get", ...) and gives its reply, byte for byte. params is
// anything that becomes a JSON object, or nil. If the server answers with an error, so does this: [ErrServer], with the server's
// own in [Error].Data.
func (s *Source) Request(ctx context.Context, server, method string, params any, options ...CallOption) (json.RawMessage, error) {
	name, err := cString("the server's name", server)
	if err != nil {
		return nil, err
	}
	verb, err := cString("the method", method)
	if err != nil {
		return nil, err
	}
	text, refused, err := arguments(params)
	if refused != nil {
		err = refused.Err()
	}
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(s)
	result, err := run(ctx, options, func(to ffi.Target) int32 {
		return ffi.SendRequest(s.handle, name, verb, terminated(text), to)
	})
	return document(ctx, result, err)
}

// SkillFile is a file of a skill that is what the skill's entry says. That does not make it safe: the server wrote both.
type SkillFile struct {
	Output   string          `json:"output"`   // the text; of a file that is no text its type and size
	Contents json.RawMessage `json:"contents"` // the file as the server sent it: one element, with text or blob
	Skill    json.RawMessage `json:"skill"`    // the entry that it was checked against
	JSON     json.RawMessage `json:"-"`        // the whole document
}

// ReadSkill reads a file of a skill, and checks it against the skill's entry: its size, its digest, and in SKILL.md the
// frontmatter. What does not verify is [ErrProtocol], and nothing of it is handed out. skill is the uri of SKILL.md, or the entry
// as JSON (a [SkillFile].Skill, or an element of what "skills/list" gives): with that the server cannot exchange the skill while it
// is in use. uri is the file; "" is SKILL.md.
func (s *Source) ReadSkill(ctx context.Context, server, skill, uri string, options ...CallOption) (*SkillFile, error) {
	name, err := cString("the server's name", server)
	if err != nil {
		return nil, err
	}
	wanted, err := cString("the skill", skill)
	if err != nil {
		return nil, err
	}
	var file *byte
	if uri != "" {
		if file, err = cString("the uri", uri); err != nil {
			return nil, err
		}
	}
	defer runtime.KeepAlive(s)
	result, err := run(ctx, options, func(to ffi.Target) int32 { return ffi.ReadSkill(s.handle, name, wanted, file, to) })
	text, err := document(ctx, result, err)
	if err != nil {
		return nil, err
	}
	read := &SkillFile{JSON: text}
	return read, json.Unmarshal(text, read)
}

// Restart ends a server and starts it again; "" is all of them. With one server named, the error is what it failed with.
func (s *Source) Restart(ctx context.Context, server string) error {
	var name *byte
	if server != "" {
		var err error
		if name, err = cString("the server's name", server); err != nil {
			return err
		}
	}
	defer runtime.KeepAlive(s)
	result, err := run(ctx, nil, func(to ffi.Target) int32 { return ffi.Restart(s.handle, name, to) })
	_, err = document(ctx, result, err)
	return err
}

// Close ends every server and returns when nothing of the source runs any more, which takes a few seconds at most. Calls under
// way end as closed. Closing again does nothing.
func (s *Source) Close() error {
	defer runtime.KeepAlive(s)
	ctx := context.Background()
	result, err := run(ctx, nil, func(to ffi.Target) int32 { return ffi.CloseMCP(s.handle, to) })
	_, err = document(ctx, result, err)
	s.events.end()
	return err
}

// InventoryReport is what servers offer: their own names, unfiltered.
type InventoryReport struct {
	Tools    map[string][]*InventoryTool `json:"tools"`
	Status   map[string]string           `json:"status"`
	Servers  map[string]ServerStatus     `json:"servers"`
	Warnings []string                    `json:"warnings"`
	JSON     json.RawMessage             `json:"-"` // the whole document
}

// InventoryTool is a tool as its server lists it. It cannot be called.
type InventoryTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// Inventory says what the servers of a config offer, and keeps nothing open.
func Inventory(ctx context.Context, config string, opts ...Option) (*InventoryReport, error) {
	o := optionsOf(opts)
	text, options, err := o.texts(config)
	if err != nil {
		return nil, err
	}
	result, err := run(ctx, nil, func(to ffi.Target) int32 { return ffi.Inventory(text, options, to) })
	found, err := document(ctx, result, err)
	if err != nil {
		return nil, err
	}
	report := &InventoryReport{JSON: found}
	return report, json.Unmarshal(found, report)
}

// Config is a config that was read and checked.
type Config struct {
	Servers  map[string]json.RawMessage `json:"servers"` // each one normalised
	Failed   map[string]BadEntry        `json:"failed"`
	Warnings []string                   `json:"warnings"`
	JSON     json.RawMessage            `json:"-"` // the whole document
}

// BadEntry is an entry of a config that cannot be used.
type BadEntry struct {
	Path   string `json:"path"` // where in the config, such as mcpServers.a.command
	Reason string `json:"reason"`
}

// ParseConfig reads and checks a config, and connects to nothing. Secrets are shown as ***, unless
// WithOption("secrets", true) is given.
func ParseConfig(config string, opts ...Option) (*Config, error) {
	if err := start(); err != nil {
		return nil, err
	}
	o := optionsOf(opts)
	text, options, err := o.texts(config)
	if err != nil {
		return nil, err
	}
	read, err := document(context.Background(), ffi.ParseConfig(text, options), nil)
	if err != nil {
		return nil, err
	}
	parsed := &Config{JSON: read}
	return parsed, json.Unmarshal(read, parsed)
}
