package toolnexus

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime"
	"sync/atomic"

	"toolnexus/bindings/go/internal/ffi"
)

// Tool is one tool: a server's, one of the two resource tools, or the host's own ([NewTool]). It is safe for use by many
// goroutines. While a tool is in use, the source that it came from is not closed by the garbage collector.
type Tool struct {
	Name         string          `json:"name"` // the name for the model, such as files_read
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"` // byte for byte the server's own, where that is usable
	OutputSchema json.RawMessage `json:"outputSchema"`
	Title        string          `json:"title"`
	Hints        Hints           `json:"hints"`
	Source       string          `json:"source"`       // "mcp" or "native"
	Server       string          `json:"server"`       // as the config names it
	OriginalName string          `json:"originalName"` // as the server names it

	handle  ffi.Handle // 0 for the host's own
	own     *native
	keep    any // what must not be closed meanwhile
	closed  atomic.Bool
	cleanup runtime.Cleanup
}

// Hints are what the server says of a tool: claims, not facts. nil: it says nothing.
type Hints struct {
	ReadOnly    *bool `json:"readOnly,omitempty"`
	Destructive *bool `json:"destructive,omitempty"`
	Idempotent  *bool `json:"idempotent,omitempty"`
	OpenWorld   *bool `json:"openWorld,omitempty"`
}

// toolsOf reads a list, and gives it back.
func toolsOf(list ffi.Handle, keep any) []*Tool {
	document, handles := ffi.List(list)
	var tools []*Tool
	if json.Unmarshal([]byte(document), &tools) != nil || len(tools) != len(handles) {
		// Only a handle that is not good has no document, and then there is nothing to give back either.
		return nil
	}
	for i, tool := range tools {
		tool.handle, tool.keep = handles[i], keep
		tool.cleanup = runtime.AddCleanup(tool, ffi.Free, tool.handle)
	}
	return tools
}

// Execute calls the tool. args is anything that becomes a JSON object: a map, a struct, nil for {}, or a json.RawMessage with
// the text that a model wrote.
//
// Whatever goes wrong with the call is a [Result] that a model can read: a bad argument, a server that died, a time-out, a
// closed source. An error says that ctx has ended (then errors.Is with context.Canceled or context.DeadlineExceeded holds; the
// server was told, and nothing of the call goes on), or that the host made a mistake.
func (t *Tool) Execute(ctx context.Context, args any, options ...CallOption) (*Result, error) {
	text, refused, err := arguments(args)
	if err != nil || refused != nil {
		return refused, err
	}
	if t.own != nil {
		return t.own.execute(ctx, text, options)
	}
	result, err := run(ctx, options, func(to ffi.Target) int32 { return ffi.Execute(t.handle, terminated(text), to) })
	runtime.KeepAlive(t)
	return finish(ctx, result, err)
}

// Close gives the tool back before the garbage collector does. Executing it is then an error ([ErrHandle]). A tool that the host
// made has nothing to give back and goes on working.
func (t *Tool) Close() {
	if t.handle != 0 && t.closed.CompareAndSwap(false, true) {
		t.cleanup.Stop()
		ffi.Free(t.handle)
	}
}

// arguments is args as text, or the result that says what is wrong with it; nil is {}.
func arguments(args any) ([]byte, *Result, error) {
	var text []byte
	switch args := args.(type) {
	case nil:
	case json.RawMessage:
		text = args
	case []byte:
		text = args
	default:
		made, err := json.Marshal(args)
		if err != nil {
			return nil, nil, wrong("the arguments cannot be made JSON: %v", err)
		}
		if !bytes.Equal(made, []byte("null")) { // a nil map or pointer
			text = made
		}
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, local(ErrJSON, Output{Text: "the arguments are not a JSON object: they hold a NUL character", IsError: true}), nil
	}
	return text, nil, nil
}

// terminated is text as C wants it; nil stays nil.
func terminated(text []byte) *byte {
	if text == nil {
		return nil
	}
	return ffi.CString(text)
}

// cString refuses what C would cut short. what names the text.
func cString(what, text string) (*byte, error) {
	if i := bytes.IndexByte([]byte(text), 0); i >= 0 {
		return nil, wrong("%s holds a NUL character, at %d", what, i)
	}
	return ffi.CString(text), nil
}

// finish makes a tool's result of what run gave.
func finish(ctx context.Context, result ffi.Handle, err error) (*Result, error) {
	if err != nil {
		return nil, err
	}
	view := ffi.Read(result, true)
	status := Status(view.Status)
	if status.misuse() {
		return nil, failure(view)
	}
	if status == ErrCancelled && ctx.Err() != nil {
		return nil, cancelled(ctx)
	}
	return newResult(view), nil
}

// document makes what run gave the document of a call that is no tool's, or an error.
func document(ctx context.Context, result ffi.Handle, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	view := ffi.Read(result, true)
	if Status(view.Status) == ErrCancelled && ctx.Err() != nil {
		return nil, cancelled(ctx)
	}
	if view.IsError {
		return nil, failure(view)
	}
	return json.RawMessage(view.JSON), nil
}
