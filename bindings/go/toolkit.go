package toolnexus

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"runtime"
	"strings"
	"sync"

	"toolnexus/bindings/go/internal/ffi"
)

// Toolkit is the tools of an mcp.json, and beside them those that are registered: one list for a model. It is safe for use by
// many goroutines.
type Toolkit struct {
	handle ffi.Handle
	events *queue
	open   context.Context // ends with the close
	end    context.CancelCauseFunc

	mu   sync.RWMutex
	own  map[string]*Tool // the host's own that are registered
	keep []*Tool          // registered tools of sources, which must stay open
}

// NewToolkit makes a toolkit. config is as for [Load]; "" is none. [Toolkit.Source] has the servers' status.
func NewToolkit(ctx context.Context, config string, opts ...Option) (*Toolkit, error) {
	if err := start(); err != nil {
		return nil, err
	}
	o := optionsOf(opts)
	values := map[string]any{}
	if config != "" {
		values["mcpConfig"], values["mcpOptions"] = config, o.values
	}
	if o.disable != nil {
		values["disableTools"] = o.disable
	}
	_, options, err := (&options{values: values}).texts("")
	if err != nil {
		return nil, err
	}
	events, err := listen(o)
	if err != nil {
		return nil, err
	}
	result, err := run(ctx, nil, func(to ffi.Target) int32 { return ffi.CreateToolkit(options, events.reference(), to) })
	var handle ffi.Handle
	if err == nil {
		handle = ffi.TakeToolkit(result)
	}
	if _, err := document(ctx, result, err); err != nil {
		events.end()
		ffi.Free(handle)
		return nil, err
	}
	kit := &Toolkit{handle: handle, events: events, own: map[string]*Tool{}}
	kit.open, kit.end = context.WithCancelCause(context.Background())
	runtime.AddCleanup(kit, func(held held) {
		ffi.Free(held.handle)
		held.events.end()
	}, held{handle, events})
	return kit, nil
}

// Register adds tools: the host's own, resource tools, those of other sources. A name that is taken stays with the tool that has
// it, and a warning says so.
func (k *Toolkit) Register(tools ...*Tool) (warnings []string, err error) {
	for _, tool := range tools {
		more, err := k.register(tool)
		warnings = append(warnings, more...)
		if err != nil {
			return warnings, err
		}
	}
	return warnings, nil
}

func (k *Toolkit) register(tool *Tool) ([]string, error) {
	defer runtime.KeepAlive(k)
	defer runtime.KeepAlive(tool)
	handle := tool.handle
	if tool.own != nil {
		made, err := tool.own.create()
		if err != nil {
			return nil, err
		}
		defer ffi.Free(made)
		handle = made
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	text, err := document(k.open, ffi.Register(k.handle, handle), nil)
	if err != nil {
		return nil, err
	}
	var said struct {
		Registered bool
		Warnings   []string
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, err
	}
	switch {
	case !said.Registered:
	case tool.own != nil:
		k.own[tool.Name] = tool
	default:
		k.keep = append(k.keep, tool)
	}
	return said.Warnings, nil
}

// Tools is the tools as of now: those of the servers, then the registered ones in the order of their registration.
func (k *Toolkit) Tools() []*Tool {
	defer runtime.KeepAlive(k)
	tools := toolsOf(ffi.ToolkitTools(k.handle), k)
	k.mu.RLock()
	own := maps.Clone(k.own)
	k.mu.RUnlock()
	for i, tool := range tools {
		if mine := own[tool.Name]; mine != nil && tool.Source == mine.Source {
			tool.Close()
			tools[i] = mine
		}
	}
	return tools
}

// Get is the tool of a name, as of now; nil if there is none.
func (k *Toolkit) Get(name string) *Tool { return find(k.Tools(), name) }

// Schema is the tools as a provider of models wants them: "openai", "anthropic" or "gemini".
func (k *Toolkit) Schema(provider string) (json.RawMessage, error) {
	defer runtime.KeepAlive(k)
	return schema(func() ffi.Handle { return ffi.ToolkitTools(k.handle) }, provider)
}

// Source is the servers of the toolkit's own config; nil if it has none. It lives until its last use, also when the toolkit is gone.
func (k *Toolkit) Source() *Source {
	defer runtime.KeepAlive(k)
	handle := ffi.ToolkitMCP(k.handle)
	if handle == 0 {
		return nil
	}
	return newSource(handle, nil, k)
}

// Execute calls the tool of a name, as [Tool.Execute] does. A name that a model made up is a [Result] that it can read.
func (k *Toolkit) Execute(ctx context.Context, name string, args any, options ...CallOption) (*Result, error) {
	defer runtime.KeepAlive(k)
	text, refused, err := arguments(args)
	if err != nil || refused != nil {
		return refused, err
	}
	k.mu.RLock()
	mine := k.own[name]
	k.mu.RUnlock()
	if mine != nil && k.open.Err() == nil {
		result, err := k.executeOwn(ctx, mine, text, options)
		if !errors.Is(err, ErrClosed) {
			return result, err
		} // else the library says that it is closed
	}
	called := ffi.CString(strings.ReplaceAll(name, "\x00", "\uFFFD")) // a model made it up; no tool has such a name
	result, err := run(ctx, options, func(to ffi.Target) int32 {
		return ffi.ExecuteToolkit(k.handle, called, terminated(text), to)
	})
	return finish(ctx, result, err)
}

// executeOwn runs a tool of the host until it ends, ctx ends, or the toolkit is closed.
func (k *Toolkit) executeOwn(ctx context.Context, tool *Tool, arguments []byte, options []CallOption) (*Result, error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(k.open, func() { cancel(ErrClosed) })()
	return tool.own.execute(inner, arguments, options)
}

// Close closes the toolkit and the source of its config, as [Source.Close] does. Tools that were registered stay good where they
// come from. Closing again does nothing.
func (k *Toolkit) Close() error {
	defer runtime.KeepAlive(k)
	k.end(ErrClosed)
	ctx := context.Background()
	result, err := run(ctx, nil, func(to ffi.Target) int32 { return ffi.CloseToolkit(k.handle, to) })
	_, err = document(ctx, result, err)
	k.events.end()
	return err
}
