package api

import (
	"path/filepath"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/kernel/describe"
	"github.com/prlx-go/prlx/core/kernel/recording"
	"github.com/prlx-go/prlx/core/kernel/warptrace"
	"github.com/prlx-go/prlx/core/timeline/combine"
	"github.com/prlx-go/prlx/core/timeline/inspect"
)

type inspectRequest struct {
	requestLimits
	Paths []traceArg `json:"paths"`
}

// InspectDocument is prlx.inspect/1: what is in each file.
type InspectDocument struct {
	Schema string        `json:"schema"`
	Files  []InspectFile `json:"files"`
	Notes  []string      `json:"notes"`
}

// InspectFile is one file of either wing. Instants are ns since 1970; those of a trace that does not say when it was recorded count from
// its own zero.
type InspectFile struct {
	inspect.File

	Recording *describe.Recording `json:"recording,omitempty"` // of a kernel recording
}

// inspectFiles says what is in recordings and sessions, then in all other files.
func inspectFiles(j *job.Job, r *inspectRequest) (*InspectDocument, error) {
	kernels, others, err := kernelInputs(j, r.Paths)
	if err != nil {
		return nil, err
	}
	var inputs []combine.Input
	var notes []string
	if len(others) > 0 || len(kernels) == 0 {
		if inputs, notes, err = combine.Expand(j.Context(), inputsOf(others)); err != nil {
			return nil, err
		}
	}
	if len(inputs)+len(kernels) == 0 {
		return nil, fault.Usagef("no files are named").WithHint("name traces, clock files or directories")
	}
	doc := &InspectDocument{Schema: "prlx.inspect/1", Files: []InspectFile{}, Notes: append([]string{}, notes...)}
	doc.Files = append(doc.Files, kernels...)
	for _, in := range inputs {
		f, err := inspectFile(j, in.Path)
		if err != nil {
			return nil, err
		}
		doc.Files = append(doc.Files, *f)
	}
	return doc, nil
}

// inspectFile says what is in one file. A recording is met here when it comes through a pipe: files are told apart before they are opened.
func inspectFile(j *job.Job, path string) (*InspectFile, error) {
	src, err := file.Open(j.Context(), path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	head, err := src.Head(format.HeadBytes)
	if err != nil {
		return nil, err
	}
	if format.Of(head) == format.Recording {
		f := &InspectFile{File: inspect.Of(path, src)}
		if err := f.recording(j, src, recording.Maps{}); err != nil {
			return nil, fault.Of(err).WithPath(path)
		}
		return f, nil
	}
	f, err := inspect.Read(j, path, src, head)
	if err != nil {
		return nil, err
	}
	return &InspectFile{File: *f}, nil
}

// kernelInputs describes the recordings and sessions among the paths of inspect; the other paths are for somebody else.
func kernelInputs(j *job.Job, paths []traceArg) (found []InspectFile, others []traceArg, err error) {
	for _, arg := range paths {
		kind, err := recording.Holds(j.Context(), arg.Path)
		if err != nil {
			return nil, nil, err
		}
		var f *InspectFile
		switch kind {
		case "recording":
			f, err = inspectRecording(j, arg.Path)
		case "session":
			f, err = inspectSession(j, arg.Path)
		default:
			others = append(others, arg)
			continue
		}
		if err != nil {
			return nil, nil, fault.Of(err).WithPath(arg.Path)
		}
		found = append(found, *f)
	}
	return found, others, nil
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
