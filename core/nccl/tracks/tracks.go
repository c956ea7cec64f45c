// Package tracks draws what NCCL did in a job: a process for each rank, lines of calls, operations, kernels by channel and proxy operations, and
// flows from a call to its launch, kernel, proxies and the proxies of its peers. It writes them as Chrome / Perfetto JSON and as XSpace.
//
// Slices of one line nest or follow one another: what would cross another one has a line of its own beside. It judges nothing.
package tracks

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/nccl/operation"
)

// Tracks are the processes of a job.
type Tracks struct {
	Job       *operation.Job
	Processes []Process
	ZeroNS    int64 // the first instant that is drawn
	EndNS     int64
	Slices    int
	Flows     []Flow
	Unordered int // flows that are not drawn, for their end is over before they begin
	Timeless  int // kernels, operations and calls without an instant

	alone bool // one recording of several: what it sends is received in others
}

// Process is one rank.
type Process struct {
	Name, Host string
	Rank       int32 // place in Job.Ranks
	Lines      []Line
}

// Line is one track: slices by time, which nest.
type Line struct {
	Name   string
	Slices []Slice
}

// kind is what a slice shows.
type kind uint8

// The kinds of slices.
const (
	Group kind = iota
	API
	Launch
	Operation
	Kernel
	Proxy
	Step
	kinds
)

// Slice is one event.
type Slice struct {
	Name            string
	StartNS, StopNS int64
	Kind            kind
	Open            bool   // it had not ended when the recording did
	Index           int32  // place in the list of its kind in the recording
	Chain           uint64 // of flows that go through it: the number of the operation they belong to, 0 none
}

// Flow leads from one slice to another of a later or the same time.
type Flow struct {
	From, To     Place
	FromNS, ToNS int64
}

// Place is a slice.
type Place struct{ Process, Line, Slice int32 }

// Build draws a job.
func Build(j *operation.Job) *Tracks { return build(j, false) }

func build(j *operation.Job, alone bool) *Tracks {
	t := &Tracks{Job: j, alone: alone}
	b := builder{t: t, at: map[thing]Place{}, wants: map[thing]bool{}}
	for i := range j.Ranks {
		if j.Ranks[i].Recording >= 0 { // else nobody recorded it
			b.rank(int32(i))
		}
	}
	b.places()
	b.flows()
	return t
}

// One draws a single recording, on the clock of its host.
func One(r *operation.Recording) *Tracks {
	j := &operation.Job{Recordings: []*operation.Recording{r}}
	seats := int32(1)
	for i := range r.Members {
		seats = max(seats, r.Members[i].Seat+1)
	}
	for k := range min(seats, int32(max(len(r.Members), 1))) {
		world, ranks := int32(-1), int32(0)
		for i := range r.Members {
			if m := &r.Members[i]; m.Seat == k && m.Ranks > ranks {
				world, ranks = m.Rank, m.Ranks
			}
		}
		id := fmt.Sprintf("%s/%d", r.Host, r.PID)
		j.Ranks = append(j.Ranks, operation.Rank{ID: id, World: world, Seat: k, Host: r.Host})
	}
	return build(j, true)
}

// thing is one event of one recording.
type thing struct {
	recording int32
	kind      kind
	index     int32
}

type builder struct {
	t     *Tracks
	at    map[thing]Place
	wants map[thing]bool // things whose places flows need
}

// draft is a line in the making.
type draft struct {
	name  string
	order int
	all   []Slice
}

// rank draws the lines of one rank.
func (b *builder) rank(place int32) {
	j := b.t.Job
	rank := &j.Ranks[place]
	r := j.Recordings[rank.Recording]
	p := Process{Name: "NCCL " + rank.ID, Host: rank.Host, Rank: place}
	if rank.World >= 0 {
		p.Name = fmt.Sprintf("NCCL rank %d (%s, pid %d)", rank.World, r.Host, r.PID)
	}
	l := lines{b: b, r: r, recording: rank.Recording, seat: rank.Seat, drafts: map[string]*draft{}}
	l.calls()
	l.operations()
	l.proxies()
	drafts := make([]*draft, 0, len(l.drafts))
	for _, d := range l.drafts {
		drafts = append(drafts, d)
	}
	slices.SortFunc(drafts, func(a, b *draft) int { return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.name, b.name)) })
	for _, d := range drafts {
		p.Lines = append(p.Lines, lanes(d.name, d.all)...)
	}
	if len(p.Lines) > 0 {
		b.t.Processes = append(b.t.Processes, p)
	}
}

// lanes divides slices over as few lines as let them nest.
func lanes(name string, all []Slice) []Line {
	slices.SortStableFunc(all, func(a, b Slice) int {
		return cmp.Or(cmp.Compare(a.StartNS, b.StartNS), cmp.Compare(b.StopNS, a.StopNS), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Index, b.Index))
	})
	var out []Line
	var open [][]int64 // of each lane, the ends of the slices that are open
	for _, s := range all {
		lane := -1
		for i := range open {
			for n := len(open[i]); n > 0 && open[i][n-1] <= s.StartNS; n-- {
				open[i] = open[i][:n-1]
			}
			if n := len(open[i]); n == 0 || open[i][n-1] >= s.StopNS {
				lane = i
				break
			}
		}
		if lane < 0 {
			lane = len(out)
			title := name
			if lane > 0 {
				title = fmt.Sprintf("%s (%d)", name, lane+1)
			}
			out, open = append(out, Line{Name: title}), append(open, nil)
		}
		out[lane].Slices = append(out[lane].Slices, s)
		open[lane] = append(open[lane], s.StopNS)
	}
	return out
}

// places notes where the slices are, and what time they span.
func (b *builder) places() {
	first := true
	for pi := range b.t.Processes {
		p := &b.t.Processes[pi]
		for li := range p.Lines {
			for si := range p.Lines[li].Slices {
				s := &p.Lines[li].Slices[si]
				b.t.Slices++
				if first || s.StartNS < b.t.ZeroNS {
					b.t.ZeroNS = s.StartNS
				}
				b.t.EndNS = max(b.t.EndNS, s.StopNS)
				first = false
				if s.Kind != Group && s.Kind != Step && s.Kind != Operation {
					b.at[thing{b.t.Job.Ranks[p.Rank].Recording, s.Kind, s.Index}] = Place{int32(pi), int32(li), int32(si)}
				}
			}
		}
	}
}

func (t *Tracks) slice(p Place) *Slice { return &t.Processes[p.Process].Lines[p.Line].Slices[p.Slice] }
