package api

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/prlx-go/prlx/core/combine"
	"github.com/prlx-go/prlx/core/cycle"
	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/report/kernelreport"
	"github.com/prlx-go/prlx/core/report/stragglerreport"
	"github.com/prlx-go/prlx/core/straggler"
)

// stragglersRequest is the request of stragglers, with inputs that are expanded.
type stragglersRequest struct {
	combine.StragglersRequest
	requestLimits
	Inputs    []traceArg  `json:"inputs"`
	Outputs   []outputArg `json:"outputs"`
	Overwrite bool        `json:"overwrite"`
	FailOn    *float64    `json:"fail_on"` // percent of the time that a rank that is blamed may cost, for reports that say who did
}

// stragglersReply is prlx.stragglers/1 with what was written.
type stragglersReply struct {
	*straggler.Document
	writtenReports
}

var stragglerReports = reportKind{stragglerreport.Formats, stragglerreport.FormatOf, neverBinary, ".html, .md, .csv, .xml, .trace.json or .json"}

func renderStragglers(d *straggler.Document, opt stragglerreport.Options) render {
	return func(format string, w io.Writer, _ kernelreport.Options) error {
		return stragglerreport.Write(format, w, d, opt)
	}
}

// stragglersOver names the ranks that met the gate; it is never nil.
func stragglersOver(d *straggler.Document, failOn *float64) []string {
	over := []string{}
	for i := range d.Ranks {
		if r := &d.Ranks[i]; (stragglerreport.Options{MostPercent: failOn}).Exceeds(r) {
			over = append(over, r.ID)
		}
	}
	return over
}

// checkGate refuses a part of the time below zero.
func checkGate(percent *float64) error {
	if percent != nil && !(*percent >= 0) {
		return fault.Usagef("fail_on is %v, expected 0 or more percent", *percent)
	}
	return nil
}

// stepsOf finds the steps in the kernels of one trace, as the search for cycles does: those of the device that has most. They are called by their marks, which
// name each one, else by their number.
func stepsOf(j *job.Job, path string, salvage bool) ([]combine.RankStep, error) {
	t, err := cycle.Read(j, []string{path}, cycle.ReadOptions{Salvage: salvage})
	if err != nil {
		return nil, err
	}
	found, err := cycle.Find(j, t, cycle.Options{})
	if err != nil {
		return nil, err
	}
	zero := int64(math.MaxInt64) // from which the steps of documents count
	for i := range t.Sequences {
		if s := &t.Sequences[i]; s.Len() > 0 {
			zero = min(zero, s.StartNS[0])
		}
	}
	type seat struct {
		rank   int
		device string
	}
	steps, marks, seats := map[seat][]combine.RankStep{}, map[seat]map[string]bool{}, []seat{}
	found.EachStep(func(s cycledoc.Step) {
		at := seat{s.Rank, s.Device}
		if marks[at] == nil {
			marks[at], seats = map[string]bool{}, append(seats, at)
		}
		name := s.Mark
		if name == "" || marks[at][name] {
			name = strconv.FormatInt(s.Number+1, 10)
		}
		marks[at][name] = true
		steps[at] = append(steps[at], combine.RankStep{Rank: s.Rank, Name: name, FromNS: zero + s.StartNS})
	})
	best := map[int]seat{}
	for _, at := range seats {
		if had, ok := best[at.rank]; !ok || len(steps[at]) > len(steps[had]) {
			best[at.rank] = at
		}
	}
	var out []combine.RankStep
	for _, at := range seats {
		if best[at.rank] == at {
			out = append(out, steps[at]...)
		}
	}
	return out, nil
}

// findStragglers says who was late at the collectives of several traces, and what it cost.
func findStragglers(j *job.Job, r *stragglersRequest) (*stragglersReply, error) {
	if err := checkGate(r.FailOn); err != nil {
		return nil, err
	}
	found, err := combine.Discover(j.Context(), inputsOf(r.Inputs))
	if err != nil {
		return nil, err
	}
	found.LeaveBeside()
	r.StragglersRequest.Inputs = found.Traces
	paths := make([]string, len(found.Traces))
	for i := range found.Traces {
		paths[i] = found.Traces[i].Path
	}
	out, err := createReports(stragglerReports, r.Outputs, r.Overwrite, paths, "")
	if err != nil {
		return nil, err
	}
	defer out.abort()
	if err := r.AddClockFiles(j.Context(), found); err != nil {
		return nil, err
	}
	r.Notes = found.Notes
	if out.writes("chrome") {
		r.Tracks = new(straggler.Tracks)
	}
	doc, err := combine.Stragglers(j, r.StragglersRequest, func(path string) ([]combine.RankStep, error) { return stepsOf(j, path, r.Salvage) })
	if err != nil {
		return nil, err
	}
	if r.Tracks != nil && r.Tracks.LeftOut > 0 {
		doc.Notes = append(doc.Notes, fmt.Sprintf("the tracks are of the %d ranks that cost most: %d more would be too many", len(r.Tracks.Ranks), r.Tracks.LeftOut))
	}
	if r.FailOn != nil {
		over := stragglersOver(doc, r.FailOn)
		doc.Conclusion = doc.Conclusion.Gate(len(over) > 0, gateSentence(over, *r.FailOn))
	}
	if err := out.write(renderStragglers(doc, stragglerreport.Options{MostPercent: r.FailOn, Tracks: r.Tracks})); err != nil {
		return nil, err
	}
	return &stragglersReply{Document: doc, writtenReports: out.reply()}, nil
}
