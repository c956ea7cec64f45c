// Package fault holds the typed error that crosses the boundary: what went wrong, where, and what to do about it.
//
// Every error a user can cause carries a Kind, which decides the Python exception and the exit code, and, where known, the
// path, the byte offset or line, and a hint. Errors that carry no fault are internal: bugs of prlx.
package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/BurntSushi/toml"
)

// Kind is the class of an error; it decides the exception type and the exit code.
type Kind string

// The kinds, with the exit code of the command line behind each.
const (
	Usage        Kind = "usage"        // 2: the request itself is wrong
	Format       Kind = "format"       // 3: an input is not what it should be: truncated, corrupt, of another format
	IO           Kind = "io"           // 3: the file system refused (missing, unreadable, disk full)
	Limit        Kind = "limit"        // 3: an input exceeds a stated limit
	Memory       Kind = "memory"       // 3: an array of the caller whose memory cannot be accessed
	Incompatible Kind = "incompatible" // 4: inputs that do not belong together
	Alignment    Kind = "alignment"    // 4: clocks cannot be aligned as asked
	Partial      Kind = "partial"      // 5: only a partial result, and strict was asked for
	Internal     Kind = "internal"     // 70: a bug of prlx
	Cancelled    Kind = "cancelled"    // 130: the caller stopped the job
)

// Unknown is the Offset of an error that has no place in a file.
const Unknown = int64(-1)

// Error is an error with its kind and its place.
type Error struct {
	Kind   Kind
	Path   string // the file concerned, "" when none
	Offset int64  // byte offset in the decompressed file, Unknown when not known
	Line   int    // 1-based line of a line-oriented file, 0 when not known
	Msg    string // what was found and what was expected
	Hint   string // what the user can do, "" when nothing
	Err    error  // the cause, nil when there is none
}

// New returns an error of a kind without a place.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Offset: Unknown, Msg: fmt.Sprintf(format, args...)}
}

// Formatf returns a Format error at a byte offset of a file.
func Formatf(path string, offset int64, format string, args ...any) *Error {
	return &Error{Kind: Format, Path: path, Offset: offset, Msg: fmt.Sprintf(format, args...)}
}

// Linef returns a Format error at a line (1-based) of a file.
func Linef(path string, line int, format string, args ...any) *Error {
	return &Error{Kind: Format, Path: path, Offset: Unknown, Line: line, Msg: fmt.Sprintf(format, args...)}
}

// Usagef returns a Usage error.
func Usagef(format string, args ...any) *Error { return New(Usage, format, args...) }

// FromIO wraps an error of the file system with the path it concerns and the cure it suggests.
func FromIO(path string, err error) *Error {
	var already *Error
	if errors.As(err, &already) {
		return already
	}
	if errors.Is(err, context.Canceled) {
		return &Error{Kind: Cancelled, Offset: Unknown, Msg: "cancelled", Err: err}
	}
	e := &Error{Kind: IO, Path: path, Offset: Unknown, Msg: describeIO(err), Err: err}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		e.Hint = "free some space or write elsewhere with -o; nothing was left behind"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		e.Hint = "every input stays open while it is read: raise the limit of open files, for instance ulimit -n 4096"
	case errors.Is(err, fs.ErrExist):
		e.Hint = "choose another output or pass --overwrite"
	}
	return e
}

func describeIO(err error) string {
	var perr *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file or directory"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, fs.ErrExist):
		return "already exists"
	case errors.Is(err, syscall.ENOSPC):
		return "no space left on device"
	case errors.As(err, &perr):
		return perr.Op + ": " + perr.Err.Error()
	}
	return err.Error()
}

// FromTOML is the error of text that is not TOML: where, and what the parser expected. what says what was expected of the file, "not TOML".
func FromTOML(path, what string, err error) *Error {
	var wrong toml.ParseError
	if !errors.As(err, &wrong) {
		return Formatf(path, Unknown, "%s: %v", what, err)
	}
	return Linef(path, wrong.Position.Line, "%s: %s", what, strings.ReplaceAll(wrong.Message, `'\x00'`, "the end of the file"))
}

// WithHint sets what the user can do and returns the error.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// WithPath sets the file concerned, unless one is set, and returns the error.
func (e *Error) WithPath(path string) *Error {
	if e.Path == "" {
		e.Path = path
	}
	return e
}

// Wrap sets the cause and returns the error.
func (e *Error) Wrap(err error) *Error {
	e.Err = err
	return e
}

// Error implements error: place, message; the hint is left to whoever renders it.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
		}
		b.WriteString(": ")
	} else if e.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	b.WriteString(e.Msg)
	if e.Offset >= 0 {
		fmt.Fprintf(&b, " (at byte %d)", e.Offset)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Of finds the Error in a chain. A cancelled context becomes Cancelled, a file system error IO, anything else Internal.
// Of(nil) is nil.
func Of(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &Error{Kind: Cancelled, Offset: Unknown, Msg: "cancelled", Err: err}
	}
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return FromIO(perr.Path, err)
	}
	if errors.Is(err, syscall.ENOSPC) {
		return FromIO("", err)
	}
	return &Error{Kind: Internal, Offset: Unknown, Msg: err.Error(), Err: err}
}

// Is reports whether err is, or wraps, an Error of the kind.
func Is(err error, kind Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}
