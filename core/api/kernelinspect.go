package api

import (
	"path/filepath"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/kernel/recording"
	"github.com/prlx-go/prlx/core/kernel/warptrace"
)

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
	f := inspectedFile(path, src)
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
	doc, err := describe(j, r)
	if err != nil {
		return err
	}
	f.Format, f.Recording, f.Events = strings.ReplaceAll(doc.Format, " ", "-"), doc, &doc.Events
	f.Losses, f.Warnings = doc.Losses.Notes, doc.Warnings
	return nil
}
