package joining_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/joining"
	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/nccl/reading"
	"github.com/prlx-go/prlx/core/nccl/segment"
	"github.com/prlx-go/prlx/core/testing/nccltest"
)

func read(t *testing.T, i int, f *nccltest.File) *operation.Recording {
	t.Helper()
	src, err := file.FromBytes(fmt.Sprintf("%03d", i), f.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	s, err := segment.FromSource(src)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	one, err := reading.One(context.Background(), s, reading.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return one
}

func joined(t *testing.T, files []*nccltest.File) *operation.Job {
	t.Helper()
	return joinedBy(t, files, joining.Options{})
}

func joinedBy(t *testing.T, files []*nccltest.File, opt joining.Options) *operation.Job {
	t.Helper()
	var all []*operation.Recording
	for i, f := range files {
		all = append(all, read(t, i, f))
	}
	out, err := joining.Join(job.New(context.Background(), job.Options{}), all, opt)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func plan(ranks, perHost int, level uint32) nccltest.Plan {
	return nccltest.Plan{Seed: 3, Ranks: ranks, PerHost: perHost, Channels: 2, Steps: 8, Ops: 40, Level: level, ComputeNS: 3e5, Jitter: 0.05, Uneven: 0.02}
}

func TestClocksOfHostsAreRelatedByOperations(t *testing.T) {
	for _, level := range []uint32{1, 3} {
		files := nccltest.Simulate(plan(8, 1, level))
		j := joined(t, files)
		if j.Clocked != joining.ByCollectives || len(j.Clocks) != 8 {
			t.Fatalf("level %d: %d clocks related by %q: %q", level, len(j.Clocks), j.Clocked, j.Warnings)
		}
		for i := range j.Clocks {
			c := &j.Clocks[i]
			off := c.OffsetNS - files[i].SkewNS
			if max(off, -off) > max(c.BoundNS, 1) || level == 3 && max(off, -off) > 20_000 {
				t.Errorf("level %d: the clock of %s is %d ns ahead, found %d +- %d", level, c.Host, files[i].SkewNS, c.OffsetNS, c.BoundNS)
			}
		}
	}
}

func TestNothingRelatesClocksAtLevelZero(t *testing.T) {
	j := joined(t, nccltest.Simulate(plan(4, 2, 0)))
	if j.Clocked != joining.ByRealtime || j.Clocks[1].BoundNS != -1 || len(j.Warnings) == 0 {
		t.Errorf("clocks related by %q with bound %d, warnings %q", j.Clocked, j.Clocks[1].BoundNS, j.Warnings)
	}
}

func TestTheSameOperationsAreMatched(t *testing.T) {
	j := joined(t, nccltest.Simulate(plan(6, 3, 0)))
	if len(j.Matches) != 40 || len(j.Parts) != 240 || len(j.Ranks) != 6 || !j.Comms[0].World {
		t.Fatalf("got %d matches of %d parts, %d ranks; want 40 of 240, 6", len(j.Matches), len(j.Parts), len(j.Ranks))
	}
	for i := range j.Matches {
		m := &j.Matches[i]
		if int(m.Place) != i {
			t.Errorf("match %d has place %d", i, m.Place)
		}
		for k, p := range j.Of(m) {
			if op := j.Op(&p); int(p.Seat) != k || op.Sequence != m.Sequence || j.Recordings[p.Recording].Name(op.Func) != m.Func {
				t.Errorf("match %d, part %d is %+v of %+v", i, k, p, op)
			}
		}
	}
}

// pair writes a rank that sends to the other, and receives.
func pair(rank int, times int) *nccltest.File {
	f := nccltest.NewFile("alpha", uint32(10+rank))
	f.Heartbeat = 2_000_000_000
	user := f.Thread()
	c := f.Comm(5, "pair", 1, 2, rank, 1_000_000_000)
	for n := range times {
		at := int64(1_000_000_000 + n*1000)
		first, second := "Send", "Recv"
		if rank == 1 {
			first, second = second, first
		}
		user.P2P(at, c, 0, first, "ncclInt8", uint64(n), int32(1-rank))
		user.P2P(at+10, c, 0, second, "ncclInt8", uint64(1000+n), int32(1-rank))
	}
	return f
}

func TestTheKthSendIsTheKthReceive(t *testing.T) {
	j := joined(t, []*nccltest.File{pair(0, 3), pair(1, 2)})
	if len(j.Matches) != 6 {
		t.Fatalf("got %d matches, want 6", len(j.Matches))
	}
	alone := 0
	for i := range j.Matches {
		parts := j.Of(&j.Matches[i])
		if len(parts) == 1 {
			alone++
			continue
		}
		s, r := j.Op(&parts[0]), j.Op(&parts[1])
		if s.Kind != operation.Send || r.Kind != operation.Recv || s.Count != r.Count {
			t.Errorf("%+v is matched with %+v", s, r)
		}
	}
	if alone != 2 {
		t.Errorf("%d have no other end, want the last send and the last receive of rank 0", alone)
	}
}

func TestCountingIsNotTrustedWhereRecordsWereLost(t *testing.T) {
	a, b := pair(0, 3), pair(1, 3)
	b.Overwritten = map[int]uint64{nccltest.P2P: 5}
	j := joined(t, []*nccltest.File{a, b})
	if len(j.Matches) != 0 || !slices.ContainsFunc(j.Warnings, func(w string) bool { return strings.Contains(w, "6 operations of pair are not compared") }) {
		t.Errorf("got %d matches, warnings %q", len(j.Matches), j.Warnings)
	}
}

func TestTwoRecordingsOfOneRankAreNotMixed(t *testing.T) {
	old := pair(0, 3)
	again := pair(0, 2)
	again.PID, again.Cookie, again.WallNS = 99, 99, 60_000_000_000
	j := joined(t, []*nccltest.File{old, again, pair(1, 2)})
	if s := j.Comms[0].Seats[0]; j.Recordings[s.Recording].PID != 99 {
		t.Errorf("the seat is of process %d, want that of the later recording", j.Recordings[s.Recording].PID)
	}
	if len(j.Warnings) == 0 {
		t.Error("nothing says that two recordings are of one rank")
	}
}

func TestGPUsOfOneProcessAreRanks(t *testing.T) {
	f := nccltest.NewFile("alpha", 10)
	f.Heartbeat = 2_000_000_000
	user := f.Thread()
	for rank := range 4 {
		c := f.Comm(5, "world", 1, 4, 3-rank, 1_000_000_000)
		user.Coll(1_000_000_000+int64(rank), c, 0, nccltest.Collective{Func: "AllReduce", Datatype: "ncclInt8", Count: 1})
	}
	j := joined(t, []*nccltest.File{f})
	if len(j.Ranks) != 4 || len(j.Matches) != 1 || j.Matches[0].To-j.Matches[0].From != 4 || j.Ranks[2].ID != "2" {
		t.Errorf("got %d ranks, matches %+v", len(j.Ranks), j.Matches)
	}
}

// probed are the stamps that probers on all hosts write beside a job: trips of 10 to 40 us that need not take as long in both directions. Truth is the time
// of the first host.
func probed(files []*nccltest.File, hosts []string, skew map[string]int64) *clockfile.File {
	rnd := rand.New(rand.NewPCG(5, 6))
	out := &clockfile.File{Path: "probes.jsonl", Kind: clockfile.KindStamps}
	for i, h := range hosts {
		out.Probers = append(out.Probers, clockfile.Prober{Node: i, Hostname: h})
	}
	from, to := int64(math.MaxInt64), int64(0)
	for _, f := range files {
		from, to = min(from, f.WallNS-f.SkewNS), max(to, f.Heartbeat+f.WallNS-f.SkewNS)
	}
	from = to - 3_000_000_000
	for at, seq := from, int64(0); at < to; at += 20_000_000 {
		for src := range hosts {
			for dst := range hosts {
				if src == dst {
					continue
				}
				there, back := 10_000+rnd.Int64N(30_000), 10_000+rnd.Int64N(30_000)
				a, b := skew[hosts[src]], skew[hosts[dst]]
				seq++
				out.Stamps = append(out.Stamps, clockfile.Stamp{Src: int32(src), Dst: int32(dst), Seq: seq, T1: at + a, T2: at + there + b, T3: at + there + 1_000 + b, T4: at + there + 1_000 + back + a})
			}
		}
	}
	return out
}

// TestRanksAreTiedByProbes: recordings and the stamps of probers on their hosts give all ranks one clock, whatever level was recorded. Its bound is said, and the
// truth lies within.
func TestRanksAreTiedByProbes(t *testing.T) {
	for _, level := range []uint32{0, 3} {
		files := nccltest.Simulate(plan(8, 2, level))
		hosts, skew := []string{}, map[string]int64{}
		for _, f := range files {
			if _, ok := skew[f.Host]; !ok {
				hosts = append(hosts, f.Host)
			}
			skew[f.Host] = f.SkewNS
		}
		stamps := probed(files, hosts, skew)
		j := joinedBy(t, files, joining.Options{Clocks: []*clockfile.File{stamps}})
		if j.Clocked != joining.ByProbes || len(j.Clocks) != 4 || len(j.Ranks) != 8 {
			t.Fatalf("level %d: %d clocks related by %q: %q", level, len(j.Clocks), j.Clocked, j.Warnings)
		}
		for i := range j.Clocks {
			c := &j.Clocks[i]
			off := c.OffsetNS - skew[c.Host]
			if off = max(off, -off); off > max(c.BoundNS, 1) || c.BoundNS > 20_000 || c.BoundNS < 0 || c.Host != hosts[0] && c.BoundNS == 0 {
				t.Errorf("level %d: the clock of %s is %d ns ahead, found %d +- %d", level, c.Host, skew[c.Host], c.OffsetNS, c.BoundNS)
			}
		}
		for k := range j.Matches[:3] { // instants of all ranks are on that clock: calls of one operation are of the same iteration
			first, last := int64(math.MaxInt64), int64(0)
			for _, p := range j.Of(&j.Matches[k]) {
				first, last = min(first, j.Op(&p).StartNS), max(last, j.Op(&p).StartNS)
			}
			if truth := callsApart(t, files, k); last-first > truth+40_000 || last-first < truth-40_000 {
				t.Fatalf("calls of operation %d lie %d ns apart, want %d", k, last-first, truth)
			}
		}
	}
}

// callsApart is by how much the ranks of a simulated job schedule an operation apart, on one clock: their recordings read one by one, less the truth about their
// clocks.
func callsApart(t *testing.T, files []*nccltest.File, operation int) int64 {
	t.Helper()
	first, last := int64(math.MaxInt64), int64(0)
	for i, f := range files {
		at := read(t, i, f).Ops[operation].StartNS - f.SkewNS
		first, last = min(first, at), max(last, at)
	}
	return last - first
}

// TestProbesOfOtherHostsAreRefused: they say nothing of the job.
func TestProbesOfOtherHostsAreRefused(t *testing.T) {
	files := nccltest.Simulate(plan(2, 1, 1))
	stamps := probed(files, []string{"elsewhere", "nowhere"}, map[string]int64{})
	var all []*operation.Recording
	for i, f := range files {
		all = append(all, read(t, i, f))
	}
	_, err := joining.Join(job.New(context.Background(), job.Options{}), all, joining.Options{Clocks: []*clockfile.File{stamps}})
	if !fault.Is(err, fault.Incompatible) || !strings.Contains(err.Error(), "the probes name no host") {
		t.Error(err)
	}
}

// TestClocksDoNotDependOnHowLongARecordingGoesOn: what a process says after the last operation moves no clock.
func TestClocksDoNotDependOnHowLongARecordingGoesOn(t *testing.T) {
	p := plan(6, 2, 1)
	p.Ops = 400
	offsets := func(laterNS int64) (out []int64) {
		files := nccltest.Simulate(p)
		for _, f := range files {
			f.Heartbeat += laterNS
		}
		j := joined(t, files)
		for i := range j.Clocks {
			out = append(out, j.Clocks[i].OffsetNS)
		}
		return out
	}
	if now, later := offsets(0), offsets(7_000_000); !slices.Equal(now, later) {
		t.Errorf("clocks are ahead by %d, and by %d when processes live on for 7 ms", now, later)
	}
}
