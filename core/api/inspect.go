package api

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/prlx-go/prlx/core/combine"
	"github.com/prlx-go/prlx/core/combine/inspect"
	"github.com/prlx-go/prlx/core/diff/describe"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/tape"
	"github.com/prlx-go/prlx/core/trace/formats"
)

type inspectRequest struct {
	requestLimits
	Paths []traceArg `json:"paths"`

	SkipUnreadable bool `json:"skip_unreadable"`
	Salvage        bool `json:"salvage"`
}

// InspectDocument is prlx.inspect/1: what is in each file.
type InspectDocument struct {
	Schema string        `json:"schema"`
	Files  []InspectFile `json:"files"`
	Notes  []string      `json:"notes"`

	Skipped []combine.Unreadable `json:"skipped,omitempty"` // files that cannot be read and were left out
}

// InspectFile is one file: a trace, clock readings or a recording. Instants are ns since 1970; those of a trace that does not say when it was recorded count from
// its own zero.
type InspectFile struct {
	inspect.File

	Recording *describe.Recording `json:"recording,omitempty"` // of a kernel recording
	Tape      *tape.Description   `json:"tape,omitempty"`      // of a tape of training steps
}

// inspectFiles says what is in recordings and sessions, then in all other files.
func inspectFiles(j *job.Job, r *inspectRequest) (*InspectDocument, error) {
	doc := &InspectDocument{Schema: "prlx.inspect/1", Files: []InspectFile{}, Notes: []string{}}
	var failed []error
	// lookAt inspects one file, or notes that it cannot be read.
	lookAt := func(in traceArg, look func() (*InspectFile, error)) error {
		f, err := look()
		switch {
		case err == nil:
			doc.Files = append(doc.Files, *f)
		case r.SkipUnreadable && combine.IsUnreadable(err):
			failed = append(failed, err)
			u := combine.UnreadableOf(combine.Input(in), err)
			u.Path = in.Path
			doc.Skipped = append(doc.Skipped, u)
		default:
			return err
		}
		return nil
	}
	others, err := kernelInputs(j, r.Paths, lookAt)
	if err != nil {
		return nil, err
	}
	if len(others) > 0 || len(r.Paths) == 0 {
		inputs, notes, err := combine.Expand(j.Context(), inputsOf(others))
		if err != nil {
			return nil, err
		}
		doc.Notes = append(doc.Notes, notes...)
		j.Progress().SetStage("scan")
		j.Progress().SetTotal(combine.OnDisk(inputs))
		for _, in := range inputs {
			if err := lookAt(traceArg(in), func() (*InspectFile, error) { return inspectFile(j, in.Path, r.Salvage) }); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case len(doc.Files) == 0 && len(failed) > 0:
		return nil, failed[0]
	case len(doc.Files) == 0:
		return nil, fault.Usagef("no files are named").WithHint("name traces, clock files or directories")
	}
	return doc, nil
}

// inspectFile says what is in one file. A recording is met here when it comes through a pipe: files are told apart before they are opened.
func inspectFile(j *job.Job, path string, salvage bool) (*InspectFile, error) {
	src, said, err := formats.Open(j.Context(), path, salvage)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	head, err := src.Head(format.HeadBytes)
	if err != nil {
		return nil, err
	}
	switch format.Of(head) {
	case format.Tape:
		f := &InspectFile{File: inspect.Of(path, src)}
		return f, f.tape(j, src)
	case format.Recording:
		f := &InspectFile{File: inspect.Of(path, src)}
		if err := f.recording(j, src, recording.Maps{}); err != nil {
			return nil, fault.Of(err).WithPath(path)
		}
		return f, nil
	}
	f, err := inspect.Read(j, path, src, head, said)
	if err != nil {
		return nil, err
	}
	return &InspectFile{File: *f}, nil
}

// tape describes a tape that is open.
func (f *InspectFile) tape(j *job.Job, src *file.Source) error {
	r, err := tape.Read(src)
	if err != nil {
		return err
	}
	d, err := tape.Describe(j.Context(), r)
	if err != nil {
		return err
	}
	f.Format, f.Tape, f.Events = "prlx-tape", d, &d.Operators
	if d.Ends != "" {
		f.Losses = append(f.Losses, "the tape ends early: "+d.Ends)
	}
	if d.Dropped > 0 {
		f.Losses = append(f.Losses, fmt.Sprintf("%d records did not fit the tape's limit", d.Dropped))
	}
	return nil
}

// kernelInputs inspects the recordings and sessions among the paths; the other paths are for somebody else.
func kernelInputs(j *job.Job, paths []traceArg, lookAt func(traceArg, func() (*InspectFile, error)) error) (others []traceArg, err error) {
	for _, arg := range paths {
		kind, err := recording.Holds(j.Context(), arg.Path)
		if err == nil && kind != "recording" && kind != "session" {
			others = append(others, arg)
			continue
		}
		err = lookAt(arg, func() (f *InspectFile, _ error) {
			switch kind {
			case "recording":
				f, err = inspectRecording(j, arg.Path)
			case "session":
				f, err = inspectSession(j, arg.Path)
			}
			if err != nil {
				return nil, fault.Of(err).WithPath(arg.Path)
			}
			return f, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return others, nil
}

// inspectRecording is the entry of inspect for a recording.
func inspectRecording(j *job.Job, path string) (*InspectFile, error) {
	src, err := file.Open(j.Context(), path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	f := &InspectFile{File: inspect.Of(path, src)}
	return f, f.recording(j, src, recording.Maps{LookIn: filepath.Dir(path)})
}

// recording describes a recording that is open.
func (f *InspectFile) recording(j *job.Job, src *file.Source, maps recording.Maps) error {
	t, err := warptrace.Open(j.Context(), src)
	if err != nil {
		return err
	}
	defer t.Close()
	r, err := recording.Of(j.Context(), t, f.Path, src.DiskSize(), maps)
	if err != nil {
		return err
	}
	doc, err := describe.OfRecording(j.Context(), r)
	if err != nil {
		return err
	}
	f.Format, f.Recording, f.Events = strings.ReplaceAll(doc.Format, " ", "-"), doc, &doc.Events
	f.Losses, f.Warnings = doc.Losses.Notes, doc.Warnings
	return nil
}

// inspectSession is the entry of inspect for a session.
func inspectSession(j *job.Job, path string) (*InspectFile, error) {
	doc, err := describe.OfSession(j, path)
	if err != nil {
		return nil, err
	}
	f := &InspectFile{File: inspect.File{
		Path: path, Format: "session", Counts: map[string]int64{"launches": int64(len(doc.Launches))}, Warnings: doc.Warnings,
	}}
	for i := range doc.Launches {
		l := &doc.Launches[i]
		f.Bytes += l.Bytes
		if l.Problem != "" {
			f.Losses = append(f.Losses, l.File+": "+l.Problem)
		}
	}
	f.DecompressedBytes = f.Bytes
	for _, k := range doc.Kernels {
		f.Kernels = append(f.Kernels, inspect.Kernel{Name: k.Kernel, Count: k.Launches})
	}
	return f, nil
}
