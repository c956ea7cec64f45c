package straggler

// trackSpans is the most executions that Tracks holds: those of the ranks that cost most.
const trackSpans = 1 << 19

// Tracks is what ranks did in each operation that was looked at, for a viewer of traces.
type Tracks struct {
	BaseNS  int64 // instants are absolute; a trace that opens beside it counts its times from here
	Ranks   []Track
	LeftOut int // ranks that would be more than trackSpans
}

// Track is one rank.
type Track struct {
	ID, Host string
	Blamed   bool
	CostNS   int64
	Spans    []TrackSpan // by when they were entered
}

// TrackSpan is a rank's part in one operation. Its parts follow each other, transfer last.
type TrackSpan struct {
	Operation, Group, Step string
	Occurrence             int
	EnterNS, LeaveNS       int64
	Parts                  Parts
	For                    string // the rank that it waited for; "" nobody
	LateNS                 int64  // by how much later than the middle one of the others it entered, for certain
	Blame                  []TrackBlame
}

// TrackBlame is what the lateness of a span cost.
type TrackBlame struct {
	CostNS, GainNS int64
	Cause          string // "" not known
	Link           bool   // not this rank was late, but its link slow
}

// tracks fills what was asked for.
func (f *finder) tracks(late []lateness, out *Tracks) {
	if out == nil {
		return
	}
	j := f.job
	blames := map[int32][]TrackBlame{}
	for _, l := range late {
		if l.costNS <= 0 {
			continue
		}
		b := TrackBlame{CostNS: l.costNS, GainNS: l.gainNS, Link: l.transfer}
		if l.work >= 0 {
			b.Cause = j.Names[l.work].Name
		}
		blames[l.event] = append(blames[l.event], b)
	}
	byRank, _ := j.sequence()
	spans := 0
	for _, r := range f.order {
		t := Track{ID: j.Ranks[r].ID, Host: j.Ranks[r].Host, Blamed: f.ranks[r].Blamed, CostNS: f.ranks[r].CostNS}
		if spans += len(byRank[r]); spans > trackSpans && len(out.Ranks) > 0 {
			out.LeftOut = len(f.order) - len(out.Ranks)
			return
		}
		for _, e := range byRank[r] {
			x, p := &j.Events[e], &f.gate[e]
			if !f.counts[x.Op] {
				continue
			}
			o := &j.Ops[x.Op]
			s := TrackSpan{
				Operation: o.Key, Group: o.Group, Occurrence: o.Occurrence, EnterNS: x.EnterNS, LeaveNS: max(x.LeaveNS, x.EnterNS),
				Parts: f.partsOf(e), LateNS: f.lateBy[e], Blame: blames[e],
			}
			if o.Step >= 0 {
				s.Step = j.Steps[o.Step]
			}
			if p.last >= 0 && p.last != e {
				s.For = j.Ranks[j.Events[p.last].Rank].ID
			}
			t.Spans = append(t.Spans, s)
		}
		out.Ranks = append(out.Ranks, t)
	}
}
