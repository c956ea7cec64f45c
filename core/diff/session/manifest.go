package session

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/origin"
)

// Bounds on what a manifest may claim. A launch takes about 200 bytes of it.
const (
	maxManifest = 256 << 20
	maxLaunches = 1 << 20
	maxName     = 64 << 10 // bytes of a kernel's name, a file's name, a hash
)

// entry is one launch in the manifest; pointers tell what is missing from what is 0.
type entry struct {
	Launch         *uint64        `json:"launch,omitempty"`
	Kernel         *string        `json:"kernel"`
	File           *string        `json:"file"`
	Grid           []uint32       `json:"grid,omitempty"`
	Block          []uint32       `json:"block,omitempty"`
	ArgumentDigest string         `json:"argument_digest,omitempty"`
	ModuleHash     string         `json:"module_hash,omitempty"`
	Stream         string         `json:"stream,omitempty"`
	Status         string         `json:"status,omitempty"`
	Origin         *origin.Origin `json:"origin,omitempty"` // where a compiler of graphs made the kernel
	Fidelity       *Fidelity      `json:"fidelity,omitempty"`
}

// Spellings of status.
const (
	statusComplete = "complete"
	statusPartial  = "partial"
)

// manifestReader goes through a manifest once, launch by launch.
type manifestReader struct {
	path string
	d    *json.Decoder
	s    *Session
}

func (r *manifestReader) wrong(err error, format string, args ...any) error {
	return fault.Formatf(r.path, r.d.InputOffset(), "session manifest: "+format, args...).Wrap(err).
		WithHint("expected an array of {launch, kernel, file, grid, block}, or an object of schema %s", schemaName)
}

func (s *Session) readManifest(ctx context.Context, root *os.Root) error {
	f, err := root.Open(ManifestName)
	if err != nil {
		return fault.FromIO(s.manifestPath(), err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fault.FromIO(s.manifestPath(), err)
	}
	if info.Size() > maxManifest {
		return fault.New(fault.Limit, "the session manifest has %d bytes, at most %d are read", info.Size(), maxManifest).WithPath(s.manifestPath())
	}
	s.Manifest = true
	return s.parseManifest(ctx, s.manifestPath(), io.LimitReader(f, maxManifest))
}

func (s *Session) parseManifest(ctx context.Context, path string, in io.Reader) error {
	r := &manifestReader{path: path, d: json.NewDecoder(bufio.NewReader(in)), s: s}
	start, err := r.d.Token()
	switch {
	case err == nil && start == json.Delim('['):
		s.Described = true
		err = r.launches(ctx)
	case err == nil && start == json.Delim('{'):
		err = r.object(ctx)
	default:
		return r.wrong(err, "neither an array nor an object")
	}
	if err != nil {
		return err
	}
	if _, err := r.d.Token(); err != io.EOF {
		return r.wrong(err, "more than one JSON value")
	}
	return nil
}

// object reads prlx.session/1. Fields that this version does not know are passed over.
func (r *manifestReader) object(ctx context.Context) error {
	var schema, status string
	seen := false
	for r.d.More() {
		key, err := r.d.Token()
		if err != nil {
			return r.wrong(err, "%v", err)
		}
		switch key {
		case "schema":
			err = r.d.Decode(&schema)
		case "producer":
			err = r.d.Decode(&r.s.Producer)
		case "status":
			err = r.d.Decode(&status)
		case "launches":
			if seen {
				return r.wrong(nil, "launches are given twice")
			}
			seen = true
			if start, tokenErr := r.d.Token(); tokenErr != nil || start != json.Delim('[') {
				return r.wrong(tokenErr, "launches are not an array")
			}
			if err := r.launches(ctx); err != nil {
				return err
			}
		default:
			var skipped json.RawMessage
			err = r.d.Decode(&skipped)
		}
		if err != nil {
			return r.wrong(err, "%v: %v", key, err)
		}
	}
	if _, err := r.d.Token(); err != nil {
		return r.wrong(err, "the object does not end")
	}
	switch {
	case schema != schemaName:
		return r.wrong(nil, "schema is %q, expected %q", schema, schemaName)
	case !seen:
		return r.wrong(nil, "there are no launches")
	case status != "" && status != statusComplete && status != statusPartial:
		r.s.Warnings = append(r.s.Warnings, fmt.Sprintf("the manifest's status is %q, which is not known", status))
	}
	r.s.Partial = status == statusPartial
	return nil
}

// launches reads the elements of an array whose bracket has been read, and the bracket that closes it.
func (r *manifestReader) launches(ctx context.Context) error {
	for r.d.More() {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := len(r.s.Launches)
		if n == maxLaunches {
			return fault.New(fault.Limit, "session manifest: more than %d launches", maxLaunches).WithPath(r.path)
		}
		var e entry
		if err := r.d.Decode(&e); err != nil {
			return r.wrong(err, "launch %d of the list: %s", n, reason(err))
		}
		l, err := e.launch(n, r.s.Described)
		if err != nil {
			return r.wrong(err, "launch %d of the list: %v", n, err)
		}
		r.s.Launches = append(r.s.Launches, l)
	}
	if _, err := r.d.Token(); err != nil {
		return r.wrong(err, "the array of launches does not end")
	}
	return nil
}

// reason says what does not fit in a reader's words rather than in those of Go's types.
func reason(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Sprintf("%s is a %s", wrong.Field, wrong.Value)
	}
	return err.Error()
}

// launch checks an entry. Original prlx 0.5 demands all five of its fields, so its form must have them.
func (e *entry) launch(position int, described bool) (Launch, error) {
	l := Launch{Number: uint64(position), ModuleHash: e.ModuleHash, Stream: e.Stream, Partial: e.Status == statusPartial}
	switch {
	case e.Kernel == nil:
		return l, errors.New("kernel is missing")
	case e.File == nil:
		return l, errors.New("file is missing")
	case described && e.Launch == nil:
		return l, errors.New("launch is missing")
	case described && *e.Launch > 1<<32-1:
		return l, fmt.Errorf("launch is %d, more than 32 bits", *e.Launch)
	case max(len(*e.Kernel), len(*e.File), len(e.ModuleHash), len(e.Stream)) > maxName:
		return l, fmt.Errorf("a name is longer than %d bytes", maxName)
	}
	if err := e.Origin.Check(); err != nil {
		return l, err
	}
	if err := e.Fidelity.Check(); err != nil {
		return l, err
	}
	l.Kernel, l.File, l.Origin, l.Fidelity = *e.Kernel, *e.File, e.Origin, e.Fidelity
	if e.Launch != nil {
		l.Number = *e.Launch
	}
	if err := dimensions("grid", e.Grid, described, &l.Grid); err != nil {
		return l, err
	}
	if err := dimensions("block", e.Block, described, &l.Block); err != nil {
		return l, err
	}
	if e.ArgumentDigest != "" {
		n, err := strconv.ParseUint(e.ArgumentDigest, 0, 64)
		if err != nil {
			return l, fmt.Errorf("argument_digest is %.40q, expected a number of 64 bits such as \"0x0123456789abcdef\"", e.ArgumentDigest)
		}
		l.ArgumentDigest = n
	}
	return l, nil
}

func dimensions(what string, from []uint32, needed bool, to *[3]uint32) error {
	if from == nil && !needed {
		return nil
	}
	if len(from) != 3 {
		return fmt.Errorf("%s has %d numbers, expected 3", what, len(from))
	}
	*to = [3]uint32(from)
	return nil
}

// Manifest is prlx.session/1: which launches a session holds, in their order.
type Manifest struct {
	Schema   string  `json:"schema"`
	Producer string  `json:"producer,omitempty"`
	Status   string  `json:"status"` // complete, or partial: recording did not come to its end
	Launches []entry `json:"launches"`
}

// WriteManifest writes prlx.session/1.
func WriteManifest(w io.Writer, s *Session) error {
	m := Manifest{Schema: schemaName, Producer: s.Producer, Status: statusOf(s.Partial), Launches: make([]entry, len(s.Launches))}
	for i := range s.Launches {
		l := &s.Launches[i]
		e := entry{
			Launch: &l.Number, Kernel: &l.Kernel, File: &l.File, Grid: l.Grid[:], Block: l.Block[:],
			ModuleHash: l.ModuleHash, Stream: l.Stream, Status: statusOf(l.Partial), Origin: l.Origin, Fidelity: l.Fidelity,
		}
		if l.ArgumentDigest != 0 {
			e.ArgumentDigest = digestText(l.ArgumentDigest)
		}
		m.Launches[i] = e
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", " ")
	return out.Encode(&m)
}

func statusOf(partial bool) string {
	if partial {
		return statusPartial
	}
	return statusComplete
}

// digestText is how documents spell a digest; "" for none.
func digestText(digest uint64) string {
	if digest == 0 {
		return ""
	}
	return fmt.Sprintf("0x%016x", digest)
}
