package api

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/safe"
)

// The first byte of a reply says what the rest of it is.
const (
	replyDocument = 0 // the operation's JSON document
	replyError    = 1 // an Envelope
)

// Envelope is an error on its way out of the core.
type Envelope struct {
	Kind    fault.Kind `json:"kind"`
	Message string     `json:"message"`          // what was found, what was expected; without the place
	Hint    string     `json:"hint,omitempty"`   // what the user can do
	Path    string     `json:"path,omitempty"`   // the file concerned
	Offset  *int64     `json:"offset,omitempty"` // byte offset in the decompressed file
	Line    int        `json:"line,omitempty"`   // 1-based line of a line-oriented file
	Stack   string     `json:"stack,omitempty"`  // Go stack of a panic
}

const bugHint = "this is a bug of prlx, not of your data: please report it with this text and the input"

// envelope describes err for the outside. What was wrapped around a fault stays in the message; its place is told apart.
func envelope(err error) Envelope {
	f := fault.Of(err)
	e := Envelope{Kind: f.Kind, Message: f.Msg, Hint: f.Hint, Path: f.Path, Line: f.Line}
	if around, ok := strings.CutSuffix(err.Error(), f.Error()); ok {
		e.Message = around + f.Msg
	}
	if f.Offset >= 0 {
		e.Offset = &f.Offset
	}
	var caught *safe.PanicError
	if errors.As(err, &caught) {
		e.Kind, e.Message, e.Stack = fault.Internal, caught.Error(), string(caught.Stack)
	}
	if e.Kind == fault.Internal && e.Hint == "" {
		e.Hint = bugHint
	}
	return e
}

// reply packs a document or an error.
func reply(doc []byte, err error) []byte {
	if err == nil {
		return append([]byte{replyDocument}, doc...)
	}
	b, marshalErr := json.Marshal(envelope(err))
	if marshalErr != nil { // an Envelope holds nothing that cannot be marshalled
		panic(marshalErr)
	}
	return append([]byte{replyError}, b...)
}
