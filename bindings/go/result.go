package toolnexus

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"

	"toolnexus/bindings/go/internal/ffi"
)

// Result is what a tool said, or why it could not. Hand Output to the model, whatever the rest is.
type Result struct {
	Output  string // the text for the model; of a call that failed, the message
	IsError bool   // the call failed, or the tool ran and reported failure; then Status is OK
	Status  Status // why the call failed

	view     ffi.View
	parse    sync.Once
	document resultDocument
}

type resultDocument struct {
	Metadata   json.RawMessage
	Structured json.RawMessage
	Content    json.RawMessage
	Contents   json.RawMessage
	Parts      []Part
}

// Part is what is not text.
type Part struct {
	Type     string `json:"type"` // "image", "audio" or "file"
	MimeType string `json:"mimeType,omitempty"`
	Name     string `json:"name,omitempty"`
	URL      string `json:"url,omitempty"`
	Base64   string `json:"data,omitempty"`
	Index    *int   `json:"content,omitempty"` // which element of Content it is
}

// Bytes decodes the data, with or without padding.
func (p Part) Bytes() ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(p.Base64, "="))
}

func newResult(view ffi.View) *Result {
	return &Result{Output: view.Output, IsError: view.IsError, Status: Status(view.Status), view: view}
}

// Err is nil, or the error of a call that failed. That a tool ran and reported failure is no error: see IsError.
func (r *Result) Err() error {
	if r.Status == OK {
		return nil
	}
	return failure(r.view)
}

// JSON is the whole document, as the C library has it.
func (r *Result) JSON() json.RawMessage { return json.RawMessage(r.view.JSON) }

// Metadata is the server, the tool and how long it took; of a host's tool, what that said.
func (r *Result) Metadata() json.RawMessage { return r.read().Metadata }

// Structured is the server's structuredContent, byte for byte; nil if there is none.
func (r *Result) Structured() json.RawMessage { return r.read().Structured }

// Content is the server's own list of content, byte for byte.
func (r *Result) Content() json.RawMessage { return r.read().Content }

// Parts is what is not text, with its data.
func (r *Result) Parts() []Part { return r.read().Parts }

func (r *Result) read() *resultDocument {
	r.parse.Do(func() {
		d := &r.document
		if json.Unmarshal([]byte(r.view.JSON), d) != nil || len(d.Parts) == 0 {
			return
		}
		source := d.Content
		if source == nil {
			source = d.Contents // a resource that was read
		}
		var elements []json.RawMessage
		_ = json.Unmarshal(source, &elements) // a host's tool has none
		for i := range d.Parts {
			d.Parts[i].fill(elements)
		}
	})
	return &r.document
}

// fill takes the data from the element that the part points at.
func (p *Part) fill(elements []json.RawMessage) {
	if p.Index == nil || *p.Index < 0 || *p.Index >= len(elements) {
		return
	}
	var element struct {
		Data, Blob string
		Resource   struct{ Blob string }
	}
	// An element of another shape, such as a link, has no data.
	_ = json.Unmarshal(elements[*p.Index], &element)
	p.Base64 = element.Data + element.Blob + element.Resource.Blob
}

// local is a result that was made here.
func local(status Status, output Output) *Result {
	type complaint struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Phase   string `json:"phase"`
	}
	document := struct {
		Output
		Error *complaint `json:"error,omitempty"`
	}{Output: output}
	if status != OK {
		document.Error = &complaint{strings.ToLower(strings.TrimPrefix(status.String(), "TN_E_")), output.Text, "call"}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil { // only its metadata can be the reason
		return local(OK, Output{Text: "the tool's metadata is not JSON: " + err.Error(), IsError: true})
	}
	return newResult(ffi.View{Output: output.Text, JSON: strings.TrimSuffix(text.String(), "\n"), Status: int32(status), IsError: output.IsError})
}
