package api

import (
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/combine"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/joining"
	recorded "github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/reading"
	"github.com/prlx-go/prlx/core/nccl/tracks"
	"github.com/prlx-go/prlx/core/verdict"
)

// ncclMergeRequest is the request of nccl_merge.
type ncclMergeRequest struct {
	ncclInputs
	Output    string `json:"output"`
	Format    string `json:"format"` // "chrome", "xplane"; "": by the ending of the output
	Overwrite bool   `json:"overwrite"`
}

// NCCLMergeDocument is prlx.nccl-merge/1: recordings of NCCL's events as one trace.
type NCCLMergeDocument struct {
	Schema     string          `json:"schema"`
	Conclusion verdict.Verdict `json:"conclusion"` // passed: all that the ranks recorded is in the trace, on one clock
	Output     string          `json:"output"`
	Format     string          `json:"format"` // chrome, xplane
	Bytes      int64           `json:"bytes"`
	StartNS    int64           `json:"start_ns"` // the first instant, since 1970
	StopNS     int64           `json:"stop_ns"`
	Ranks      int             `json:"ranks"`
	Slices     int             `json:"slices"`
	Flows      int             `json:"flows"`     // from one slice to another
	Unordered  int             `json:"unordered"` // flows that are left out: what they lead to was over before what they come from began
	Timeless   int             `json:"timeless"`  // events that are left out: no instant of them is known
	Clocked    string          `json:"clocked"`   // what relates the clocks of hosts
	Hosts      []NCCLHostClock `json:"hosts"`
	Warnings   []string        `json:"warnings"`
}

// NCCLHostClock is the clock of one host against that of the job.
type NCCLHostClock struct {
	Host     string `json:"host"`
	Method   string `json:"method"`
	OffsetNS int64  `json:"offset_ns"` // by how much it was ahead
	BoundNS  *int64 `json:"bound_ns"`  // null: not known
}

// mergeFormats are the formats of nccl_merge, by the endings of their files.
var mergeFormats = []struct{ format, ending string }{{"xplane", ".xplane.pb"}, {"xplane", ".pb"}, {"chrome", ".json"}}

func mergeFormat(r *ncclMergeRequest) (string, error) {
	if r.Output == "" {
		return "", fault.Usagef("no output is named").WithHint("name one: -o OUT.json or OUT.xplane.pb")
	}
	byName := ""
	for _, f := range mergeFormats {
		if byName == "" && strings.HasSuffix(strings.ToLower(r.Output), f.ending) {
			byName = f.format
		}
	}
	switch {
	case r.Format == "" && byName == "":
		return "", fault.New(fault.Usage, "the ending says no format").WithPath(r.Output).WithHint("end it in .json or .xplane.pb, or name the format")
	case r.Format == "":
		return byName, nil
	case r.Format != "chrome" && r.Format != "xplane":
		return "", fault.Usagef("there is no format %q", r.Format).WithHint("chrome or xplane")
	case byName != "" && byName != r.Format:
		return "", fault.New(fault.Usage, "is the name of the format %s, and %s is asked for", byName, r.Format).WithPath(r.Output)
	}
	return r.Format, nil
}

// mergeNCCL writes the recordings of a job as one trace.
func mergeNCCL(j *job.Job, r *ncclMergeRequest) (*NCCLMergeDocument, error) {
	format, err := mergeFormat(r)
	if err != nil {
		return nil, err
	}
	paths, err := reading.Find(r.Inputs)
	if err != nil {
		return nil, err
	}
	if err := refuseInput(r.Output, paths); err != nil {
		return nil, err
	}
	out, err := file.Create(r.Output, r.Overwrite)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	tied, err := r.readNCCL(j)
	if err != nil {
		return nil, err
	}
	j.Progress().SetStage("write")
	t := tracks.Build(tied)
	if t.Slices == 0 {
		return nil, fault.New(fault.Incompatible, "the recordings hold nothing that has a time")
	}
	write := t.WriteChrome
	if format == "xplane" {
		write = t.WriteXSpace
	}
	if err := write(j.Context(), out); err != nil {
		return nil, fault.Of(err).WithPath(r.Output)
	}
	d := &NCCLMergeDocument{
		Schema: "prlx.nccl-merge/1", Output: r.Output, Format: format, Bytes: out.Appended(), StartNS: t.ZeroNS, StopNS: t.EndNS, Ranks: len(t.Processes),
		Slices: t.Slices, Flows: len(t.Flows), Unordered: t.Unordered, Timeless: t.Timeless, Clocked: tied.Clocked, Hosts: []NCCLHostClock{}, Warnings: append([]string{}, tied.Warnings...),
	}
	if n := tracesBeside(j, r.Inputs); n > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%d traces of a profiler lie beside the recordings and are not in the output: prlx combine joins both", n))
	}
	for i := range tied.Clocks {
		c := &tied.Clocks[i]
		h := NCCLHostClock{Host: c.Host, Method: c.Method, OffsetNS: c.OffsetNS}
		if c.BoundNS >= 0 {
			h.BoundNS = &c.BoundNS
		}
		d.Hosts = append(d.Hosts, h)
	}
	d.conclude(tied)
	return d, out.Commit()
}

// conclude says whether the trace is the whole job.
func (d *NCCLMergeDocument) conclude(tied *recorded.Job) {
	var e verdict.Evidence
	tied.Evidence(&e)
	e.Looked("slices", int64(d.Slices))
	if d.Timeless > 0 {
		e.Missed("events", int64(d.Timeless), "no instant of them is known")
	}
	for i := range tied.Clocks {
		if c := &tied.Clocks[i]; c.Method == joining.ByRealtime && len(tied.Clocks) > 1 {
			e.Lacks("the clock of "+c.Host, "nothing relates it to that of the job")
		}
	}
	d.Conclusion = e.Check(false, fmt.Sprintf("%d ranks, %d slices, %d flows", d.Ranks, d.Slices, d.Flows))
}

// tracesBeside counts the traces of profilers that lie beside recordings in directories.
func tracesBeside(j *job.Job, inputs []string) int {
	n := 0
	for _, path := range inputs {
		if found, err := combine.Discover(j.Context(), []combine.Input{{Path: path}}); err == nil && len(found.Beside) > 0 {
			n += len(found.Traces)
		}
	}
	return n
}
