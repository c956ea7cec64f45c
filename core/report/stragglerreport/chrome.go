package stragglerreport

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/report/chromejson"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/straggler"
)

const (
	// firstTrack is the number of the first process of tracks: above those of programs, of recorders' devices and of prlx cycles.
	firstTrack = 910_000_000
	// blameThread is the thread of a rank on which its latenesses stand; operations have those behind it.
	blameThread = 1
)

// chrome writes tracks that open in a viewer beside the trace, with its times: a process per rank, most expensive first. In it, operations are
// slices with their parts inside of them, a counter says by how much the rank was late, and instants what that cost.
func chrome(w io.Writer, d *straggler.Document, opt Options) error {
	t := opt.Tracks
	if t == nil {
		return fault.Usagef("tracks cannot be made of a document: it does not list every operation").WithHint("write them when stragglers are looked for, from the traces")
	}
	about := map[string]any{"verdict": clean(d.Verdict, maxText), "clocks": clean(d.Clocks, maxText)}
	if t.LeftOut > 0 {
		about["left out"] = figure.Plural(t.LeftOut, "rank that cost less", "ranks that cost less")
	}
	out := &trackWriter{Writer: chromejson.Begin(w, t.BaseNS, about), baseNS: t.BaseNS}
	for i := range t.Ranks {
		out.rank(i, &t.Ranks[i])
	}
	return out.End()
}

// trackWriter writes tracks whose times count from baseNS.
type trackWriter struct {
	*chromejson.Writer
	baseNS int64
}

// at is an instant as the trace counts.
func (c *trackWriter) at(ns int64) json.Number { return chromejson.Micro(ns - c.baseNS) }

// rank writes the tracks of one rank.
func (c *trackWriter) rank(i int, t *straggler.Track) {
	pid := firstTrack + int64(i)
	title := "prlx stragglers: " + clean(t.ID, maxName)
	if t.Host != "" && t.Host != t.ID {
		title += " on " + clean(t.Host, maxName)
	}
	if t.Blamed {
		title += ", blamed"
	}
	c.Process(pid, title, i-1_000_000)
	lanes, of := lanesOf(t.Spans)
	c.Thread(pid, blameThread, "late")
	for n := range lanes {
		c.Thread(pid, blameThread+1+int64(n), "operations")
	}
	for k := range t.Spans {
		c.span(pid, blameThread+1+int64(of[k]), &t.Spans[k])
	}
}

// lanesOf gives spans that overlap threads of their own: slices of one thread must lie inside of each other or apart.
func lanesOf(spans []straggler.TrackSpan) (lanes int, of []int) {
	var ends []int64
	of = make([]int, len(spans))
	for k := range spans {
		s := &spans[k]
		n := slices.IndexFunc(ends, func(end int64) bool { return end <= s.EnterNS })
		if n < 0 {
			n = len(ends)
			ends = append(ends, 0)
		}
		ends[n], of[k] = s.LeaveNS, n
	}
	return max(len(ends), 1), of
}

// span writes an operation, the parts of its time inside of it, the counter and what its lateness cost.
func (c *trackWriter) span(pid, tid int64, s *straggler.TrackSpan) {
	args := map[string]any{"communicator": clean(s.Group, maxName), "occurrence": s.Occurrence}
	if s.Step != "" {
		args["step"] = clean(s.Step, maxName)
	}
	c.Event(chromejson.Event{Name: clean(s.Operation, maxName), Cat: "prlx operation", Ph: "X", TS: c.at(s.EnterNS), Dur: chromejson.Micro(s.LeaveNS - s.EnterNS), PID: pid, TID: tid, Args: args})
	from := s.EnterNS
	all := parts(s.Parts)
	for _, p := range []part{all[3], all[2], all[1], all[4], all[0]} { // in time: profiler start, late launch, waiting, undecided, transfer
		if p.ns <= 0 {
			continue
		}
		name := p.name
		if p.name == "waiting" && s.For != "" {
			name += " for " + clean(s.For, maxName)
		}
		c.Event(chromejson.Event{Name: name, Cat: "prlx " + p.name, Ph: "X", TS: c.at(from), Dur: chromejson.Micro(p.ns), PID: pid, TID: tid})
		from += p.ns
	}
	c.Event(chromejson.Event{Name: "late by", Ph: "C", TS: c.at(s.EnterNS), PID: pid, Args: map[string]any{"ns": max(s.LateNS, 0)}})
	for _, b := range s.Blame {
		name, at := "late", s.EnterNS
		if b.Link {
			name, at = "slow link", s.LeaveNS
		}
		if b.Cause != "" {
			name += ": " + clean(b.Cause, maxName)
		}
		more := map[string]any{"cost_us": chromejson.Micro(b.CostNS), "gain_us": chromejson.Micro(b.GainNS), "operation": clean(s.Operation, maxName), "occurrence": s.Occurrence}
		c.Event(chromejson.Event{Name: name, Cat: "prlx blame", Ph: "i", Scope: "t", TS: c.at(at), PID: pid, TID: blameThread, Args: more})
	}
}
