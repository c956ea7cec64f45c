package diagnosing

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/nccl/dividing"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/straggler"
)

// jobOf is a job of one communicator with so many seats, each a process of its own that is damaged or not, and matches by what members executed.
func jobOf(seats int, damaged []bool, matches ...[]operation.Op) *operation.Job {
	job := &operation.Job{Comms: []operation.Comm{{Name: "world", Ranks: int32(seats)}}}
	for seat := range seats {
		r := &operation.Recording{Names: []string{"AllReduce"}, LastNS: 1e9}
		if seat < len(damaged) && damaged[seat] {
			r.Loss.Harm = []string{"a segment is gone"}
		}
		job.Recordings = append(job.Recordings, r)
		job.Ranks = append(job.Ranks, operation.Rank{ID: string(rune('0' + seat)), Recording: int32(seat)})
		job.Comms[0].Seats = append(job.Comms[0].Seats, operation.Seat{Recording: int32(seat), Rank: int32(seat)})
	}
	for _, ops := range matches {
		m := operation.Match{Kind: operation.Collective, Func: "AllReduce", From: int32(len(job.Parts))}
		for seat, op := range ops {
			op.API, op.Launch = -1, -1
			if op.Kind == operation.Send {
				m.Kind, m.Func = operation.Send, "Send"
			}
			r := job.Recordings[seat]
			job.Parts = append(job.Parts, operation.Part{Seat: int32(seat), Rank: int32(seat), Recording: int32(seat), Op: int32(len(r.Ops))})
			r.Ops = append(r.Ops, op)
		}
		m.To = int32(len(job.Parts))
		job.Matches = append(job.Matches, m)
	}
	return job
}

// TestASendNeedsItsTwoSeatsAndNoOther, whatever the number of its peer is said to be.
func TestASendNeedsItsTwoSeatsAndNoOther(t *testing.T) {
	for peer, want := range map[int32][]int32{1: {0, 1}, 0: {0}, -1: {0}, 3: {0}, 2: {0, 2}, 1 << 30: {0}} {
		d := newDossier(jobOf(3, nil, []operation.Op{{Kind: operation.Send, Peer: peer}}), Options{})
		if got := d.members(&d.job.Matches[0]); !slices.Equal(got, want) {
			t.Errorf("peer %d: seats %v, want %v", peer, got, want)
		}
	}
}

// TestWhoCalledSomethingElseIsCertainWhereOthersCannotOutnumberThem.
func TestWhoCalledSomethingElseIsCertainWhereOthersCannotOutnumberThem(t *testing.T) {
	op := operation.Op{}
	for _, c := range []struct {
		damaged int
		certain bool
	}{{0, true}, {1, true}, {2, true}, {3, false}} {
		var damaged []bool
		for i := range 6 {
			damaged = append(damaged, i < c.damaged)
		}
		many, few := slices.Repeat([]operation.Op{op}, 3), []operation.Op{op}
		d := newDossier(jobOf(6, damaged, many, few), Options{})
		w := &follower{d: d}
		w.differentCalls(&stall{match: 0}, &stall{match: 1})
		if len(w.out.findings) != 1 || w.out.findings[0].Certain != c.certain {
			t.Errorf("three called one, one the other, %d recordings are damaged: %+v, want certain: %v", c.damaged, w.out.findings, c.certain)
		}
	}
}

// TestWhatARankCostsIsItsOwnWhereClocksLeaveTooMuchOpen, from the share on that counts as a loss.
func TestWhatARankCostsIsItsOwnWhereClocksLeaveTooMuchOpen(t *testing.T) {
	late := &straggler.Document{LengthNS: 1_000_000}
	for _, c := range []struct {
		share  float64
		ownNS  int64
		wantNS int64
	}{{0, 20_000, 20_000}, {0, 19_999, 7}, {0, 30_000, 30_000}, {leastOfJob, 30_000, 7}, {leastOfJob / 2, 30_000, 30_000}} {
		if got := costOf(&straggler.RankCost{Share: c.share, OwnNS: c.ownNS, CostNS: 7}, late); got != c.wantNS {
			t.Errorf("%+v: cost %d", c, got)
		}
	}
}

func TestALinkIsSaidWithItsNICWhereThatIsKnown(t *testing.T) {
	for nic, want := range map[int]string{-1: "", 0: "(NIC 0)", 3: "(NIC 3)"} {
		got := said(&dividing.Link{From: "1", To: "2", NIC: nic})
		if strings.Contains(got, "NIC") != (want != "") || !strings.Contains(got, want) {
			t.Errorf("NIC %d: %s", nic, got)
		}
	}
}

// TestWhatSaysTheSameOfTheSameRanksIsSaidOnce, whoever found it; who waits is said of all.
func TestWhatSaysTheSameOfTheSameRanksIsSaidOnce(t *testing.T) {
	one := func(class, rank string, waiting ...string) *Finding {
		return &Finding{Class: class, Ranks: []string{rank}, Waiting: waiting}
	}
	var first, second found
	first.add(one(classMismatch, "1", "0", "2"))
	first.add(one(classMismatch, "1", "2", "3"))
	first.advise("a")
	second.add(one(classMismatch, "1", "4"))
	second.add(one(classEnded, "1"))
	second.advise("b")
	second.advise("a")
	all := together(&first, &second)
	if len(all.findings) != 2 || !slices.Equal(all.findings[0].Waiting, []string{"0", "2", "3", "4"}) || all.findings[1].Class != classEnded || !slices.Equal(all.advice, []string{"a", "b"}) {
		t.Errorf("%+v", all)
	}
	if len(first.findings) != 1 || !slices.Equal(first.findings[0].Waiting, []string{"0", "2", "3"}) {
		t.Errorf("what was found first is changed: %+v", first.findings)
	}
}

// TestWhatDoesNotEndComesBeforeWhatTakesLong, and what is certain before what is not.
func TestWhatDoesNotEndComesBeforeWhatTakesLong(t *testing.T) {
	list := []Finding{{Class: classStraggler, Certain: true}, {Class: classUnrecorded}, {Class: classStage}, {Class: classNeverArrived, Certain: true}, {Class: ClassSlowNIC, Certain: true}}
	sortFindings(list)
	var order []string
	for i := range list {
		order = append(order, list[i].Class)
	}
	if want := []string{classNeverArrived, classStage, classUnrecorded, ClassSlowNIC, classStraggler}; !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
}

// TestTheChanceOfSlowLinksIsChernoffs: of n operations all as slow at least.
func TestTheChanceOfSlowLinksIsChernoffs(t *testing.T) {
	for _, c := range []struct {
		above, n int
		want     float64
	}{{10, 10, 1e-10}, {5, 10, math.Exp(-10 * (0.5*math.Log(5) + 0.5*math.Log(0.5/0.9)))}, {1, 10, 1}, {0, 0, 1}} {
		if got := chance(c.above, c.n, 0.1); math.Abs(got-c.want) > 1e-9*c.want+1e-14 {
			t.Errorf("%d of %d: %v, want %v", c.above, c.n, got, c.want)
		}
	}
}

// TestWhatIsLookedAtIsCounted: kernels, proxies and steps of all recordings; operations also where nothing that is open was recorded.
func TestWhatIsLookedAtIsCounted(t *testing.T) {
	job := jobOf(2, nil, make([]operation.Op, 2), make([]operation.Op, 2), make([]operation.Op, 2))
	job.Recordings[0].Proxies, job.Recordings[1].Proxies = make([]operation.ProxyOp, 2), make([]operation.ProxyOp, 3)
	job.Recordings[0].Kernels, job.Recordings[1].Kernels = make([]operation.Kernel, 4), make([]operation.Kernel, 1)
	job.Recordings[0].Proxies[1].Begun, job.Recordings[1].Proxies[0].Begun = 5, 7
	d := newDossier(job, Options{})
	if l := d.looked(mismatches{looked: lookedNone}, stalls{}, &slowness{links: lookedUnknown}); l.Proxies != 5 || l.Kernels != 5 || l.Steps != 12 || l.Mismatches != lookedNone || l.Links != lookedUnknown {
		t.Errorf("looked at %+v", l)
	}
	d.partial = true
	if s := lookForStalls(d); s.looked.Operations != 3 || s.looked.Stalls != lookedUnknown || len(s.findings)+len(s.stuck)+len(s.waits) > 0 {
		t.Errorf("of recordings that hold ended operations alone: %+v", s)
	}
}

// TestAnOperationIsUnknownWhereOnlyDamagedRecordingsLackItsEnd, and where members called it and nothing shows whether it ran.
func TestAnOperationIsUnknownWhereOnlyDamagedRecordingsLackItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		damaged                       []bool
		progress                      [2]operation.Progress
		complete, unknown, unfinished int
	}{
		"both ended":            {nil, [2]operation.Progress{operation.Finished, operation.Finished}, 1, 0, 0},
		"one runs":              {nil, [2]operation.Progress{operation.Finished, operation.Running}, 0, 0, 1},
		"a damaged one runs":    {[]bool{false, true}, [2]operation.Progress{operation.Finished, operation.Running}, 0, 1, 0},
		"both were called":      {nil, [2]operation.Progress{operation.Called, operation.Called}, 0, 1, 0},
		"one was called, rests": {nil, [2]operation.Progress{operation.Called, operation.Running}, 0, 0, 1},
	} {
		d := newDossier(jobOf(2, c.damaged, make([]operation.Op, 2)), Options{StallNS: math.MaxInt64})
		d.ext[0].Progress, d.ext[1].Progress = c.progress[0], c.progress[1]
		var l Looked
		_, state := d.stalled(0)
		l.count(state)
		if l.Complete != c.complete || l.Unknown != c.unknown || l.Unfinished != c.unfinished {
			t.Errorf("%s: %+v", name, l)
		}
	}
}
