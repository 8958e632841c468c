package toolnexus

import (
	"encoding/json"
	"fmt"

	"toolnexus/bindings/go/internal/ffi"
)

// Status says how a call ended. Each but [OK] is an error itself, so that errors.Is(err, toolnexus.ErrTimeout) works on
// every error of this package. A status that is not listed here is one of a newer library.
type Status int32

const (
	// OK: it worked. In a result whose error flag is set: the tool ran, and reported failure.
	OK Status = 0

	ErrArgument Status = 1 // an argument is out of range, or names an unknown option
	ErrUTF8     Status = 2 // a string is not valid UTF-8
	ErrJSON     Status = 3 // a string is not the JSON that is wanted there
	ErrHandle   Status = 4 // the object was closed for good
	ErrConfig   Status = 7 // the config as a whole cannot be read
	ErrNotFound Status = 8 // no such tool, server, resource or request

	ErrCancelled Status = 20 // the host cancelled the call
	ErrTimeout   Status = 21 // the call's time-out or deadline has passed
	ErrClosed    Status = 22 // what the call needs was closed, before it or while it ran
	ErrLimit     Status = 23 // a message is larger than the limit

	ErrSpawn     Status = 40 // a server's process could not be started
	ErrTransport Status = 41 // a server is not up, or its connection broke
	ErrProtocol  Status = 42 // a server broke the protocol
	ErrServer    Status = 43 // a server answered with a JSON-RPC error
	ErrAuth      Status = 44 // a server wants an authorization that it did not get

	ErrInternal Status = 90 // a defect in the library; please report it

	errReentrant Status = 5
	errForked    Status = 6
)

// String is the status's name in C, such as TN_E_TIMEOUT.
func (s Status) String() string { return ffi.StatusName(int32(s)) }

// Error is the same as String.
func (s Status) Error() string { return s.String() }

// misuse tells the host's own mistakes from what can happen to any call.
func (s Status) misuse() bool {
	switch s {
	case ErrArgument, ErrUTF8, ErrHandle, errReentrant, errForked, ErrInternal:
		return true
	}
	return false
}

// Error is what this package's functions fail with.
type Error struct {
	Status  Status
	Message string          // for a person: what, where, and what to do
	Phase   string          // of which part of the work, if that is known: "initialize", "call", ...
	Server  string          // of which server, if it is of one
	Data    json.RawMessage // with ErrServer: the server's own error object
	causes  []error         // why the context ended
}

// Error is the message.
func (e *Error) Error() string {
	if len(e.causes) > 0 {
		return fmt.Sprintf("%s: %v", e.Message, e.causes[0])
	}
	return e.Message
}

// Is makes errors.Is(err, toolnexus.ErrTimeout) work.
func (e *Error) Is(target error) bool {
	status, ok := target.(Status)
	return ok && status == e.Status
}

// Unwrap gives why the context ended that ended the call: context.Canceled or context.DeadlineExceeded, and the host's own cause.
func (e *Error) Unwrap() []error { return e.causes }

func wrong(format string, values ...any) *Error {
	return &Error{Status: ErrArgument, Message: fmt.Sprintf(format, values...)}
}

// failure is the error in a failed result.
func failure(view ffi.View) *Error {
	var document struct {
		Error struct {
			Message, Phase, Server string
			Data                   json.RawMessage
		}
	}
	// A document without an error has only its output to say something.
	_ = json.Unmarshal([]byte(view.JSON), &document)
	e := document.Error
	if e.Message == "" {
		e.Message = view.Output
	}
	if e.Message == "" {
		e.Message = Status(view.Status).String()
	}
	return &Error{Status: Status(view.Status), Message: e.Message, Phase: e.Phase, Server: e.Server, Data: e.Data}
}
