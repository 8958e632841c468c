package toolnexus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"toolnexus/bindings/go/internal/ffi"
)

// Output is what a tool of the host can say beside a text.
type Output struct {
	Text     string         `json:"output"`
	IsError  bool           `json:"isError"`
	Metadata map[string]any `json:"metadata,omitempty"`
	Parts    []Part         `json:"parts,omitempty"`
}

// native is a tool of the host. It runs here, without a way through the library, which only knows its name and schema.
type native struct {
	spec []byte
	run  func(context.Context, json.RawMessage) (Output, error)
}

// nativeTimeout is the library's own for a host's tools.
const nativeTimeout = 300 * time.Second

// NewTool makes a tool of a Go function. In is a struct; its schema comes from its fields, as
// github.com/google/jsonschema-go has it: `json` tags name them, `omitempty` makes them optional, `jsonschema` tags describe
// them. Arguments are checked against the schema before run is called.
//
// What run returns is the tool's text: a string as it is, an [Output] as that says, anything else as JSON. An error or a panic is
// a result that says so, with the error flag. Should run not heed the end of ctx, its call ends without it.
func NewTool[In, Out any](name, description string, hints Hints, run func(ctx context.Context, in In) (Out, error)) (*Tool, error) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, wrong("tool %q: its arguments have no schema: %v", name, err)
	}
	if schema.Type != "object" {
		return nil, wrong("tool %q: its arguments must be a struct or a map, not %T", name, *new(In))
	}
	check, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		return nil, wrong("tool %q: the schema of its arguments: %v", name, err)
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, wrong("tool %q: the schema of its arguments: %v", name, err)
	}
	return NewRawTool(name, description, text, hints, func(ctx context.Context, raw json.RawMessage) (Output, error) {
		var in In
		if err := decode(check, raw, &in); err != nil {
			return Output{}, fmt.Errorf("the arguments do not fit: %w", err)
		}
		out, err := run(ctx, in)
		if err != nil {
			return Output{}, err
		}
		return outputOf(out)
	})
}

// decode fills in the defaults, checks, and converts.
func decode(check *jsonschema.Resolved, raw json.RawMessage, in any) error {
	var values map[string]any
	if err := json.Unmarshal(raw, &values); err != nil {
		return err
	}
	if err := check.ApplyDefaults(&values); err != nil {
		return err
	}
	if err := check.Validate(values); err != nil {
		return err
	}
	whole, err := json.Marshal(values)
	if err != nil {
		return err
	}
	return json.Unmarshal(whole, in)
}

func outputOf(out any) (Output, error) {
	switch out := out.(type) {
	case string:
		return Output{Text: out}, nil
	case Output:
		return out, nil
	}
	text, err := json.Marshal(out)
	return Output{Text: string(text)}, err
}

// NewRawTool is [NewTool] with a schema of your own, which nothing checks, and the arguments as they came: a JSON object.
func NewRawTool(name, description string, inputSchema json.RawMessage, hints Hints,
	run func(ctx context.Context, arguments json.RawMessage) (Output, error)) (*Tool, error) {
	spec, err := json.Marshal(struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema,omitempty"`
		Hints       Hints           `json:"hints"`
	}{name, description, inputSchema, hints})
	if err != nil {
		return nil, wrong("tool %q: its schema is not JSON: %v", name, err)
	}
	tool := &Tool{own: &native{spec: spec, run: run}}
	made, err := tool.own.create() // to hear early what is wrong with it
	if err != nil {
		return nil, err
	}
	defer ffi.Free(made)
	return tool, json.Unmarshal([]byte(ffi.ToolJSON(made)), tool)
}

// create makes the library's view of the tool. No call of it ever arrives: they are all run here.
func (n *native) create() (ffi.Handle, error) {
	pump, err := currentPump()
	if err != nil {
		return 0, err
	}
	result := ffi.CreateTool(ffi.CString(n.spec), pump)
	made := ffi.TakeTool(result)
	if _, err := document(context.Background(), result, nil); err != nil {
		return 0, err
	}
	return made, nil
}

var errDeadline = errors.New("time-out")

func (n *native) execute(ctx context.Context, arguments []byte, options []CallOption) (*Result, error) {
	if ctx.Err() != nil {
		return nil, cancelled(ctx)
	}
	if arguments == nil {
		arguments = []byte("{}")
	}
	if !json.Valid(arguments) || bytes.TrimLeft(arguments, " \t\r\n")[0] != '{' {
		return local(ErrJSON, Output{Text: "the arguments are not a JSON object", IsError: true}), nil
	}
	var o callOptions
	for _, option := range options {
		option(&o)
	}
	limit := nativeTimeout
	for _, ms := range []uint32{o.idle, o.deadline} { // it cannot report progress, so that both are the same
		if ms != 0 && (limit == nativeTimeout || time.Duration(ms)*time.Millisecond < limit) {
			limit = time.Duration(ms) * time.Millisecond
		}
	}
	inner, cancel := context.WithTimeoutCause(ctx, limit, errDeadline)
	defer cancel()
	done := make(chan *Result, 1)
	go n.guarded(inner, arguments, done)
	select {
	case result := <-done:
		if inner.Err() == nil || !result.IsError {
			return result, nil
		}
	case <-inner.Done():
	}
	if context.Cause(inner) == errDeadline {
		return local(ErrTimeout, Output{Text: fmt.Sprintf("the tool did not answer within %d ms", limit.Milliseconds()), IsError: true}), nil
	}
	return nil, cancelled(ctx)
}

// guarded runs the tool; whatever happens in it becomes a result.
func (n *native) guarded(ctx context.Context, arguments json.RawMessage, done chan<- *Result) {
	failed := func(text string) *Result { return local(OK, Output{Text: text, IsError: true}) }
	var result *Result
	defer func() {
		if problem := recover(); problem != nil {
			result = failed(fmt.Sprintf("the tool panicked: %v", problem))
		} else if result == nil {
			result = failed("the tool ended its goroutine")
		}
		done <- result
	}()
	if output, err := n.run(ctx, arguments); err != nil {
		result = failed(err.Error())
	} else {
		result = local(OK, output)
	}
}
