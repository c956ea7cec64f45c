package straggler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// pipeline is a job of stages that hand micro-batches on: each computes, then sends to the next, which waits for it. slow needs longer.
func pipeline(stages, batches, slow int, longer int64) *Job {
	rng := rand.New(rand.NewPCG(5, 5))
	j := &Job{Names: []Did{{"compute", DidPart}}, Work: make([][]Work, stages)}
	at := make([]int64, stages)
	for s := range stages {
		at[s] = 1e9
		j.Ranks = append(j.Ranks, Rank{ID: fmt.Sprintf("stage%d", s), Clock: int32(s), FirstNS: 1e9})
	}
	for b := range batches {
		for s := range stages {
			took := int64(1e6) + rng.Int64N(2000)
			if s == slow {
				took += longer
			}
			if s > 0 { // receive from the stage before, which has computed
				begin := max(at[s-1], at[s])
				op := int32(len(j.Ops))
				send, recv := int32(len(j.Events)), int32(len(j.Events)+1)
				left := begin + 10e3
				j.Events = append(j.Events, Event{Rank: int32(s - 1), Op: op, EnterNS: at[s-1], LeaveNS: at[s-1] + 10e3}, Event{Rank: int32(s), Op: op, EnterNS: at[s], LeaveNS: left})
				j.Ops = append(j.Ops, Op{Key: fmt.Sprintf("%d->%d", s-1, s), Class: "forward", Group: "pipeline", Step: -1, Occurrence: b, Gates: []Gate{{[]int32{send}, []int32{recv}}}})
				at[s-1], at[s] = at[s-1]+10e3, left
			}
			j.Work[s] = append(j.Work[s], Work{0, at[s], at[s] + took})
			at[s] += took
		}
	}
	return j
}

// TestAStageThatWaitsForItsNeighbourIsNotLate: all stages after a slow one are late at each of theirs, and the slow one alone is blamed.
func TestAStageThatWaitsForItsNeighbourIsNotLate(t *testing.T) {
	for slow := range 3 {
		j := pipeline(4, 200, slow, 300e3)
		j.FindSteps()
		d := find(t, j)
		for _, r := range d.Ranks {
			if want := r.ID == fmt.Sprintf("stage%d", slow); r.Blamed != want || want && r.Causes[0].Name != "compute" {
				t.Errorf("stage %d is slow: %s; %+v", slow, d.Verdict, r)
			}
		}
	}
	if d := find(t, pipeline(4, 200, -1, 0)); d.Status == StatusBlamed {
		t.Errorf("nobody is slow: %s", d.Verdict)
	}
}

// TestStepsAreWhatRepeats: with one operation missing in the middle, and none where nothing repeats.
func TestStepsAreWhatRepeats(t *testing.T) {
	make := func(classes []string) *Job {
		j := &Job{Ranks: []Rank{{ID: "a"}}}
		for i, c := range classes {
			j.Ops = append(j.Ops, Op{Class: c, Step: -1})
			j.Events = append(j.Events, Event{Op: int32(i), EnterNS: int64(i) * 10, LeaveNS: int64(i)*10 + 5})
		}
		j.FindSteps()
		return j
	}
	var classes []string
	for range 20 {
		classes = append(classes, "x", "x", "y", "z")
	}
	j := make(classes)
	if len(j.Steps) != 20 || j.Ops[7].Step != 1 || j.Ops[8].Step != 2 {
		t.Errorf("%d steps; %+v", len(j.Steps), j.Ops[6:9])
	}
	if j := make([]string{"a", "b", "c", "d"}); len(j.Steps) != 1 {
		t.Errorf("%d steps of what does not repeat", len(j.Steps))
	}
	if j := make(nil); len(j.Steps) != 0 {
		t.Errorf("%d steps of nothing", len(j.Steps))
	}
	if got := periodOf(slices.Repeat([]int32{3}, 50)); got != 1 {
		t.Errorf("period %d of what is always the same", got)
	}
}

// TestNonsenseIsSurvived: instants in any order, gates of anybody; the time adds up and nothing runs away.
func TestNonsenseIsSurvived(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		j := &Job{Ranks: []Rank{{ID: "a"}, {ID: "b", Clock: 1}, {ID: "c", Clock: 1}}}
		instants := func() int64 { return r.Int64N(1000) - 500 }
		for op := range int32(1 + r.IntN(40)) {
			o := Op{Class: fmt.Sprint(r.IntN(3)), Step: -1}
			var all []int32
			for range 1 + r.IntN(4) {
				all = append(all, int32(len(j.Events)))
				j.Events = append(j.Events, Event{Rank: int32(r.IntN(3)), Op: op, EnterNS: instants(), LeaveNS: instants(), EnterBoundNS: r.Int64N(50), LeaveBoundNS: 1 << 61})
			}
			if k := r.IntN(len(all)); r.IntN(4) > 0 {
				o.Gates = []Gate{{all[k:], all[:k]}, {all, all}}[r.IntN(2):]
			}
			j.Ops = append(j.Ops, o)
		}
		j.FindSteps()
		want := int64(0)
		for i := range j.Events {
			want += max(j.Events[i].LeaveNS-j.Events[i].EnterNS, 0)
		}
		if d := find(t, j); d.Time.Total() != want || len(d.Ranks) != 3 {
			t.Fatalf("seed %d: %+v, want %d", seed, d.Time, want)
		}
	}
	if d := find(t, &Job{}); d.Status != StatusInconclusive {
		t.Errorf("an empty job: %s", d.Verdict)
	}
}
