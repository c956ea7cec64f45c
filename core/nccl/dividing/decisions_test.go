package dividing

import (
	"math"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/straggler"
)

// division2 is an operation of two seats, each of a process of its own, with extents as they are given.
func division2(m operation.Match, ops [2]operation.Op, ext ...operation.Extent) *division {
	job := &operation.Job{Comms: []operation.Comm{{Name: "world", Ranks: 2, Seats: make([]operation.Seat, 2)}}, Clocks: make([]operation.HostClock, 1)}
	m.To = int32(len(ext))
	for seat := range 2 {
		r := &operation.Recording{Ops: []operation.Op{ops[seat]}, Launch: []operation.Launch{{StartNS: 5, StopNS: int64(70 + seat)}}}
		job.Recordings = append(job.Recordings, r)
		job.Ranks = append(job.Ranks, operation.Rank{Recording: int32(seat)})
		if seat < len(ext) {
			job.Parts = append(job.Parts, operation.Part{Seat: int32(seat), Rank: int32(seat), Recording: int32(seat)})
		}
	}
	job.Matches = []operation.Match{m}
	return &division{job, ext}
}

// TestAnOperationIsWholeWhereAllMembersWereSeenToBeginAndEnd.
func TestAnOperationIsWholeWhereAllMembersWereSeenToBeginAndEnd(t *testing.T) {
	whole := operation.Extent{Progress: operation.Finished, BeganNS: 100, EndedNS: 200}
	later := operation.Extent{Progress: operation.Finished, BeganNS: 130, EndedNS: 190}
	for name, c := range map[string]struct {
		kind operation.Kind
		ext  []operation.Extent
		want bool
	}{
		"both":              {operation.Collective, []operation.Extent{whole, later}, true},
		"of copy engines":   {operation.CopyEngine, []operation.Extent{whole, later}, false},
		"one of two":        {operation.Collective, []operation.Extent{whole}, false},
		"one runs":          {operation.Collective, []operation.Extent{whole, {Progress: operation.Running, BeganNS: 100}}, false},
		"no begin":          {operation.Collective, []operation.Extent{whole, {Progress: operation.Finished, EndedNS: 200}}, false},
		"ends before begin": {operation.Collective, []operation.Extent{whole, {Progress: operation.Finished, BeganNS: 200, EndedNS: 199}}, false},
	} {
		d := division2(operation.Match{Kind: c.kind, Func: "AllReduce"}, [2]operation.Op{}, c.ext...)
		w, ok := d.whole(0)
		if ok != c.want || ok && (w.BeganNS != 130 || w.EndedNS != 200 || w.Last != 1 || w.LeadNS != 30) {
			t.Errorf("%s: %v, %+v", name, ok, w)
		}
	}
}

// TestWhatAProxyDidForOthersIsInTheirSum: operations that another process adopted are left out, those behind them are not.
func TestWhatAProxyDidForOthersIsInTheirSum(t *testing.T) {
	r := &operation.Recording{Proxies: []operation.ProxyOp{
		{Adopted: true, Finished: 100, Bytes: 1000},
		{Finished: 3, Bytes: 30, Retries: 1, StartNS: 10, ProgressNS: 14},
		{Foreign: true, Finished: 4, Bytes: 40, StartNS: 10, ProgressNS: 20},
		{Adopted: true, Finished: 50},
		{Finished: 5, Bytes: 50, StartNS: 10, ProgressNS: 10},
	}}
	p := proxyOf(r, "7")
	if p.Operations != 3 || p.Steps != 12 || p.Bytes != 120 || p.Retries != 1 || p.Foreign != 1 || p.DelayNS != 4 || p.Rank != "7" {
		t.Errorf("got %+v", p)
	}
}

// TestEventsOfAnOperation: who gives and who takes, and when its launch came back; of a graph that is launched again the launch is another's.
func TestEventsOfAnOperation(t *testing.T) {
	ext := []operation.Extent{{Progress: operation.Finished, BeganNS: 100, EndedNS: 200}, {Progress: operation.Finished, BeganNS: 130, EndedNS: 190}}
	for name, c := range map[string]struct {
		function string
		ops      [2]operation.Op
		launches []int64
		gates    []straggler.Gate
	}{
		"all wait for all": {"AllReduce", [2]operation.Op{{}, {}}, []int64{70, 71}, []straggler.Gate{{Givers: []int32{0, 1}, Receivers: []int32{0, 1}}}},
		"launched again":   {"AllReduce", [2]operation.Op{{Occurrence: 1}, {Occurrence: 1}}, []int64{0, 0}, []straggler.Gate{{Givers: []int32{0, 1}, Receivers: []int32{0, 1}}}},
		"launch not seen":  {"AllReduce", [2]operation.Op{{Launch: -1}, {}}, []int64{0, 71}, []straggler.Gate{{Givers: []int32{0, 1}, Receivers: []int32{0, 1}}}},
		"from the root":    {"Broadcast", [2]operation.Op{{Peer: 1}, {Peer: 1}}, []int64{70, 71}, []straggler.Gate{{Givers: []int32{1}, Receivers: []int32{0}}}},
		"nobody takes":     {"Broadcast", [2]operation.Op{{Peer: 0}, {Peer: 1}}, []int64{70, 71}, nil},
		"nobody gives":     {"Broadcast", [2]operation.Op{{Peer: -1}, {Peer: -1}}, []int64{70, 71}, nil},
		"of no known kind": {"Something", [2]operation.Op{{}, {}}, []int64{70, 71}, nil},
	} {
		d := division2(operation.Match{Kind: operation.Collective, Func: c.function, Sequence: 9}, c.ops, ext...)
		out := &straggler.Job{}
		d.addTo(out, &whole{})
		if len(out.Ops) != 1 || len(out.Events) != 2 || out.Ops[0].Occurrence != 9 || out.Ops[0].Members != 2 {
			t.Errorf("%s: %+v", name, out)
			continue
		}
		launches := []int64{out.Events[0].LaunchNS, out.Events[1].LaunchNS}
		same := slices.EqualFunc(out.Ops[0].Gates, c.gates, func(a, b straggler.Gate) bool {
			return slices.Equal(a.Givers, b.Givers) && slices.Equal(a.Receivers, b.Receivers)
		})
		if !slices.Equal(launches, c.launches) || !same {
			t.Errorf("%s: launches %v, gates %+v", name, launches, out.Ops[0].Gates)
		}
	}
}

// TestChanceIsStudents: by tables of the distribution, two-sided 0.001, which the series reaches to a few percent from 9 degrees of freedom on.
func TestChanceIsStudents(t *testing.T) {
	for n, want := range map[int]float64{10: 4.781, 16: 4.073, 31: 3.646, 1001: 3.300} {
		a, b := spread{n: n}, spread{n: n + 3}
		a.error[1], b.error[1] = 3, 4
		if got := chance(&a, &b, 1); math.Abs(got/5-want) > 0.03*want {
			t.Errorf("%d stretches: %.3f times the error, want %.3f", n, got/5, want)
		}
	}
	if got := chance(&spread{n: fewStretches - 1}, &spread{n: 100}, 0); got >= 0 {
		t.Errorf("of %d stretches a spread says %v", fewStretches-1, got)
	}
}
