package stragglerreport

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/timeline/straggler"
)

// chromeEvent is one event of the trace format that chrome://tracing and Perfetto read; ts and dur are in microseconds.
type chromeEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Ph    string         `json:"ph"`
	Scope string         `json:"s,omitempty"`
	TS    json.Number    `json:"ts,omitempty"`
	Dur   json.Number    `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Args  map[string]any `json:"args,omitempty"`
}

const (
	// firstTrack is the number of the first process of tracks: above those of programs, of recorders' devices and of prlx cycles.
	firstTrack = 910_000_000
	// blameThread is the thread of a rank on which its latenesses stand; operations have those behind it.
	blameThread = 1
)

// Chrome writes tracks that open in a viewer beside the trace, with its times: a process per rank, most expensive first. In it, operations are
// slices with their parts inside of them, a counter says by how much the rank was late, and instants what that cost.
func Chrome(w io.Writer, d *straggler.Document, opt Options) error {
	t := opt.Tracks
	if t == nil {
		return fault.Usagef("tracks cannot be made of a document: it does not list every operation").WithHint("write them when stragglers are looked for, from the traces")
	}
	out := &chromeWriter{w: bufio.NewWriter(w), baseNS: t.BaseNS}
	out.raw(`{"displayTimeUnit":"ns",`)
	if t.BaseNS != 0 {
		out.raw(`"baseTimeNanoseconds":` + strconv.FormatInt(t.BaseNS, 10) + `,`)
	}
	about := map[string]any{"verdict": clean(d.Verdict, maxText), "clocks": clean(d.Clocks, maxText)}
	if t.LeftOut > 0 {
		about["left out"] = figure.Plural(t.LeftOut, "rank that cost less", "ranks that cost less")
	}
	out.raw(`"otherData":`)
	out.json(about)
	out.raw(`,"traceEvents":[`)
	for i := range t.Ranks {
		out.rank(i, &t.Ranks[i])
	}
	out.raw("\n]}\n")
	if out.err != nil {
		return out.err
	}
	return out.w.Flush()
}

// chromeWriter writes JSON piece by piece and keeps the first error.
type chromeWriter struct {
	w      *bufio.Writer
	baseNS int64
	comma  bool
	err    error
}

func (c *chromeWriter) raw(s string) {
	if c.err == nil {
		_, c.err = c.w.WriteString(s)
	}
}

func (c *chromeWriter) json(v any) {
	b, err := json.Marshal(v)
	if c.err == nil {
		c.err = err
	}
	c.raw(string(b))
}

func (c *chromeWriter) event(e chromeEvent) {
	if c.comma {
		c.raw(",")
	}
	c.comma = true
	c.raw("\n")
	c.json(e)
}

// at is an instant as the trace counts.
func (c *chromeWriter) at(ns int64) json.Number { return exactMicro(ns - c.baseNS) }

// exactMicro writes ns as µs with all digits.
func exactMicro(ns int64) json.Number {
	sign, n := "", uint64(ns)
	if ns < 0 {
		sign, n = "-", -n
	}
	return json.Number(fmt.Sprintf("%s%d.%03d", sign, n/1000, n%1000))
}

// rank writes the tracks of one rank.
func (c *chromeWriter) rank(i int, t *straggler.Track) {
	pid := firstTrack + i
	title := "prlx stragglers: " + clean(t.ID, maxName)
	if t.Host != "" && t.Host != t.ID {
		title += " on " + clean(t.Host, maxName)
	}
	if t.Blamed {
		title += ", blamed"
	}
	c.event(chromeEvent{Name: "process_name", Ph: "M", PID: pid, Args: map[string]any{"name": title}})
	c.event(chromeEvent{Name: "process_sort_index", Ph: "M", PID: pid, Args: map[string]any{"sort_index": i - 1_000_000}})
	lanes, of := lanesOf(t.Spans)
	c.thread(pid, blameThread, "late")
	for n := range lanes {
		c.thread(pid, blameThread+1+n, "operations")
	}
	for k := range t.Spans {
		c.span(pid, blameThread+1+of[k], &t.Spans[k])
	}
}

func (c *chromeWriter) thread(pid, tid int, name string) {
	c.event(chromeEvent{Name: "thread_name", Ph: "M", PID: pid, TID: tid, Args: map[string]any{"name": name}})
	c.event(chromeEvent{Name: "thread_sort_index", Ph: "M", PID: pid, TID: tid, Args: map[string]any{"sort_index": tid}})
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
func (c *chromeWriter) span(pid, tid int, s *straggler.TrackSpan) {
	args := map[string]any{"communicator": clean(s.Group, maxName), "occurrence": s.Occurrence}
	if s.Step != "" {
		args["step"] = clean(s.Step, maxName)
	}
	c.event(chromeEvent{Name: clean(s.Operation, maxName), Cat: "prlx operation", Ph: "X", TS: c.at(s.EnterNS), Dur: exactMicro(s.LeaveNS - s.EnterNS), PID: pid, TID: tid, Args: args})
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
		c.event(chromeEvent{Name: name, Cat: "prlx " + p.name, Ph: "X", TS: c.at(from), Dur: exactMicro(p.ns), PID: pid, TID: tid})
		from += p.ns
	}
	c.event(chromeEvent{Name: "late by", Ph: "C", TS: c.at(s.EnterNS), PID: pid, Args: map[string]any{"ns": max(s.LateNS, 0)}})
	for _, b := range s.Blame {
		name, at := "late", s.EnterNS
		if b.Link {
			name, at = "slow link", s.LeaveNS
		}
		if b.Cause != "" {
			name += ": " + clean(b.Cause, maxName)
		}
		more := map[string]any{"cost_us": exactMicro(b.CostNS), "gain_us": exactMicro(b.GainNS), "operation": clean(s.Operation, maxName), "occurrence": s.Occurrence}
		c.event(chromeEvent{Name: name, Cat: "prlx blame", Ph: "i", Scope: "t", TS: c.at(at), PID: pid, TID: blameThread, Args: more})
	}
}
