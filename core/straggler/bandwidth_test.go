package straggler

import (
	"fmt"
	"slices"
	"testing"
)

// TestRatesAreThoseOfNCCLTests: the size over the time, and for the bus what each link carries.
func TestRatesAreThoseOfNCCLTests(t *testing.T) {
	for kind, want := range map[string]float64{
		"all-reduce": 1.75, "all-gather": 0.875, "reduce-scatter": 0.875, "all-to-all": 0.875, "gather": 0.875, "scatter": 0.875, "broadcast": 1, "reduce": 1, "send-recv": 1, "permute": 1,
	} {
		if got := busFactor(kind, 8); got != want {
			t.Errorf("%s of 8: %g, want %g", kind, got, want)
		}
	}
	if algorithm, bus := rates(1<<30, 1e9, 1.75); algorithm != 1<<30 || bus != 1<<30*7/4 {
		t.Errorf("%d, %d", algorithm, bus)
	}
	if algorithm, bus := rates(1<<30, 0, 1); algorithm != 0 || bus != 0 {
		t.Errorf("%d, %d in no time", algorithm, bus)
	}
}

// TestASlowPairIsApartFromASlowRank: the pair has a row of its own whose transfer is long; where a rank is slow, the transfer is as with the others, and the whole
// duration is longer.
func TestASlowPairIsApartFromASlowRank(t *testing.T) {
	for _, slow := range []string{"link", "rank"} {
		s := newScene(1)
		s.steps, s.boundNS, s.skewNS = 40, 20e3, 20e3
		if slow == "link" {
			s.link = func(a, _, _ int) int64 {
				if a == 3 {
					return lateNS
				}
				return 0
			}
		} else {
			s.slow = func(rank, _, segment int) int64 {
				if rank == 3 && segment == 0 {
					return lateNS
				}
				return 0
			}
		}
		j := s.job()
		for k := range j.Ops {
			if o := &j.Ops[k]; o.Class == "send" {
				o.Name, o.Kind, o.Members, o.Bytes = "send", "send-recv", 2, 1e6
			} else {
				o.Name, o.Kind, o.Members, o.Bytes = "reduce", "all-reduce", s.ranks, 8e6
			}
		}
		d := find(t, j)
		pairs, all := 0, Bandwidth{}
		for _, b := range d.Bandwidths {
			if b.Kind == "all-reduce" {
				all = b
				continue
			}
			pairs++
			long := slices.Equal(b.Pair, []string{"rank3", "rank4"}) && slow == "link"
			if len(b.Pair) != 2 || b.Ranks != 2 || b.Operations != 40 || long != (b.TransferNS > 2e6) || long != (b.BusRate < 5e8) || b.BusRate != b.AlgorithmRate {
				t.Errorf("%s: %+v", slow, b)
			}
		}
		if pairs != s.ranks || all.Ranks != s.ranks || all.Operations != 160 || all.TransferNS < 1e6-1e5 || all.TransferNS > 1.1e6 || all.SlowestTransferNS > 1.2e6 || all.WholeBus >= all.BusRate {
			t.Errorf("%s: %d pairs, %+v", slow, pairs, all)
		}
		if link, rank := len(d.Links) > 0 && d.Links[0].Blamed, d.Ranks[0].Blamed; link != (slow == "link") || rank != (slow == "rank") {
			t.Errorf("%s: %s", slow, d.Verdict)
		}
	}
}

// TestATransferIsBoundedByThoseWhoMayHaveBeenLast.
func TestATransferIsBoundedByThoseWhoMayHaveBeenLast(t *testing.T) {
	for _, c := range []struct{ apart, bound, want int64 }{{100, 10, 0}, {100, 60, 100}, {0, 0, 0}} {
		j := &Job{Ranks: []Rank{{ID: "a"}, {ID: "b", Clock: 1}}, Events: []Event{
			{EnterNS: 0, LeaveNS: 1000, EnterBoundNS: c.bound}, {Rank: 1, EnterNS: c.apart, LeaveNS: 1000, EnterBoundNS: c.bound},
		}}
		if transfer, whole, bound := j.transfers([]int32{0, 1}); transfer != 1000-c.apart || whole != 1000 || bound != c.want {
			t.Error(fmt.Sprint(c, transfer, whole, bound))
		}
	}
}
