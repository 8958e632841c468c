package toolnexus_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	toolnexus "toolnexus/bindings/go"
)

type sum struct {
	A     int `json:"a" jsonschema:"the first"`
	B     int `json:"b"`
	Extra int `json:"extra,omitempty"`
}

func define[In, Out any](t *testing.T, name string, run func(context.Context, In) (Out, error)) *toolnexus.Tool {
	t.Helper()
	yes := true
	tool, err := toolnexus.NewTool(name, "A tool of the host.", toolnexus.Hints{ReadOnly: &yes}, run)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func newKit(t *testing.T, config string, options ...toolnexus.Option) *toolnexus.Toolkit {
	t.Helper()
	kit, err := toolnexus.NewToolkit(t.Context(), config, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kit.Close(); err != nil {
			t.Error(err)
		}
		kit = nil
		nothingLives(t)
	})
	return kit
}

func TestHostTool(t *testing.T) {
	add := define(t, "add", func(_ context.Context, in sum) (int, error) { return in.A + in.B + in.Extra, nil })
	if add.Source != "native" || add.Hints.ReadOnly == nil || !*add.Hints.ReadOnly || !strings.Contains(string(add.InputSchema), "the first") {
		t.Errorf("the tool is %+v", add)
	}
	kit := newKit(t, config(t, "tiny"))
	if warnings, err := kit.Register(add); err != nil || len(warnings) != 0 {
		t.Fatal(warnings, err)
	}
	for _, run := range []func(any) (*toolnexus.Result, error){
		func(args any) (*toolnexus.Result, error) { return add.Execute(t.Context(), args) },
		func(args any) (*toolnexus.Result, error) { return kit.Execute(t.Context(), "add", args) },
		func(args any) (*toolnexus.Result, error) { return kit.Get("add").Execute(t.Context(), args) },
	} {
		if got := result(t)(run(sum{A: 1, B: 2})); got.Output != "3" || got.IsError || got.Err() != nil {
			t.Errorf("it gave %s", got.JSON())
		}
		for _, bad := range []string{`{"a":1}`, `{"a":"1","b":2}`, `{"a":1,"b":2,"c":3}`} {
			if got := result(t)(run(json.RawMessage(bad))); !got.IsError || got.Status != toolnexus.OK || !strings.Contains(got.Output, "arguments") {
				t.Errorf("%s gave %s", bad, got.JSON())
			}
		}
		for _, bad := range []string{`[1]`, `{`, ``, ` `} {
			if got := result(t)(run(json.RawMessage(bad))); !got.IsError || got.Status != toolnexus.ErrJSON || !errors.Is(got.Err(), toolnexus.ErrJSON) {
				t.Errorf("%s gave %s", bad, got.JSON())
			}
		}
	}
	if schema, err := kit.Schema("openai"); err != nil || !strings.Contains(string(schema), `"name":"add"`) || !strings.Contains(string(schema), `"name":"x_echo"`) {
		t.Errorf("the schema is %s, %v", schema, err)
	}
	if names := len(kit.Tools()); names != 4 {
		t.Errorf("there are %d tools", names)
	}
	if status, err := kit.Source().Status(); err != nil || status.Servers["x"].Status != "connected" {
		t.Errorf("the status is %+v, %v", status, err)
	}
}

func TestNamesThatAreTaken(t *testing.T) {
	kit := newKit(t, config(t, "tiny"), toolnexus.WithoutTools("off"))
	text := func(said string) func(context.Context, empty) (string, error) {
		return func(context.Context, empty) (string, error) { return said, nil }
	}
	warnings, err := kit.Register(define(t, "mine", text("first")), define(t, "mine", text("second")), define(t, "x_echo", text("third")), define(t, "off", text("fourth")))
	if err != nil || len(warnings) != 3 {
		t.Fatal(warnings, err)
	}
	if got := result(t)(kit.Execute(t.Context(), "mine", nil)); got.Output != "first" {
		t.Errorf("it gave %q", got.Output)
	}
	if got := result(t)(kit.Execute(t.Context(), "x_echo", map[string]string{"text": "the server's"})); got.Output != "the server's" {
		t.Errorf("it gave %q", got.Output)
	}
	for _, name := range []string{"off", "no\x00such", "no\xffsuch"} {
		if got, err := kit.Execute(t.Context(), name, nil); err == nil && got.Status != toolnexus.ErrNotFound {
			t.Errorf("%q gave %s", name, got.JSON())
		}
	}
}

func TestHostToolsThatMisbehave(t *testing.T) {
	kit := newKit(t, "")
	hang := make(chan struct{})
	defer close(hang)
	tools := []*toolnexus.Tool{
		define(t, "panics", func(context.Context, empty) (string, error) { panic("no") }),
		define(t, "fails", func(context.Context, empty) (string, error) { return "", errors.New("no") }),
		define(t, "exits", func(context.Context, empty) (string, error) { runtime.Goexit(); return "", nil }),
		define(t, "not-json", func(context.Context, empty) (any, error) { return make(chan int), nil }),
		define(t, "odd-metadata", func(context.Context, empty) (toolnexus.Output, error) {
			return toolnexus.Output{Metadata: map[string]any{"a": make(chan int)}}, nil
		}),
	}
	if _, err := kit.Register(tools...); err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if got := result(t)(kit.Execute(t.Context(), tool.Name, nil)); !got.IsError || got.Status != toolnexus.OK || got.Output == "" {
			t.Errorf("%s gave %s", tool.Name, got.JSON())
		}
	}
	deaf := define(t, "deaf", func(context.Context, empty) (string, error) { <-hang; return "", nil })
	if _, err := kit.Register(deaf); err != nil {
		t.Fatal(err)
	}
	if got := result(t)(deaf.Execute(t.Context(), nil, toolnexus.WithTimeout(20*time.Millisecond))); got.Status != toolnexus.ErrTimeout || !strings.Contains(got.Output, "20 ms") {
		t.Errorf("it gave %s", got.JSON())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := deaf.Execute(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it gave %v", err)
	}
	time.AfterFunc(20*time.Millisecond, func() { kit.Close() })
	if got := result(t)(kit.Execute(t.Context(), "deaf", nil)); got.Status != toolnexus.ErrClosed {
		t.Errorf("the close gave %s", got.JSON())
	}
	if got := result(t)(kit.Execute(t.Context(), "fails", nil)); got.Status != toolnexus.ErrClosed {
		t.Errorf("after the close it gave %s", got.JSON())
	}
	if got := result(t)(tools[1].Execute(t.Context(), nil)); got.Output != "no" {
		t.Errorf("without its toolkit it gave %s", got.JSON())
	}
}

func TestOutput(t *testing.T) {
	rich := define(t, "rich", func(context.Context, empty) (toolnexus.Output, error) {
		return toolnexus.Output{Text: "<a>", Metadata: map[string]any{"cost": 1},
			Parts: []toolnexus.Part{{Type: "image", MimeType: "image/png", Base64: "AAAA"}}}, nil
	})
	got := result(t)(rich.Execute(t.Context(), nil))
	data, err := got.Parts()[0].Bytes()
	if got.Output != "<a>" || string(got.Metadata()) != `{"cost":1}` || err != nil || len(data) != 3 {
		t.Errorf("it gave %s, %v", got.JSON(), err)
	}
	object := define(t, "object", func(context.Context, empty) (any, error) { return map[string]int{"a": 1}, nil })
	if got := result(t)(object.Execute(t.Context(), nil)); got.Output != `{"a":1}` {
		t.Errorf("it gave %s", got.JSON())
	}
}
