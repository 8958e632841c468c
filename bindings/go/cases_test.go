package toolnexus_test

// The shared cases, tests/cases/cases.json: see the README there.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	toolnexus "toolnexus/bindings/go"
)

// strict refuses a word that it does not know, so that no case passes by being ignored.
func strict(t *testing.T, text []byte, into any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("the case is not understood: %v in %s", err, text)
	}
}

type testCase struct {
	Name     string
	Parse    json.RawMessage
	Config   json.RawMessage
	Options  map[string]any
	Answers  []answer
	HostTool *struct {
		Name, Description, Does string
		InputSchema             json.RawMessage
	}
	Load  json.RawMessage
	Steps []json.RawMessage
}

type answer struct {
	OK     bool
	Data   map[string]any
	Reason string
}

type step struct {
	Tools         *[]string
	Tool          *string
	Document      json.RawMessage
	Schema        *string
	Contains      []string
	Call          *string
	Start         *string
	Await         bool
	Request       *string
	Server        string
	Params        json.RawMessage
	Status        json.RawMessage
	Inventory     json.RawMessage
	ResourceTools bool
	Close         bool
	Free          *string

	Arguments  json.RawMessage
	Text       *string
	TimeoutMs  int
	DeadlineMs int
	Cancel     string
	Times      int
	Through    string
	Expect     expectation
}

type expectation struct {
	Status       string
	IsError      *bool
	Output       *string
	OutputHas    []string
	OutputLength *int
	Parts        json.RawMessage
	Structured   json.RawMessage
	Document     json.RawMessage
	ServerError  *int
}

// expand replaces $tiny, $hostile, $remote and {"$repeat":[text, count]}.
func expand(t *testing.T, value any) any {
	switch value := value.(type) {
	case string:
		for _, name := range []string{"tiny", "hostile", "remote"} {
			if strings.Contains(value, "$"+name) {
				value = strings.ReplaceAll(value, "$"+name, server(t, name))
			}
		}
		return value
	case []any:
		for i := range value {
			value[i] = expand(t, value[i])
		}
	case map[string]any:
		if repeat, ok := value["$repeat"].([]any); ok {
			return strings.Repeat(repeat[0].(string), int(repeat[1].(float64)))
		}
		for key := range value {
			value[key] = expand(t, value[key])
		}
	}
	return value
}

// ordered keeps the order of a config's servers, which a map would lose: it expands the text.
func ordered(t *testing.T, raw json.RawMessage) string {
	if raw[0] == '"' {
		var text string
		strict(t, raw, &text)
		return text
	}
	text := string(raw)
	for _, name := range []string{"tiny", "hostile", "remote"} {
		if strings.Contains(text, "$"+name) {
			quoted, _ := json.Marshal(server(t, name))
			text = strings.ReplaceAll(text, "$"+name, string(quoted[1:len(quoted)-1]))
		}
	}
	return text
}

// server is the path of one of the two example servers, or the URL of the remote one.
func server(t testing.TB, name string) string {
	path := os.Getenv("TOOLNEXUS_" + strings.ToUpper(name))
	if path == "" {
		t.Fatalf("TOOLNEXUS_%s must say where the %s server is", strings.ToUpper(name), name)
	}
	return path
}

// holds: every member that is named is there and equal; arrays are equal as a whole.
func holds(whole, part any) bool {
	wanted, ok := part.(map[string]any)
	if !ok {
		return reflect.DeepEqual(whole, part)
	}
	has, ok := whole.(map[string]any)
	for key, value := range wanted {
		member, there := has[key]
		ok = ok && there && holds(member, value)
	}
	return ok
}

func decoded(t *testing.T, text []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

func mustHold(t *testing.T, whole, part []byte) {
	t.Helper()
	if !holds(decoded(t, whole), expand(t, decoded(t, part))) {
		t.Errorf("%s does not hold %s", whole, part)
	}
}

// statusOf is the name of the status, whether it came as an error or in a result.
func statusOf(err error) string {
	var failed *toolnexus.Error
	switch {
	case err == nil:
		return "TN_OK"
	case errors.As(err, &failed):
		return failed.Status.String()
	}
	return err.Error()
}

type outcome struct {
	result *toolnexus.Result
	err    error
}

type run struct {
	*testing.T
	config  string
	options []toolnexus.Option
	source  *toolnexus.Source
	kit     *toolnexus.Toolkit
	more    []*toolnexus.Tool
	last    *toolnexus.Tool
	pending chan outcome
}

func TestCases(t *testing.T) {
	text, err := os.ReadFile("../../tests/cases/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []testCase
	strict(t, text, &cases)
	for _, one := range cases {
		t.Run(one.Name, func(t *testing.T) {
			runCase(t, one)
			nothingLives(t)
		})
	}
}

// nothingLives waits for the garbage collector to find what was closed or dropped; tn_shutdown counts.
func nothingLives(t *testing.T) {
	t.Helper()
	var live map[string]int
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); runtime.Gosched() {
		runtime.GC()
		var err error
		if live, err = toolnexus.Shutdown(60 * time.Second); err != nil {
			t.Fatal(err)
		}
		if len(live) == 0 {
			return
		}
	}
	t.Errorf("these references still live: %v", live)
}

func runCase(t *testing.T, c testCase) {
	r := &run{T: t}
	for name, value := range c.Options {
		r.options = append(r.options, toolnexus.WithOption(name, expand(t, value)))
	}
	if c.Parse != nil {
		parsed, err := toolnexus.ParseConfig(ordered(t, c.Parse), r.options...)
		if r.loaded(c.Load, err) {
			mustHold(t, parsed.JSON, c.Load)
		}
		return
	}
	if c.Answers != nil {
		var next atomic.Int32
		answer := func(context.Context, *toolnexus.Request) (toolnexus.Answer, error) {
			switch one := c.Answers[next.Add(1)-1]; {
			case one.OK:
				return toolnexus.Accept(expand(t, one.Data)), nil
			case one.Reason == "declined":
				return toolnexus.Decline(), nil
			case one.Reason == "cancelled":
				return toolnexus.Cancel(), nil
			default:
				return toolnexus.Answer{}, fmt.Errorf("an answer that is not understood: %+v", one)
			}
		}
		r.options = append(r.options, toolnexus.WithElicitation(answer))
		if c.Options["sampling"] == true {
			r.options = append(r.options, toolnexus.WithSampling(answer))
		}
	}
	r.config = ordered(t, c.Config)
	var err error
	if r.source, err = toolnexus.Load(t.Context(), r.config, r.options...); !r.loaded(c.Load, err) {
		return
	}
	defer r.source.Close()
	if c.Load != nil {
		status, err := r.source.Status()
		if err != nil {
			t.Fatal(err)
		}
		mustHold(t, status.JSON, c.Load)
	}
	r.makeKit(c)
	defer r.kit.Close()
	for _, raw := range c.Steps {
		var s step
		strict(t, raw, &s)
		r.step(s, string(raw))
	}
}

// loaded says whether there is something to go on with; a load may be expected to fail.
func (r *run) loaded(expected json.RawMessage, err error) bool {
	r.Helper()
	var wanted struct{ Status string }
	if expected != nil {
		_ = json.Unmarshal(expected, &wanted) // the rest is compared as a whole
	}
	if wanted.Status == "" {
		wanted.Status = "TN_OK"
	}
	if statusOf(err) != wanted.Status {
		r.Fatalf("the load ended with %v (%v), not with %s", statusOf(err), err, wanted.Status)
	}
	return err == nil
}

// makeKit registers the source's tools, and the host's own.
func (r *run) makeKit(c testCase) {
	kit, err := toolnexus.NewToolkit(r.Context(), "")
	if err != nil {
		r.Fatal(err)
	}
	r.kit = kit
	tools := r.source.Tools()
	if host := c.HostTool; host != nil {
		does, ok := map[string]func(context.Context, json.RawMessage) (toolnexus.Output, error){"upper": upper, "fail": fail}[host.Does]
		if !ok {
			r.Fatalf("a host tool that does %q is not understood", host.Does)
		}
		tool, err := toolnexus.NewRawTool(host.Name, host.Description, host.InputSchema, toolnexus.Hints{}, does)
		if err != nil {
			r.Fatal(err)
		}
		tools = append(tools, tool)
		r.more = append(r.more, tool)
	}
	if warnings, err := kit.Register(tools...); err != nil || len(warnings) > 0 {
		r.Fatal(err, warnings)
	}
}

func upper(_ context.Context, raw json.RawMessage) (toolnexus.Output, error) {
	var arguments struct{ Text string }
	err := json.Unmarshal(raw, &arguments)
	return toolnexus.Output{Text: strings.ToUpper(arguments.Text)}, err
}

func fail(context.Context, json.RawMessage) (toolnexus.Output, error) {
	return toolnexus.Output{}, errors.New("it does not want to")
}

func (r *run) step(s step, raw string) {
	r.Helper()
	defer func() {
		if r.Failed() {
			r.Fatalf("in the step %.300s", raw)
		}
	}()
	switch {
	case s.Tools != nil:
		var names []string
		for _, tool := range r.source.Tools() {
			names = append(names, tool.Name)
		}
		if !slices.Equal(names, *s.Tools) {
			r.Errorf("the tools are %q", names)
		}
	case s.Tool != nil:
		document, err := json.Marshal(r.find(*s.Tool))
		if err != nil {
			r.Fatal(err)
		}
		mustHold(r.T, document, s.Document)
	case s.Schema != nil:
		schema, err := r.source.Schema(*s.Schema)
		if err != nil {
			r.Fatal(err)
		}
		for _, part := range s.Contains {
			if !strings.Contains(string(schema), part) {
				r.Errorf("%s does not contain %s", schema, part)
			}
		}
	case s.Call != nil:
		for _, got := range r.calls(s, *s.Call) {
			r.expect(got, s.Expect)
		}
	case s.Start != nil:
		pending := make(chan outcome, 1)
		r.pending = pending
		go func() { pending <- r.call(context.Background(), s, *s.Start) }()
		r.received(*s.Start)
	case s.Await:
		r.expect(<-r.pending, s.Expect)
	case s.Request != nil:
		reply, err := r.source.Request(r.Context(), s.Server, *s.Request, s.Params)
		if s.Expect.Status == "" {
			s.Expect.Status = "TN_OK"
		}
		if statusOf(err) != s.Expect.Status {
			r.Fatalf("the request ended with %v", err)
		}
		if s.Expect.Document != nil {
			mustHold(r.T, reply, s.Expect.Document)
		}
		if s.Expect.ServerError != nil {
			var failed *toolnexus.Error
			if !errors.As(err, &failed) {
				r.Fatalf("the request ended with %v", err)
			}
			if code := decoded(r.T, failed.Data).(map[string]any)["code"]; code != float64(*s.Expect.ServerError) {
				r.Errorf("the server's error is %v", code)
			}
		}
	case s.Status != nil:
		status, err := r.source.Status()
		if err != nil {
			r.Fatal(err)
		}
		mustHold(r.T, status.JSON, s.Status)
	case s.Inventory != nil:
		report, err := toolnexus.Inventory(r.Context(), r.config, r.options...)
		if err != nil {
			r.Fatal(err)
		}
		mustHold(r.T, report.JSON, s.Inventory)
	case s.ResourceTools:
		resources := r.source.ResourceTools()
		if len(resources) != 2 {
			r.Errorf("there are %d resource tools", len(resources))
		}
		r.more = append(r.more, resources...)
	case s.Close:
		for range 2 {
			if err := r.source.Close(); err != nil {
				r.Error(err)
			}
		}
	case s.Free != nil && *s.Free == "tool":
		r.last.Close()
		result, err := r.last.Execute(r.Context(), nil)
		if result != nil || !errors.Is(err, toolnexus.ErrHandle) {
			r.Errorf("a tool that was given back gave %v, %v", result, err)
		}
	default:
		r.Fatal("the step is not understood")
	}
}

func (r *run) find(name string) *toolnexus.Tool {
	r.Helper()
	for _, tool := range append(r.source.Tools(), r.more...) {
		if tool.Name == name {
			return tool
		}
	}
	r.Fatalf("there is no tool %q", name)
	return nil
}

// received waits until the server of a tool has a call of it, which its tool `received` tells.
func (r *run) received(name string) {
	server, tool, _ := strings.Cut(name, "_")
	for {
		got, err := r.find(server+"_received").Execute(r.Context(), nil)
		if err != nil {
			r.Fatal(err)
		}
		if strings.Contains(got.Output, `"`+tool+`"`) {
			return
		}
	}
}

func (r *run) calls(s step, name string) []outcome {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	switch s.Cancel {
	case "":
	case "before":
		cancel()
	case "after":
	case "during":
		pending := make(chan outcome, 1)
		go func() { pending <- r.call(ctx, s, name) }()
		r.received(name)
		cancel()
		return []outcome{<-pending}
	default:
		r.Fatalf("cancel %q is not understood", s.Cancel)
	}
	outcomes := make([]outcome, max(s.Times, 1))
	done := make(chan struct{})
	for i := range outcomes {
		go func() {
			outcomes[i] = r.call(ctx, s, name)
			done <- struct{}{}
		}()
	}
	for range outcomes {
		<-done
	}
	return outcomes
}

func (r *run) call(ctx context.Context, s step, name string) (got outcome) {
	var arguments any
	if s.Arguments != nil {
		arguments = expand(r.T, decoded(r.T, s.Arguments))
	}
	if s.Text != nil {
		arguments = json.RawMessage(*s.Text)
	}
	limits := []toolnexus.CallOption{
		toolnexus.WithTimeout(time.Duration(s.TimeoutMs) * time.Millisecond),
		toolnexus.WithDeadline(time.Duration(s.DeadlineMs) * time.Millisecond),
	}
	switch s.Through {
	case "":
		tool := r.find(name)
		if s.Times == 0 {
			r.last = tool
		}
		got.result, got.err = tool.Execute(ctx, arguments, limits...)
	case "toolkit":
		got.result, got.err = r.kit.Execute(ctx, name, arguments, limits...)
	default:
		got.err = fmt.Errorf("through %q is not understood", s.Through)
	}
	return got
}

func (r *run) expect(got outcome, e expectation) {
	r.Helper()
	if e.Status == "" {
		e.Status = "TN_OK"
	}
	if got.err != nil { // the language's own way to say these
		if statusOf(got.err) != e.Status || e.Output != nil || e.OutputHas != nil {
			r.Errorf("the call gave the error %v (%s)", got.err, statusOf(got.err))
		}
		return
	}
	result := got.result
	isError := e.Status != "TN_OK"
	if e.IsError != nil {
		isError = *e.IsError
	}
	if result.Status.String() != e.Status || result.IsError != isError || statusOf(result.Err()) != e.Status {
		r.Errorf("status %v, error %v: %.300s", result.Status, result.IsError, result.Output)
	}
	if e.Output != nil && result.Output != *e.Output {
		r.Errorf("the output is %.300q", result.Output)
	}
	for _, part := range e.OutputHas {
		if !strings.Contains(result.Output, part) {
			r.Errorf("the output %.300q does not have %q", result.Output, part)
		}
	}
	if e.OutputLength != nil && len(result.Output) != *e.OutputLength {
		r.Errorf("the output has %d bytes", len(result.Output))
	}
	document := decoded(r.T, result.JSON()).(map[string]any)
	if e.Parts != nil && !reflect.DeepEqual(document["parts"], decoded(r.T, e.Parts)) {
		r.Errorf("the parts are %v", document["parts"])
	}
	if e.Structured != nil && !reflect.DeepEqual(decoded(r.T, result.Structured()), decoded(r.T, e.Structured)) {
		r.Errorf("the structured content is %s", result.Structured())
	}
}

// UnmarshalJSON: an output may be {"$repeat":...}.
func (e *expectation) UnmarshalJSON(text []byte) error {
	type plain expectation
	var whole struct {
		plain
		Output any
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&whole); err != nil {
		return err
	}
	*e = expectation(whole.plain)
	switch output := whole.Output.(type) {
	case nil:
	case string:
		e.Output = &output
	default:
		text, ok := expand(nil, output).(string)
		if !ok {
			return fmt.Errorf("an output that is not understood: %v", output)
		}
		e.Output = &text
	}
	return nil
}
