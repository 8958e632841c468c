package toolnexus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"toolnexus/bindings/go/internal/ffi"
)

// Request is what a server asks of the host.
type Request struct {
	Server    string          `json:"server"`
	Kind      string          `json:"kind"` // "input" (a form), "url" (to be opened by a person), "sampling", "oauth", ...
	Prompt    string          `json:"prompt"`
	URL       string          `json:"url"`
	Tool      string          `json:"tool"`   // whose call asks, if that is known
	Params    json.RawMessage `json:"params"` // as received
	Data      json.RawMessage `json:"data"`   // for "input": {"schema":{...}}
	ExpiresAt string          `json:"expiresAt"`
}

// Schema is what the answer to a form must be like.
func (r *Request) Schema() json.RawMessage {
	var data struct{ Schema json.RawMessage }
	_ = json.Unmarshal(r.Data, &data) // another kind of request has none
	return data.Schema
}

// Answer is [Accept], [Decline] or [Cancel].
type Answer struct {
	ok     bool
	reason string
	data   any
}

// Accept answers with what was asked for: for a form an object that fits the schema (its defaults are filled in), for a URL nil,
// for sampling the message of the model, for oauth {"url": where the browser came back}.
func Accept(data any) Answer { return Answer{ok: true, data: data} }

// Decline says that the person does not want to.
func Decline() Answer { return Answer{reason: "declined"} }

// Cancel says that the person has not decided.
func Cancel() Answer { return Answer{reason: "cancelled"} }

// Handler answers a server. It runs in a goroutine of its own; ctx ends when the question is no longer wanted. If it returns an
// error or panics, or if its answer does not fit, the question is cancelled and log/slog's default logger says why.
type Handler func(ctx context.Context, request *Request) (Answer, error)

// Notice is something that happened: Kind is "tools_changed", "resources_changed", "prompts_changed", "resource_updated",
// "server_log" or "server"; JSON has the rest. Ignore kinds that you do not know.
type Notice struct {
	Kind   string          `json:"kind"`
	Server string          `json:"server"`
	JSON   json.RawMessage `json:"-"`
}

// events serves the queue of one source. It must not know the source, which would then never be garbage.
type events struct {
	handlers map[string]Handler
	other    Handler
	notices  *serial
	context  context.Context // of all handlers
	mu       sync.Mutex
	open     map[uint64]context.CancelFunc
}

// listen makes the queue; it is nil for a host that hears nothing.
func listen(o *options) (*queue, error) {
	if !o.hears() {
		return nil, nil
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	e := &events{
		handlers: map[string]Handler{"input": o.elicit, "url": o.elicit, "sampling": o.sample},
		other:    o.other, context: ctx, open: map[uint64]context.CancelFunc{},
	}
	if o.notice != nil {
		e.notices = &serial{handle: o.notice}
	}
	q, err := newQueue(e.handle)
	if err != nil {
		cancel(err)
		return nil, err
	}
	go func() {
		<-q.gone
		cancel(ErrClosed)
	}()
	return q, nil
}

func (e *events) handle(event ffi.Event) {
	view := ffi.Read(event.Result, true)
	switch event.Kind {
	case ffi.Request:
		ctx, cancel := context.WithCancel(e.context)
		e.mu.Lock()
		e.open[event.ID] = cancel
		e.mu.Unlock()
		go e.serve(ctx, event.ID, []byte(view.JSON))
	case ffi.Cancel:
		e.forget(event.ID)
	case ffi.Notice:
		notice := Notice{JSON: json.RawMessage(view.JSON)}
		if e.notices != nil && json.Unmarshal(notice.JSON, &notice) == nil {
			e.notices.add(notice)
		}
	}
}

func (e *events) forget(id uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if cancel := e.open[id]; cancel != nil {
		cancel()
	}
	delete(e.open, id)
}

func (e *events) serve(ctx context.Context, id uint64, document []byte) {
	defer e.forget(id)
	err := errors.New("the handler ended its goroutine")
	defer func() { // also if it did
		if err != nil {
			slog.Warn("toolnexus: a server's request was cancelled", "reason", err)
			ffi.Free(ffi.Answer(id, ffi.CString(`{"ok":false,"reason":"cancelled"}`)))
		}
	}()
	err = e.answer(ctx, id, document)
}

// answer asks the host, and says what is wrong with its answer.
func (e *events) answer(ctx context.Context, id uint64, document []byte) (err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("the handler panicked: %v", problem)
		}
	}()
	var request Request
	if err := json.Unmarshal(document, &request); err != nil {
		return err
	}
	handler := e.handlers[request.Kind]
	if handler == nil {
		handler = e.other
	}
	answer := Cancel()
	if handler != nil {
		answer, err = handler(ctx, &request)
	}
	if err != nil {
		return fmt.Errorf("the handler failed: %w", err)
	}
	text, err := answer.text()
	if err != nil {
		return fmt.Errorf("the handler's answer cannot be made JSON: %w", err)
	}
	view := ffi.Read(ffi.Answer(id, ffi.CString(text)), true)
	if view.IsError && Status(view.Status) != ErrNotFound { // not found: it is no longer wanted
		return failure(view)
	}
	return nil
}

func (a Answer) text() ([]byte, error) {
	document := map[string]any{"ok": a.ok}
	if a.ok && a.data != nil {
		document["data"] = a.data
	}
	if !a.ok {
		document["reason"] = a.reason
	}
	return json.Marshal(document)
}

// serial calls a function for one notice after the other, so that a slow one holds up nothing else.
type serial struct {
	handle  func(Notice)
	mu      sync.Mutex
	waiting []Notice
	running bool
}

func (s *serial) add(notice Notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, notice)
	if !s.running {
		s.running = true
		go s.run()
	}
}

func (s *serial) run() {
	for {
		s.mu.Lock()
		if len(s.waiting) == 0 {
			s.running = false
			s.mu.Unlock()
			return
		}
		first := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.mu.Unlock()
		s.call(first)
	}
}

// call survives a host that panics: one bad notice must not end the process.
func (s *serial) call(notice Notice) {
	defer func() {
		if problem := recover(); problem != nil {
			slog.Warn("toolnexus: the handler of notices panicked", "kind", notice.Kind, "reason", problem)
		}
	}()
	s.handle(notice)
}

var logQueue struct {
	mu    sync.Mutex
	queue *queue
}

// SetLogger sends the library's log to a logger. Without one, warnings and errors go to standard error; nil goes back to that.
func SetLogger(logger *slog.Logger) error {
	if err := start(); err != nil {
		return err
	}
	logQueue.mu.Lock()
	defer logQueue.mu.Unlock()
	earlier := logQueue.queue
	logQueue.queue = nil
	if logger == nil {
		ffi.LogToStderr()
	} else {
		q, err := newQueue(func(event ffi.Event) { logRecord(logger, ffi.Read(event.Result, true)) })
		if err != nil {
			return err
		}
		ffi.LogToQueue(logLevel(logger), q.handle)
		logQueue.queue = q
	}
	if earlier != nil {
		ffi.CloseQueue(earlier.handle)
	}
	return nil
}

var slogLevels = []slog.Level{slog.LevelError, slog.LevelWarn, slog.LevelInfo, slog.LevelDebug, slog.LevelDebug - 4}

// logLevel is the least important level that the logger wants.
func logLevel(logger *slog.Logger) (level int32) {
	for i, one := range slogLevels {
		if logger.Enabled(context.Background(), one) {
			level = int32(i) + 1
		}
	}
	return level
}

func logRecord(logger *slog.Logger, view ffi.View) {
	var record struct {
		Level           int
		Target, Message string
	}
	if json.Unmarshal([]byte(view.JSON), &record) == nil && record.Level >= 1 && record.Level <= len(slogLevels) {
		logger.Log(context.Background(), slogLevels[record.Level-1], record.Message, "target", record.Target)
	}
}
