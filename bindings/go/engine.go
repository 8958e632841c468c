package toolnexus

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"toolnexus/bindings/go/internal/ffi"
)

// queue is a queue of the library that one goroutine reads. Between events it waits in Go's poller, not in a thread.
type queue struct {
	handle ffi.Handle
	file   *os.File
	gone   chan struct{} // closed once it was read to its end and freed
}

// readers are the goroutines of queues that have not ended.
var readers sync.WaitGroup

// newQueue calls handle for each event, in order. The event's result is handle's to free.
func newQueue(handle func(ffi.Event)) (*queue, error) {
	q := &queue{handle: ffi.NewQueue(), gone: make(chan struct{})}
	fd := ffi.QueueFD(q.handle)
	if fd < 0 {
		ffi.Free(q.handle)
		return nil, &Error{Status: ErrInternal, Message: "the library's queue has no socket: this process may have no file descriptors left, or was forked"}
	}
	q.file = os.NewFile(uintptr(fd), "toolnexus queue")
	readers.Add(1)
	go func() {
		defer readers.Done()
		defer close(q.gone)
		q.read(handle)
	}()
	return q, nil
}

func (q *queue) read(handle func(ffi.Event)) {
	var bytes [256]byte
	var events [64]ffi.Event
	for {
		// The end of the file says that the queue is gone; then so does taking.
		_, _ = q.file.Read(bytes[:])
		count, status := ffi.Take(q.handle, events[:])
		for ; count > 0; count, status = ffi.Take(q.handle, events[:]) {
			for _, event := range events[:count] {
				handle(event)
			}
		}
		if Status(status) != OK {
			break
		}
	}
	q.file.Close()
	ffi.Free(q.handle)
}

// call is one that waits for its completion.
type call struct {
	done     chan ffi.Handle
	progress chan struct{} // something is in reports; nil unless the host wants progress
	mu       sync.Mutex
	reports  []ffi.Handle
}

var engine struct {
	mu       sync.Mutex
	checked  bool
	refused  error // why the library cannot be used
	pump     *queue
	pending  map[uint64]*call
	last     uint64
	channels sync.Pool
}

// start checks the library, once.
func start() error {
	engine.mu.Lock()
	defer engine.mu.Unlock()
	return startLocked()
}

func startLocked() error {
	if !engine.checked {
		engine.checked = true
		engine.pending = map[uint64]*call{}
		if err := ffi.Open(); err != nil {
			engine.refused = wrong("%v", err)
		} else {
			engine.refused = checkVersion(ffi.Version())
		}
	}
	return engine.refused
}

// checkVersion: the majors must be equal, and the library's minor at least the header's.
func checkVersion(found, wanted uint32, path string) error {
	if found>>16 == wanted>>16 && found >= wanted {
		return nil
	}
	return wrong("toolnexus: found version %d.%d of the library's ABI where %d.%d or a later %d.x is wanted, in %s",
		found>>16, found&0xffff, wanted>>16, wanted&0xffff, wanted>>16, path)
}

// currentPump is the queue in which calls complete.
func currentPump() (ffi.Handle, error) {
	engine.mu.Lock()
	defer engine.mu.Unlock()
	return pumpLocked()
}

func pumpLocked() (ffi.Handle, error) {
	if err := startLocked(); err != nil {
		return 0, err
	}
	if engine.pump != nil {
		select {
		case <-engine.pump.gone: // a Shutdown ended it
			engine.pump = nil
		default:
			return engine.pump.handle, nil
		}
	}
	pump, err := newQueue(complete)
	if err != nil {
		return 0, err
	}
	engine.pump = pump
	return pump.handle, nil
}

// enter makes a call known and says in which queue it completes.
func enter(c *call) (uint64, ffi.Handle, error) {
	engine.mu.Lock()
	defer engine.mu.Unlock()
	pump, err := pumpLocked()
	if err != nil {
		return 0, 0, err
	}
	engine.last++
	engine.pending[engine.last] = c
	return engine.last, pump, nil
}

func leave(id uint64) *call {
	engine.mu.Lock()
	defer engine.mu.Unlock()
	c := engine.pending[id]
	delete(engine.pending, id)
	return c
}

// complete hands what the pump reads to the calls that wait for it.
func complete(event ffi.Event) {
	result := event.Result
	switch event.Kind {
	case ffi.Done:
		if c := leave(event.ID); c != nil {
			c.done <- result
			return
		}
	case ffi.Notice:
		engine.mu.Lock()
		c := engine.pending[event.ID]
		engine.mu.Unlock()
		if c != nil && c.progress != nil {
			c.mu.Lock()
			c.reports = append(c.reports, result)
			c.mu.Unlock()
			select {
			case c.progress <- struct{}{}:
			default:
			}
			return
		}
	}
	ffi.Free(result)
}

// Progress is what a server says of a call under way.
type Progress struct {
	Progress float64
	Total    float64 // 0 if it is not known
	Message  string
}

// CallOption sets the limits of one call, or asks for its progress.
type CallOption func(*callOptions)

type callOptions struct {
	idle, deadline uint32
	progress       func(Progress)
}

// WithTimeout is how long a call may be silent; each progress notification starts the time anew. The default is the server's
// callTimeout. Unlike the end of the context, which is the host's, it ends the call with a [Result] whose status is [ErrTimeout].
func WithTimeout(idle time.Duration) CallOption {
	return func(o *callOptions) { o.idle = milliseconds(idle) }
}

// WithDeadline is how long a call may take in all, progress or not; the default is one hour. As [WithTimeout], it ends the call with
// a [Result].
func WithDeadline(total time.Duration) CallOption {
	return func(o *callOptions) { o.deadline = milliseconds(total) }
}

// WithProgress has report called for each progress notification of the call, in order, in the goroutine that waits for it.
func WithProgress(report func(Progress)) CallOption {
	return func(o *callOptions) { o.progress = report }
}

// milliseconds rounds up: no time is none only if it was given as none.
func milliseconds(d time.Duration) uint32 {
	ms := (d + time.Millisecond - 1) / time.Millisecond
	return uint32(min(max(ms, 0), 1<<32-1))
}

// run submits a call and waits for its result, which is the caller's to free. When ctx ends the call is cancelled, and then
// waited for: the library answers within milliseconds, and what it started is gone by then.
func run(ctx context.Context, options []CallOption, submit func(ffi.Target) int32) (ffi.Handle, error) {
	if ctx.Err() != nil {
		return 0, cancelled(ctx)
	}
	var o callOptions
	for _, option := range options {
		option(&o)
	}
	c := &call{}
	if channel, ok := engine.channels.Get().(chan ffi.Handle); ok {
		c.done = channel
	} else {
		c.done = make(chan ffi.Handle, 1)
	}
	if o.progress != nil {
		c.progress = make(chan struct{}, 1)
	}
	id, pump, err := enter(c)
	if err != nil {
		return 0, err
	}
	target := ffi.Target{Queue: pump, ID: id}
	if ctx.Done() != nil || len(options) > 0 {
		var progress ffi.Handle
		if o.progress != nil {
			progress = pump
		}
		target.Context = ffi.NewContext(o.idle, o.deadline, progress, id)
		defer ffi.Free(target.Context)
	}
	if status := Status(submit(target)); status != OK {
		leave(id)
		return 0, &Error{Status: status, Message: fmt.Sprintf("the call was not accepted: %v", status)}
	}
	result := c.wait(ctx, target, o.progress)
	engine.channels.Put(c.done)
	return result, nil
}

func (c *call) wait(ctx context.Context, target ffi.Target, report func(Progress)) (result ffi.Handle) {
	finished := false
	if report != nil {
		defer func() {
			if !finished { // report panicked, and nobody will wait any more
				ffi.ContextCancel(target.Context)
				if result == 0 {
					result = <-c.done
				}
				ffi.Free(result)
			}
			c.tell(nil)
		}()
	}
	for result == 0 {
		select {
		case result = <-c.done:
			c.tell(report)
		case <-c.progress:
			c.tell(report)
		case <-ctx.Done():
			ffi.ContextCancel(target.Context)
			result = <-c.done
		}
	}
	finished = true
	return result
}

// tell hands on the progress that has come, or drops it.
func (c *call) tell(report func(Progress)) {
	for c.progress != nil {
		c.mu.Lock()
		if len(c.reports) == 0 {
			c.mu.Unlock()
			return
		}
		first := c.reports[0]
		c.reports = c.reports[1:]
		c.mu.Unlock()
		view := ffi.Read(first, true)
		var progress Progress
		if report != nil && json.Unmarshal([]byte(view.JSON), &progress) == nil {
			report(progress)
		}
	}
}

// cancelled is the error of a call whose context has ended.
func cancelled(ctx context.Context) error {
	return &Error{Status: ErrCancelled, Message: "the call was cancelled", causes: []error{context.Cause(ctx), ctx.Err()}}
}

// Shutdown is for tests and the end of main: it closes every source (calls under way end as closed) and stops the library's
// threads. It says how many references still live, by kind; none means that nothing leaked. Objects that are not closed but
// unreachable count until the garbage collector has found them. A later call starts the library anew; the log
// goes to standard error then, until [SetLogger] is called again.
func Shutdown(timeout time.Duration) (map[string]int, error) {
	if err := start(); err != nil {
		return nil, err
	}
	view := ffi.Read(ffi.Shutdown(milliseconds(timeout)), true)
	if view.IsError {
		return nil, failure(view)
	}
	readers.Wait() // every queue has ended with it
	view = ffi.Read(ffi.Shutdown(milliseconds(timeout)), true)
	if view.IsError {
		return nil, failure(view)
	}
	var document struct{ Live map[string]int }
	err := json.Unmarshal([]byte(view.JSON), &document)
	return document.Live, err
}

// Version of the library that is loaded, such as "0.1.0".
func Version() (string, error) {
	if err := start(); err != nil {
		return "", err
	}
	return ffi.LibraryVersion(), nil
}
