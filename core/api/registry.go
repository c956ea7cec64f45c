// Package api is the core as the outside sees it: operations by name, each a JSON request in and a JSON document out, started
// as jobs or called at once, with errors in one envelope and column tables beside the documents. It is the one package that
// pybind imports, and it holds no analysis of its own: an operation decodes, calls a room, encodes.
package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
)

// op is one operation: a JSON request in, a JSON document out. It watches the job's context, reports to its progress and
// stays within its budget and workers.
type op func(j *job.Job, request []byte) ([]byte, error)

// operations lists every operation by name: a new one is one more line.
var operations = sync.OnceValue(func() map[string]op {
	return map[string]op{
		"align":   typed(alignTrace),
		"combine": typed(combineTraces),

		"combine_abandon": typed(combineAbandon),
		"combine_compare": typed(compareAlignments),
		"combine_finish":  typed(combineFinish),
		"combine_inputs":  typed(combineInputs),
		"combine_node":    typed(combineNode),
		"combine_plan":    typed(combinePlan),
		"combine_scan":    typed(combineScan),

		"convert":        typed(convertRecording),
		"cycles":         typed(findCycles),
		"cycles_compare": typed(compareCycles),

		"contents_kernel": typed(contentsKernel),
		"instrument":      typed(instrument),
		"recorder_digest": typed(recorderDigest),

		"diff":         typed(diffRecordings),
		"diff_compat":  typed(diffCompat),
		"kernel_trace": typed(kernelTrace),
		"recognise":    typed(recognise),
		"report":       typed(writeReports),

		"simulate_compare": typed(compareSimulated),

		"session_diff":        typed(sessionDiff),
		"session_diff_compat": typed(sessionDiffCompat),
		"session_finish":      typed(sessionFinish),
		"session_inspect":     typed(sessionInspect),

		"attach_snapshots": typed(attachSnapshots),
		"finish_snapshots": typed(finishSnapshots),

		"nccl_collect":  typed(collectNCCL),
		"nccl_compare":  typed(compareNCCL),
		"nccl_diagnose": typed(diagnoseNCCL),
		"nccl_flight":   typed(readFlight),
		"nccl_merge":    typed(mergeNCCL),
		"nccl_report":   typed(reportNCCL),

		"inspect":    typed(inspectFiles),
		"parse_toml": typed(parseTOML),
		"probe":      typed(probeClocks),
		"solve":      typed(solve),
		"stragglers": typed(findStragglers),
		"tape_diff":  typed(diffTapes),
		"timeline":   typed(timeline),
		"validate":   typed(validate),
		"version":    typed(version),
	}
})

// typed makes an Op of a function on decoded values. Unknown fields of the request are usage errors: a misspelt option must
// not be ignored in silence.
func typed[Request, Document any](f func(*job.Job, *Request) (Document, error)) op {
	return func(j *job.Job, request []byte) ([]byte, error) {
		var r Request
		if err := decode(request, &r); err != nil {
			return nil, err
		}
		doc, err := f(j, &r)
		if err != nil {
			return nil, err
		}
		return encode(doc)
	}
}

// decode reads exactly one JSON value; an empty request is an empty object.
func decode(request []byte, into any) error {
	if len(bytes.TrimSpace(request)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(request))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return misfit(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fault.Usagef("the request is more than one JSON value")
	}
	return nil
}

// misfit says what is wrong with a request, in the words of the field that it names.
func misfit(err error) error {
	var already *fault.Error
	if errors.As(err, &already) {
		return err
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		name := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
		return fault.Usagef("%s is a %s, expected %s", name, wrong.Value, kindOf(wrong.Type)).Wrap(err)
	}
	return fault.Usagef("the request does not fit: %v", err).Wrap(err)
}

// kindOf is what a field of a request takes, in a caller's words.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Pointer:
		return kindOf(t.Elem())
	}
	return "an object"
}

// encode writes a document without escaping of HTML characters and without a final newline.
func encode(doc any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
