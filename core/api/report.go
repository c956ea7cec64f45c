package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/prlx-go/prlx/core/combine"
	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/diff/session"
	"github.com/prlx-go/prlx/core/diff/simulated"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/diagnosing"
	"github.com/prlx-go/prlx/core/nccl/dividing"
	"github.com/prlx-go/prlx/core/report"
	"github.com/prlx-go/prlx/core/report/kernelreport"
	"github.com/prlx-go/prlx/core/report/ncclreport"
	"github.com/prlx-go/prlx/core/report/simulationreport"
	"github.com/prlx-go/prlx/core/report/stragglerreport"
	"github.com/prlx-go/prlx/core/report/tapereport"
	"github.com/prlx-go/prlx/core/straggler"
	"github.com/prlx-go/prlx/core/tape/comparing"
	"github.com/prlx-go/prlx/core/verdict"
)

// render writes one report of a document.
type render func(format string, w io.Writer, opt kernelreport.Options) error

// verdictReports are what can be written of verdicts on collectives.
var verdictReports = reportKind{
	func() []string { return []string{"html"} },
	func(path string) (string, bool) { return "html", strings.HasSuffix(path, ".html") },
	neverBinary, ".html",
}

// simulationReports are what can be written of what ran on the simulator.
var simulationReports = reportKind{simulationreport.Formats, simulationreport.FormatOf, neverBinary, ".html or .json"}

// maxDocument is the largest saved comparison that is read: its text and what it becomes are in memory at once.
const maxDocument = 1 << 30

type reportRequest struct {
	requestLimits
	Document  json.RawMessage `json:"document"` // a comparison, or
	Path      string          `json:"path"`     // the file that holds one
	Outputs   []outputArg     `json:"outputs"`
	Overwrite bool            `json:"overwrite"`
	Root      string          `json:"root"`
	FailOn    *float64        `json:"fail_on"` // of who was late: as of the operation stragglers
}

// reportReply is prlx.report/1: what was written, and what the document concludes of which it was made.
type reportReply struct {
	Schema     string          `json:"schema"`
	Conclusion verdict.Verdict `json:"conclusion"` // that of the document, or of its gates where it has some; with fail_on whether that was met
	Of         string          `json:"of"`         // the schema of the document
	Over       []string        `json:"over"`       // ranks that met fail_on; null: it was not given
	writtenReports
}

// writeReports makes reports of a comparison, of cycles or of who was late, that were made before.
func writeReports(j *job.Job, r *reportRequest) (*reportReply, error) {
	if len(r.Outputs) == 0 {
		return nil, fault.Usagef("no output is named")
	}
	text := []byte(r.Document)
	if r.Path != "" {
		var err error
		if text, err = readDocument(j, r.Path); err != nil {
			return nil, err
		}
	}
	if err := checkGate(r.FailOn); err != nil {
		return nil, err
	}
	head, err := headOf(r.Path, text)
	if err != nil {
		return nil, err
	}
	kind, render, over, err := renderer(r.Path, head.Schema, text, r.FailOn)
	if err != nil {
		return nil, err
	}
	concluded := head.Conclusion
	if head.Gate != nil {
		concluded = *head.Gate
	}
	switch {
	case r.FailOn == nil:
		over = nil
	case over == nil:
		return nil, fault.Usagef("fail_on holds ranks against a gate, and this document is not of who was late").WithPath(r.Path)
	default:
		concluded = concluded.Gate(len(over) > 0, gateSentence(over, *r.FailOn))
	}
	out, err := createReports(kind, r.Outputs, r.Overwrite, []string{r.Path}, r.Root)
	if err != nil {
		return nil, err
	}
	defer out.abort()
	if err := out.write(render); err != nil {
		return nil, err
	}
	return &reportReply{Schema: "prlx.report/1", Conclusion: concluded, Of: head.Schema, Over: over, writtenReports: out.reply()}, nil
}

// gateSentence says which ranks met a gate of lost time.
func gateSentence(over []string, percent float64) string {
	if len(over) == 0 {
		return fmt.Sprintf("no rank that is blamed cost more than %g %% of the time", percent)
	}
	return fmt.Sprintf("%s cost more than %g %% of the time", strings.Join(over, ", "), percent)
}

// readable is what the file of a report can be.
const readable = "expected what prlx diff --json, prlx session diff --json, prlx cycles --json, prlx stragglers --json, prlx nccl report --json, prlx nccl diagnose --json, prlx simulate --json or prlx validate --json prints"

// documentHead is what documents have in common.
type documentHead struct {
	Schema     string           `json:"schema"`
	Conclusion verdict.Verdict  `json:"conclusion"`
	Gate       *verdict.Verdict `json:"gate"` // how it stands against what it was to fail on; null: nothing was named
}

// headOf reads the schema and the conclusion of a document. One without a conclusion concludes nothing: nobody knows what was looked at.
func headOf(path string, text []byte) (documentHead, error) {
	var head documentHead
	if err := json.Unmarshal(text, &head); err != nil {
		return head, fault.Formatf(path, jsonOffset(err), "is not JSON: %v", err).WithHint(readable)
	}
	if head.Conclusion.Outcome == "" {
		var nothing verdict.Evidence
		head.Conclusion = nothing.Open("the document has no conclusion: an earlier version of prlx wrote it")
	}
	for _, v := range []*verdict.Verdict{&head.Conclusion, head.Gate} {
		if v == nil {
			continue
		}
		if !v.Good() && !v.Bad() && v.Outcome != verdict.Inconclusive {
			return head, fault.Formatf(path, fault.Unknown, "concludes %q, which is not an outcome", v.Outcome)
		}
		v.Looked, v.Missing = append([]verdict.Looked{}, v.Looked...), append([]verdict.Missing{}, v.Missing...)
	}
	return head, nil
}

func readDocument(j *job.Job, path string) ([]byte, error) {
	src, err := file.Open(j.Context(), path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	size := src.Size()
	if size > maxDocument {
		return nil, fault.New(fault.Limit, "has %d bytes; documents of at most %d are read", size, int64(maxDocument)).WithPath(path)
	}
	if err := j.Budget().Acquire(j.Context(), 4*size); err != nil {
		return nil, fault.Of(err).WithPath(path)
	}
	defer j.Budget().Release(4 * size)
	text := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(src, 0, size), text); err != nil {
		return nil, fault.FromIO(path, err)
	}
	return text, nil
}

// renderer reads a document of a schema and returns what makes reports of it, and the ranks that met failOn: nil where a document knows no gate.
func renderer(path, schema string, text []byte, failOn *float64) (reportKind, render, []string, error) {
	none := reportKind{}
	switch schema {
	case "prlx.diff/1":
		doc := new(diff.Document)
		err := decodeDocument(path, text, doc)
		return comparisonReports, func(format string, w io.Writer, opt kernelreport.Options) error {
			return kernelreport.Write(format, w, doc, opt)
		}, nil, err
	case "prlx.session-diff/1":
		doc := new(session.Document)
		err := decodeDocument(path, text, doc)
		return comparisonReports, func(format string, w io.Writer, opt kernelreport.Options) error {
			return kernelreport.WriteSession(format, w, doc, opt)
		}, nil, err
	case cycledoc.Schema:
		doc := new(cycledoc.Document)
		err := decodeDocument(path, text, doc)
		return cycleReports, renderCycles(doc), nil, err
	case cycledoc.CompareSchema:
		doc := new(cycledoc.CompareDocument)
		err := decodeDocument(path, text, doc)
		return cycleCompareReports, renderCycleComparison(doc), nil, err
	case straggler.Schema:
		doc := new(straggler.Document)
		err := decodeDocument(path, text, doc)
		return stragglerReports, renderStragglers(doc, stragglerreport.Options{MostPercent: failOn}), stragglersOver(doc, failOn), err
	case dividing.Schema:
		doc := new(dividing.Document)
		err := decodeDocument(path, text, doc)
		return ncclReports, renderNCCL(ncclreport.Job{Report: doc}), nil, err
	case diagnosing.Schema:
		doc := new(diagnosing.Document)
		err := decodeDocument(path, text, doc)
		return ncclReports, renderNCCL(ncclreport.Job{Diagnosis: doc}), nil, err
	case simulated.Schema:
		doc := new(simulated.Document)
		err := decodeDocument(path, text, doc)
		return simulationReports, func(format string, w io.Writer, _ kernelreport.Options) error {
			return simulationreport.Write(format, w, doc)
		}, nil, err
	case simulated.CompareSchema:
		doc := new(simulated.CompareDocument)
		err := decodeDocument(path, text, doc)
		return simulationReports, func(format string, w io.Writer, _ kernelreport.Options) error {
			return simulationreport.WriteComparison(format, w, doc)
		}, nil, err
	case comparing.Schema:
		doc := new(comparing.Document)
		err := decodeDocument(path, text, doc)
		return tapeReports, func(format string, w io.Writer, _ kernelreport.Options) error {
			return tapereport.Write(format, w, doc)
		}, nil, err
	case combine.ValidateSchema:
		doc := new(combine.ValidateDocument)
		err := decodeDocument(path, text, doc)
		return verdictReports, func(_ string, w io.Writer, _ kernelreport.Options) error { return report.Validate(w, doc) }, nil, err
	}
	if schema == "" {
		return none, nil, nil, fault.Formatf(path, fault.Unknown, "is JSON, but not a document of prlx: it states no schema").WithHint(readable)
	}
	return none, nil, nil, fault.Formatf(path, fault.Unknown, "has the schema %q, of which prlx report makes no reports", schema).WithHint(readable)
}

// decodeDocument reads a document of ours, which says what it found; fields of later versions are passed over.
func decodeDocument(path string, text []byte, into any) error {
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(into); err != nil {
		return fault.Formatf(path, jsonOffset(err), "does not fit its schema: %v", err)
	}
	doc := reflect.ValueOf(into).Elem()
	if at := doc.FieldByName("Conclusion"); at.IsValid() && at.IsZero() {
		head, err := headOf(path, text)
		if err != nil {
			return err
		}
		at.Set(reflect.ValueOf(head.Conclusion))
	}
	for i := range doc.NumField() {
		name, _, _ := strings.Cut(doc.Type().Field(i).Tag.Get("json"), ",")
		if (name == "status" || name == "verdict") && doc.Field(i).IsZero() {
			return fault.Formatf(path, fault.Unknown, "is not whole: it states no %s", name).
				WithHint("write it again; a report of it would say that all is well")
		}
	}
	return nil
}

func jsonOffset(err error) int64 {
	switch e := err.(type) {
	case *json.SyntaxError:
		return e.Offset
	case *json.UnmarshalTypeError:
		return e.Offset
	}
	return fault.Unknown
}
