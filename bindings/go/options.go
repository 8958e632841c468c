package toolnexus

import (
	"encoding/json"

	"toolnexus/bindings/go/internal/ffi"
)

// Option is an option of [Load], [NewToolkit], [Inventory] and [ParseConfig].
type Option func(*options)

type options struct {
	values  map[string]any
	disable []string
	elicit  Handler
	sample  Handler
	other   Handler
	notice  func(Notice)
}

// WithElicitation has handler answer the servers' questions to the person: forms (Kind "input") and pages to open ("url"). Without
// it servers are told that nobody can be asked. A handler that refers to the source keeps it from being garbage.
func WithElicitation(handler Handler) Option { return func(o *options) { o.elicit = handler } }

// WithSampling has handler ask a model on behalf of servers: Params holds the messages, and the answer is the model's.
func WithSampling(handler Handler) Option { return func(o *options) { o.sample = handler } }

// WithRequests has handler answer what has no handler of its own, such as the kind "oauth".
func WithRequests(handler Handler) Option { return func(o *options) { o.other = handler } }

// WithNotices has handler called for each notice of the servers, one after the other.
func WithNotices(handler func(Notice)) Option { return func(o *options) { o.notice = handler } }

// WithRoots tells the servers which directories they may work in, as file:// URIs.
func WithRoots(uris ...string) Option { return WithOption("roots", uris) }

// WithInputs gives the values of ${input:ID} in the config.
func WithInputs(values map[string]string) Option { return WithOption("inputs", values) }

// WithWorkspaceFolder gives the value of ${workspaceFolder} in the config.
func WithWorkspaceFolder(path string) Option { return WithOption("workspaceFolder", path) }

// WithClientInfo says what the host is called, in place of toolnexus.
func WithClientInfo(name, version string) Option {
	return WithOption("clientInfo", map[string]string{"name": name, "version": version})
}

// WithOption sets any option by its name in toolnexus.h: inheritEnv, parallel, restart, liveTools, lifecycle, maxMessageBytes,
// requestTimeoutMs, ... A name that is not known is [ErrArgument].
func WithOption(name string, value any) Option {
	return func(o *options) { o.values[name] = value }
}

// WithoutTools names tools that a toolkit does not have, whoever brings them.
func WithoutTools(names ...string) Option {
	return func(o *options) { o.disable = append(o.disable, names...) }
}

func optionsOf(opts []Option) *options {
	o := &options{values: map[string]any{}}
	for _, option := range opts {
		option(o)
	}
	// Servers are told of what the host has a handler for, unless an option says otherwise.
	o.announce("elicitation", o.elicit)
	o.announce("sampling", o.sample)
	return o
}

func (o *options) announce(what string, handler Handler) {
	if _, said := o.values[what]; !said && handler == nil && o.hears() {
		o.values[what] = false
	} else if !said && handler != nil {
		o.values[what] = true
	}
}

func (o *options) hears() bool {
	return o.elicit != nil || o.sample != nil || o.other != nil || o.notice != nil
}

// texts is the config and the options for C.
func (o *options) texts(config string) (*byte, *byte, error) {
	text, err := cString("the config", config)
	if err != nil {
		return nil, nil, err
	}
	values, err := json.Marshal(o.values)
	if err != nil {
		return nil, nil, wrong("an option cannot be made JSON: %v", err)
	}
	return text, ffi.CString(values), nil
}
