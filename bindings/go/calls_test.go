package toolnexus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	toolnexus "toolnexus/bindings/go"
)

// config is a config with one server, named x.
func config(t testing.TB, name string, arguments ...string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"x": map[string]any{"command": append([]string{server(t, name)}, arguments...)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// load gives a source that is closed at the end of the test, after which nothing may live.
func load(t *testing.T, config string, options ...toolnexus.Option) *toolnexus.Source {
	t.Helper()
	source, err := toolnexus.Load(t.Context(), config, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := source.Close(); err != nil {
			t.Error(err)
		}
		source = nil
		nothingLives(t)
	})
	return source
}

// tool is the tool of a name, which must be there.
func tool(t *testing.T, source *toolnexus.Source, name string) *toolnexus.Tool {
	t.Helper()
	found := source.Tool(name)
	if found == nil {
		t.Fatalf("there is no tool %q", name)
	}
	return found
}

// result is what a call gave, which may not be an error.
func result(t *testing.T) func(*toolnexus.Result, error) *toolnexus.Result {
	t.Helper()
	return func(result *toolnexus.Result, err error) *toolnexus.Result {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
}

// arrives waits until the hostile server has got so many calls of odd.
func arrives(t *testing.T, source *toolnexus.Source, calls int) {
	received := tool(t, source, "x_received")
	for {
		got, err := received.Execute(t.Context(), nil)
		if err != nil || strings.Count(got.Output, `"name":"odd"`) >= calls {
			return
		}
	}
}

func TestEndOfContext(t *testing.T) {
	source := load(t, config(t, "hostile", "never-answers"))
	odd := tool(t, source, "x_odd")
	reason := errors.New("the user went away")

	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		arrives(t, source, 1)
		cancel(reason)
	}()
	_, err := odd.Execute(ctx, nil)
	for _, target := range []error{reason, context.Canceled, toolnexus.ErrCancelled} {
		if !errors.Is(err, target) {
			t.Errorf("%v is not %v", err, target)
		}
	}
	// Long enough for the call to reach the server, also on a busy machine.
	late, cancelLate := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancelLate()
	if _, err := odd.Execute(late, nil); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, toolnexus.ErrTimeout) {
		t.Errorf("the deadline of the context gave %v", err)
	}
	received := result(t)(tool(t, source, "x_received").Execute(t.Context(), nil)).Output
	if strings.Count(received, "notifications/cancelled") != 2 {
		t.Errorf("the server was not told of both: %s", received)
	}
	if _, err := source.Request(ctx, "x", "tools/list", nil); !errors.Is(err, reason) {
		t.Errorf("a request with an ended context gave %v", err)
	}
	if _, err := toolnexus.Load(ctx, config(t, "tiny")); !errors.Is(err, reason) {
		t.Errorf("a load with an ended context gave %v", err)
	}
}

func TestSkills(t *testing.T) {
	const skill = "skill://acme/pdf/SKILL.md"
	source := load(t, config(t, "hostile", "skills"))
	read, err := source.ReadSkill(t.Context(), "x", skill, "")
	if err != nil || !strings.HasSuffix(read.Output, "\nBody\n") || !strings.Contains(string(read.JSON), `"uri":"`+skill+`"`) {
		t.Fatalf("%+v, %v", read, err)
	}
	held := string(read.Skill)
	logo, err := source.ReadSkill(t.Context(), "x", held, "skill://acme/pdf/logo.png")
	if err != nil || !strings.Contains(string(logo.Contents), "iVBORw==") {
		t.Errorf("%+v, %v", logo, err)
	}
	if _, err := source.ReadSkill(t.Context(), "x", held, "skill://acme/pdf/hidden.md"); !errors.Is(err, toolnexus.ErrProtocol) {
		t.Errorf("a file that is not listed gave %v", err)
	}
	if _, err := source.ReadSkill(t.Context(), "x", skill+"\x00", ""); !errors.Is(err, toolnexus.ErrArgument) {
		t.Errorf("a NUL gave %v", err)
	}
}

func TestForgedSkill(t *testing.T) {
	source := load(t, config(t, "hostile", "skill-digest"))
	_, err := source.ReadSkill(t.Context(), "x", "skill://acme/pdf/SKILL.md", "")
	if !errors.Is(err, toolnexus.ErrProtocol) || !strings.Contains(err.Error(), "digest") {
		t.Errorf("a forged skill gave %v", err)
	}
}

func TestLoadIsCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := toolnexus.Load(ctx, config(t, "hostile", "init-silent"), toolnexus.WithNotices(func(toolnexus.Notice) {}))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the load gave %v", err)
	}
	nothingLives(t)
}

func TestProgress(t *testing.T) {
	source := load(t, config(t, "tiny"))
	slow := tool(t, source, "x_slow")
	arguments := map[string]int{"durationMs": 100, "intervalMs": 10}
	var seen []float64
	got := result(t)(slow.Execute(t.Context(), arguments, toolnexus.WithProgress(func(p toolnexus.Progress) {
		seen = append(seen, p.Progress)
	})))
	if got.IsError || len(seen) < 2 {
		t.Errorf("%q, and the progress was %v", got.Output, seen)
	}
	for i := 1; i < len(seen); i++ {
		if seen[i] < seen[i-1] {
			t.Errorf("the progress is not in order: %v", seen)
		}
	}
	// A panic at the last report, when the call is over.
	func() {
		defer func() { _ = recover() }()
		_, _ = slow.Execute(t.Context(), arguments, toolnexus.WithProgress(func(p toolnexus.Progress) {
			if p.Progress == p.Total {
				panic("late")
			}
		}))
	}()
	defer func() {
		if problem := recover(); problem != "enough" {
			t.Errorf("the panic of the host's function did not come through: %v", problem)
		}
	}()
	_, err := slow.Execute(t.Context(), arguments, toolnexus.WithProgress(func(toolnexus.Progress) { panic("enough") }))
	t.Errorf("the call went on: %v", err)
}

func TestArgumentsAndErrors(t *testing.T) {
	source := load(t, config(t, "tiny"))
	echo := tool(t, source, "x_echo")
	for _, args := range []any{
		struct {
			Text string `json:"text"`
		}{"a"}, map[string]string{"text": "a"}, json.RawMessage(`{"text":"a"}`), []byte(` {"text" : "a"}`),
	} {
		if got := result(t)(echo.Execute(t.Context(), args)); got.Output != "a" {
			t.Errorf("%T gave %q", args, got.Output)
		}
	}
	for _, args := range []any{"text", 7, []string{"a"}, json.RawMessage("{"), json.RawMessage("{\"text\":\"\x00\"}"), json.RawMessage(`"`)} {
		if got := result(t)(echo.Execute(t.Context(), args)); got.Status != toolnexus.ErrJSON || !got.IsError || got.Output == "" {
			t.Errorf("%v gave %v: %q", args, got.Status, got.Output)
		}
	}
	var none map[string]any
	if got := result(t)(tool(t, source, "x_fail").Execute(t.Context(), none)); !got.IsError || got.Err() != nil {
		t.Errorf("no arguments gave %v: %q", got.Status, got.Output)
	}
	for name, make := range map[string]func() error{
		"a channel":      func() error { _, err := echo.Execute(t.Context(), make(chan int)); return err },
		"an option":      func() error { _, err := toolnexus.Load(t.Context(), "{}", toolnexus.WithOption("no", 1)); return err },
		"a NUL":          func() error { _, err := toolnexus.Load(t.Context(), "a\x00b"); return err },
		"a provider":     func() error { _, err := source.Schema("nobody"); return err },
		"without tools":  func() error { _, err := toolnexus.Load(t.Context(), "{}", toolnexus.WithoutTools("a")); return err },
		"a tool's name":  func() error { _, err := toolnexus.NewTool("a b", "", toolnexus.Hints{}, nothing); return err },
		"a tool's input": func() error { _, err := toolnexus.NewTool("a", "", toolnexus.Hints{}, number); return err },
	} {
		var failed *toolnexus.Error
		if err := make(); !errors.Is(err, toolnexus.ErrArgument) || !errors.As(err, &failed) || failed.Message == "" {
			t.Errorf("%s gave %v", name, err)
		}
	}
	if _, err := echo.Execute(t.Context(), json.RawMessage("{\"text\":\"\xff\"}")); !errors.Is(err, toolnexus.ErrUTF8) {
		t.Errorf("bad UTF-8 gave %v", err)
	}
	if _, err := toolnexus.Load(t.Context(), "no-such-file.json"); !errors.Is(err, toolnexus.ErrConfig) {
		t.Errorf("a missing file gave %v", err)
	}
	if _, err := source.Request(t.Context(), "nobody", "ping", nil); !errors.Is(err, toolnexus.ErrNotFound) {
		t.Errorf("an unknown server gave %v", err)
	}
	var failed *toolnexus.Error
	_, err := source.Request(t.Context(), "x", "resources/read", map[string]string{"uri": "fixture://nope"})
	if !errors.Is(err, toolnexus.ErrServer) || !errors.As(err, &failed) || len(failed.Data) == 0 {
		t.Errorf("a server's error gave %v", err)
	}
	read, err := source.Request(t.Context(), "x", "resources/read", map[string]string{"uri": "fixture://hello"})
	if err != nil || !strings.Contains(string(read), "hello resource") {
		t.Errorf("reading gave %s, %v", read, err)
	}
}

type empty struct{}

func nothing(context.Context, empty) (string, error) { return "", nil }
func number(context.Context, int) (string, error)    { return "", nil }

func TestPartsHaveTheirData(t *testing.T) {
	source := load(t, config(t, "hostile", "odd-content"))
	parts := result(t)(tool(t, source, "x_image").Execute(t.Context(), nil)).Parts()
	if len(parts) != 1 || parts[0].Type != "image" || parts[0].MimeType != "image/png" {
		t.Fatalf("the parts are %+v", parts)
	}
	if data, err := parts[0].Bytes(); err != nil || len(data) != 3 {
		t.Errorf("the data is %v, %v", data, err)
	}
	parts = result(t)(tool(t, source, "x_embedded-blob").Execute(t.Context(), nil)).Parts()
	if data, err := parts[0].Bytes(); err != nil || len(data) != 3 || parts[0].Type != "file" {
		t.Errorf("the embedded data is %v, %v", data, err)
	}
	if got := result(t)(tool(t, source, "x_mixed").Execute(t.Context(), nil)); len(got.Content()) == 0 || len(got.Metadata()) == 0 {
		t.Errorf("content or metadata is missing in %s", got.JSON())
	}
}

func TestRestartAndStatus(t *testing.T) {
	source := load(t, config(t, "tiny"))
	if err := source.Restart(t.Context(), "x"); err != nil {
		t.Error(err)
	}
	if err := source.Restart(t.Context(), ""); err != nil {
		t.Error(err)
	}
	if err := source.Restart(t.Context(), "nobody"); !errors.Is(err, toolnexus.ErrNotFound) {
		t.Errorf("an unknown server gave %v", err)
	}
	status, err := source.Status()
	if err != nil || status.Servers["x"].Status != "connected" || status.Servers["x"].Tools != 3 {
		t.Errorf("the status is %+v, %v", status, err)
	}
	hints := source.ResourceTools()[0].Hints
	if hints.ReadOnly == nil || !*hints.ReadOnly || hints.Destructive != nil {
		t.Errorf("the hints are %+v", hints)
	}
}

// answered is what the server says of the answer that it got.
func answered(t *testing.T, handler toolnexus.Handler) (said string) {
	t.Helper()
	t.Run("answer", func(t *testing.T) {
		source := load(t, config(t, "hostile", "asks-elicitation", "--era", "legacy"), toolnexus.WithElicitation(handler))
		said = result(t)(tool(t, source, "x_odd").Execute(t.Context(), nil)).Output
	})
	return said
}

func TestBadHandlers(t *testing.T) {
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	for name, handler := range map[string]toolnexus.Handler{
		"panics": func(context.Context, *toolnexus.Request) (toolnexus.Answer, error) { panic("no") },
		"fails": func(context.Context, *toolnexus.Request) (toolnexus.Answer, error) {
			return toolnexus.Accept(nil), errors.New("no")
		},
		"exits": func(context.Context, *toolnexus.Request) (toolnexus.Answer, error) {
			runtime.Goexit()
			return toolnexus.Cancel(), nil
		},
		"a misfit": func(context.Context, *toolnexus.Request) (toolnexus.Answer, error) {
			return toolnexus.Accept(map[string]int{"confirmed": 1}), nil
		},
		"not JSON": func(context.Context, *toolnexus.Request) (toolnexus.Answer, error) {
			return toolnexus.Accept(make(chan int)), nil
		},
		"no message": func(context.Context, *toolnexus.Request) (toolnexus.Answer, error) { return toolnexus.Answer{}, nil },
	} {
		before := log.Len()
		if said := answered(t, handler); !strings.Contains(said, "cancel") {
			t.Errorf("a handler that %s: the server got %q", name, said)
		}
		if name != "no message" && !strings.Contains(log.String()[before:], "cancelled") {
			t.Errorf("a handler that %s: nothing was logged", name)
		}
	}
}

func TestRequestHasItsFields(t *testing.T) {
	var seen *toolnexus.Request
	answered(t, func(_ context.Context, request *toolnexus.Request) (toolnexus.Answer, error) {
		seen = request
		return toolnexus.Decline(), nil
	})
	if seen.Server != "x" || seen.Kind != "input" || len(seen.Schema()) == 0 || len(seen.Params) == 0 {
		t.Errorf("the request is %+v", seen)
	}
}

func TestSampling(t *testing.T) {
	source := load(t, config(t, "hostile", "asks-sampling", "--era", "legacy"), toolnexus.WithSampling(
		func(_ context.Context, request *toolnexus.Request) (toolnexus.Answer, error) {
			if request.Kind != "sampling" {
				return toolnexus.Cancel(), nil
			}
			return toolnexus.Accept(map[string]any{"role": "assistant", "model": "none",
				"content": map[string]string{"type": "text", "text": "from the model"}}), nil
		}))
	if got := result(t)(tool(t, source, "x_odd").Execute(t.Context(), nil)); !strings.Contains(got.Output, "from the model") {
		t.Errorf("the server got %q", got.Output)
	}
}

// A question ends with the call that asked it.
func TestHandlerHearsThatItIsNotWanted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	source := load(t, config(t, "hostile", "asks-elicitation", "--era", "legacy"), toolnexus.WithElicitation(
		func(asked context.Context, _ *toolnexus.Request) (toolnexus.Answer, error) {
			cancel()
			<-asked.Done()
			ended <- asked.Err()
			return toolnexus.Cancel(), nil
		}))
	if _, err := tool(t, source, "x_odd").Execute(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the call gave %v", err)
	}
	source.Close()
	if err := <-ended; err == nil {
		t.Error("the handler was not told")
	}
}

func TestNotices(t *testing.T) {
	seen := make(chan toolnexus.Notice, 64)
	source := load(t, config(t, "hostile", "crash-mid-call"), toolnexus.WithNotices(func(notice toolnexus.Notice) {
		seen <- notice
		panic("a bad handler")
	}))
	result(t)(tool(t, source, "x_odd").Execute(t.Context(), nil))
	for notice := range seen {
		if notice.Kind == "server" && notice.Server == "x" && len(notice.JSON) > 0 {
			return
		}
	}
}

// lines is a writer that many goroutines may use.
type lines chan string

func (l lines) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}

func TestLogger(t *testing.T) {
	log := make(lines, 256)
	if err := toolnexus.SetLogger(slog.New(slog.NewTextHandler(log, nil))); err != nil {
		t.Fatal(err)
	}
	load(t, `{"mcpServers":{"gone":{"command":"toolnexus-no-such-command"}}}`)
	for line := range log {
		if strings.Contains(line, "gone") && strings.Contains(line, "level=WARN") {
			break
		}
	}
	if err := toolnexus.SetLogger(nil); err != nil {
		t.Fatal(err)
	}
}

func TestInventoryAndParse(t *testing.T) {
	report, err := toolnexus.Inventory(t.Context(), config(t, "tiny"))
	if err != nil || len(report.Tools["x"]) != 3 || report.Tools["x"][0].Name != "echo" || report.Status["x"] != "connected" {
		t.Errorf("the inventory is %+v, %v", report, err)
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers":{"a":{"command":"x","env":{"A":"a secret"}},"b":{"command":"x y"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	parsed, err := toolnexus.ParseConfig(path)
	if err != nil || parsed.Failed["b"].Path != "mcpServers.b.command" || strings.Contains(string(parsed.Servers["a"]), "secret") {
		t.Errorf("the config is %s, %v", parsed.JSON, err)
	}
	parsed, err = toolnexus.ParseConfig(path, toolnexus.WithOption("secrets", true))
	if err != nil || !strings.Contains(string(parsed.Servers["a"]), "a secret") {
		t.Errorf("the config is %s, %v", parsed.JSON, err)
	}
	nothingLives(t)
}

// threads of this process.
func threads(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Skip("this needs /proc")
	}
	return len(entries)
}

func TestManyCallsWaitWithoutThreads(t *testing.T) {
	source := load(t, config(t, "hostile", "never-answers"))
	odd := tool(t, source, "x_odd")
	result(t)(tool(t, source, "x_echo").Execute(t.Context(), map[string]string{"text": "a"}))
	before := threads(t)
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	for range 2000 {
		done.Add(1)
		go func() {
			defer done.Done()
			if _, err := odd.Execute(ctx, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("a call gave %v", err)
			}
		}()
	}
	// Once the server has answered something that was asked later, all of them are in flight.
	result(t)(tool(t, source, "x_echo").Execute(t.Context(), map[string]string{"text": "a"}))
	if grown := threads(t) - before; grown > 64 {
		t.Errorf("2,000 calls in flight took %d threads more", grown)
	}
	cancel()
	done.Wait()
}

func TestGarbageIsClosed(t *testing.T) {
	for range 5 {
		source, err := toolnexus.Load(t.Context(), config(t, "tiny"), toolnexus.WithNotices(func(toolnexus.Notice) {}))
		if err != nil {
			t.Fatal(err)
		}
		echo := source.Tool("x_echo")
		source = nil
		runtime.GC()
		runtime.GC()
		// A tool in use keeps its source open.
		if got := result(t)(echo.Execute(t.Context(), map[string]string{"text": "a"})); got.Output != "a" {
			t.Errorf("the tool gave %q", got.Output)
		}
	}
	nothingLives(t)
}

func TestShutdownEndsCalls(t *testing.T) {
	source := load(t, config(t, "hostile", "never-answers"))
	odd := tool(t, source, "x_odd")
	var done sync.WaitGroup
	for range 50 {
		done.Add(1)
		go func() {
			defer done.Done()
			got, err := odd.Execute(context.Background(), nil)
			if err != nil || got.Status != toolnexus.ErrClosed {
				t.Errorf("a call gave %v, %v", got, err)
			}
		}()
	}
	result(t)(tool(t, source, "x_received").Execute(t.Context(), nil))
	if _, err := toolnexus.Shutdown(60 * time.Second); err != nil {
		t.Error(err)
	}
	done.Wait()
	if got := result(t)(odd.Execute(t.Context(), nil)); got.Status != toolnexus.ErrClosed {
		t.Errorf("after the shutdown a call gave %v", got.Status)
	}
}

// memory that is resident, in bytes.
func memory(t *testing.T) int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("this needs /proc")
	}
	var size, resident int
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * os.Getpagesize()
}

func TestNothingGrows(t *testing.T) {
	if testing.Short() {
		t.Skip("100,000 calls")
	}
	source := load(t, config(t, "tiny"))
	echo := tool(t, source, "x_echo")
	many := func(calls int) {
		var done sync.WaitGroup
		for range 64 {
			done.Add(1)
			go func() {
				defer done.Done()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				for range calls / 64 {
					got, err := echo.Execute(ctx, map[string]string{"text": "some text"})
					if err != nil || got.Output != "some text" {
						t.Errorf("a call gave %v, %v", got, err)
						return
					}
				}
			}()
		}
		done.Wait()
		runtime.GC()
	}
	many(10_000)
	before, routines := memory(t), runtime.NumGoroutine()
	many(100_000)
	if grown := memory(t) - before; grown > 8<<20 {
		t.Errorf("100,000 calls made the memory grow by %d bytes", grown)
	}
	if grown := runtime.NumGoroutine() - routines; grown > 0 {
		t.Errorf("100,000 calls left %d goroutines", grown)
	}
}
