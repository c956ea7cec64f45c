package straggler

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// slowAt is a job of eight ranks of which one needs 5 ms longer in two steps.
func slowAt(rank int, steps ...int) *Job {
	s := &scene{ranks: 8, steps: 20, boundNS: 1000, skewNS: 1000, noRing: true, rng: rand.New(rand.NewPCG(3, 3)), slow: func(r, step, segment int) int64 {
		if r == rank && slices.Contains(steps, step) && segment == 1 {
			return 5e6
		}
		return 0
	}}
	return s.job()
}

// TestTracksHoldEveryOperationOfEveryRank: their parts add up to the document's, their blame to its costs.
func TestTracksHoldEveryOperationOfEveryRank(t *testing.T) {
	j := slowAt(3, 7, 12)
	var tracks Tracks
	d, err := Find(j, Options{Tracks: &tracks})
	if err != nil {
		t.Fatal(err)
	}
	if len(tracks.Ranks) != len(d.Ranks) || tracks.LeftOut != 0 {
		t.Fatalf("%d tracks of %d ranks, %d left out", len(tracks.Ranks), len(d.Ranks), tracks.LeftOut)
	}
	var all Parts
	for i := range tracks.Ranks {
		track := &tracks.Ranks[i]
		r := &d.Ranks[i]
		if track.ID != r.ID || len(track.Spans) != r.Operations || track.Blamed != r.Blamed {
			t.Errorf("track %d is %s with %d operations, the rank %s with %d", i, track.ID, len(track.Spans), r.ID, r.Operations)
		}
		cost := int64(0)
		for k := range track.Spans {
			s := &track.Spans[k]
			all.add(s.Parts)
			if s.Parts.Total() != s.LeaveNS-s.EnterNS {
				t.Errorf("%s: parts of %d ns in an operation of %d", s.Operation, s.Parts.Total(), s.LeaveNS-s.EnterNS)
			}
			for _, b := range s.Blame {
				if !b.Link {
					cost += b.CostNS
				}
			}
			if slow := track.ID == "rank3" && (s.Step == "7" || s.Step == "12") && s.LateNS > 4e6; slow != (s.LateNS > 4e6) {
				t.Errorf("%s of %s, step %s: late by %d ns", s.Operation, track.ID, s.Step, s.LateNS)
			}
			if k > 0 && s.EnterNS < track.Spans[k-1].EnterNS {
				t.Errorf("%s: not in the order of time", track.ID)
			}
		}
		if cost != r.CostNS {
			t.Errorf("the blame of %s adds up to %d ns, its cost is %d", track.ID, cost, r.CostNS)
		}
	}
	if all != d.Time {
		t.Errorf("%+v in tracks, %+v in the document", all, d.Time)
	}
	if tracks.Ranks[0].ID != "rank3" {
		t.Errorf("%s comes first", tracks.Ranks[0].ID)
	}
}

// TestPicturesAreOfTheStepsThatCostMost: the rank that was slow stands first, and the others wait for it.
func TestPicturesAreOfTheStepsThatCostMost(t *testing.T) {
	d := find(t, slowAt(3, 7, 12))
	if len(d.Pictures) != PictureSteps {
		t.Fatalf("%d pictures", len(d.Pictures))
	}
	first := []string{d.Pictures[0].Step, d.Pictures[1].Step}
	slices.Sort(first)
	if !slices.Equal(first, []string{"12", "7"}) {
		t.Errorf("the pictures are of steps %q first", first)
	}
	for _, p := range d.Pictures[:2] {
		if p.Rows[0].Rank != "rank3" || p.Rows[0].CostNS < 4e6 || len(p.Rows) != 8 || len(p.Operations) != perStep {
			t.Errorf("step %s: %s first, cost %d; %d ranks, %d operations", p.Step, p.Rows[0].Rank, p.Rows[0].CostNS, len(p.Rows), len(p.Operations))
		}
		for _, row := range p.Rows[1:] {
			s := row.Spans[1]
			if s.For != "rank3" || s.ReadyNS-s.EnterNS < 3e6 || s.ReadyNS > s.LeaveNS {
				t.Errorf("step %s: %s waits %d ns for %q", p.Step, row.Rank, s.ReadyNS-s.EnterNS, s.For)
			}
		}
		on := map[string]bool{}
		for k, h := range p.Chain {
			on[h.Rank], on[h.LeftBy] = true, true
			if slow := h.Rank == "rank3" && h.CostNS > 4e6; slow != (k == 1) || h.BeganNS > h.EnteredNS || h.EnteredNS > h.LeftNS || k > 0 && h.BeganNS != p.Chain[k-1].LeftNS {
				t.Errorf("step %s: piece %d of the chain is %+v", p.Step, k, h)
			}
		}
		if len(p.Chain) != perStep || slices.ContainsFunc(p.Rows[:len(on)], func(r PictureRow) bool { return !on[r.Rank] && r.CostNS == 0 }) {
			t.Errorf("step %s: a chain of %d pieces over %v, and first come %+v", p.Step, len(p.Chain), on, p.Rows[:len(on)])
		}
		if s := p.Rows[0].Spans[1]; s.For != "" || s.CostNS < 4e6 {
			t.Errorf("step %s: the rank that is late waits for %q, and is charged %d ns", p.Step, s.For, s.CostNS)
		}
	}
}

// TestPicturesAreBounded: of many ranks and operations some are left out, and counted.
func TestPicturesAreBounded(t *testing.T) {
	s := &scene{ranks: 100, steps: 1, boundNS: 1000, noRing: true, rng: rand.New(rand.NewPCG(3, 3))}
	j := s.job()
	for range 20 {
		more := s.job()
		base := int32(len(j.Events))
		for _, o := range more.Ops {
			all := slices.Clone(o.Gates[0].Givers)
			for i := range all {
				all[i] += base
			}
			o.Gates = []Gate{{all, all}}
			j.Ops = append(j.Ops, o)
		}
		for _, e := range more.Events {
			e.Op += int32(len(j.Ops) - len(more.Ops))
			j.Events = append(j.Events, e)
		}
	}
	d := find(t, j)
	if len(d.Pictures) == 0 {
		t.Fatal("no picture")
	}
	p, spans := d.Pictures[0], 0
	for _, row := range p.Rows {
		spans += len(row.Spans)
	}
	if len(p.Rows) != PictureRanks || p.RanksLeftOut != 100-PictureRanks || spans != PictureEvents || spans+p.SpansLeftOut != PictureRanks*perStep*21 {
		t.Errorf("%d ranks, %d left out; %d spans, %d left out", len(p.Rows), p.RanksLeftOut, spans, p.SpansLeftOut)
	}
}
