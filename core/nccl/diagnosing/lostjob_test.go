package diagnosing_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/testing/nccltest"
)

// A generator of jobs that lose time now and then, of its own: it shares the writer of the format with nccltest, and nothing else. A job is
// a ring of ranks that compute and reduce; what is drawn is what jobs on real machines show: times with heavy tails, imbalance that moves from
// rank to rank, a slow beginning, traffic of others. Scenarios and noise were written down before the rules that find them.

// rareFault is what goes wrong, and when.
type rareFault struct {
	kind  string
	rank  int             // that is slow, or that sends over the slow link
	link  bool            // to its successor, not the rank itself
	ops   map[int]float64 // by operation: by how much slower, or ns that are lost once
	pause bool            // ops are ns, not factors
	class int             // only before operations of this class; -1 all
}

// rareJob is a job in the making.
type rareJob struct {
	rng              *rand.Rand
	ranks, perHost   int
	ops, steps       int
	level            uint32
	computeNS        []float64 // before each class of operation
	stepNS           []float64 // of each class over a link
	sigma, network   float64   // of compute and of steps
	tail, moving     float64   // how often a rank is held up; by how much the slowest of a step has more to do, as a part
	warmUp           int       // operations
	traffic          float64   // how often others slow a link for an operation
	speed, linkSpeed []float64
	apartNS, driftPM float64 // of clocks of hosts
	fault            *rareFault

	enter, leave [][]int64 // by operation and rank, true time
	moves        [][][3][]int64
}

const rareStartNS = int64(1_000_000_000_000)

// newRareJob draws a job. sixtyFour: of as many hosts, whose clocks nothing relates.
func newRareJob(seed uint64, sixtyFour bool) *rareJob {
	rng := rand.New(rand.NewPCG(seed, 20261126))
	pick := func(list ...float64) float64 { return list[rng.IntN(len(list))] }
	j := &rareJob{
		rng: rng, ranks: []int{4, 8, 16}[rng.IntN(3)], perHost: []int{1, 2, 4}[rng.IntN(3)], ops: 60 + rng.IntN(61), steps: 4 + rng.IntN(5), level: 1,
		sigma: 0.005 + 0.045*rng.Float64(), network: 0.02 + 0.13*rng.Float64(), tail: pick(0, 0.002, 0.01), moving: pick(0, 0, 0.05, 0.15), warmUp: rng.IntN(4),
		traffic: pick(0, 0.002, 0.01), apartNS: pick(5e4, 2e6, 3e8), driftPM: pick(0, 2, 20),
	}
	if sixtyFour {
		j.ranks, j.perHost = 64, 1
	}
	for range 1 + rng.IntN(3) {
		j.computeNS = append(j.computeNS, 4e6+2e7*rng.Float64())
		j.stepNS = append(j.stepNS, 2e5*math.Exp(1.5*rng.Float64()))
	}
	for range j.ranks {
		j.speed = append(j.speed, 1+0.002*rng.NormFloat64())
		j.linkSpeed = append(j.linkSpeed, 1+0.03*rng.Float64())
	}
	return j
}

// runNS is about how long the job takes without its fault.
func (j *rareJob) runNS() float64 {
	sum := 0.0
	for n := range j.ops {
		c := n % len(j.computeNS)
		sum += j.computeNS[c] + float64(j.steps)*j.stepNS[c]*1.3
	}
	return sum
}

func (j *rareJob) play() {
	ready := make([]int64, j.ranks)
	for r := range ready {
		ready[r] = rareStartNS + int64(1e6*j.rng.Float64())
	}
	for n := range j.ops {
		class := n % len(j.computeNS)
		enter := make([]int64, j.ranks)
		heavy := j.rng.IntN(j.ranks)
		for r := range enter {
			ns := j.computeNS[class] * j.speed[r] * math.Exp(j.sigma*j.rng.NormFloat64())
			if r == heavy {
				ns *= 1 + j.moving*j.rng.ExpFloat64()
			}
			if hit, much := j.rng.Float64(), min(0.1*math.Pow(j.rng.Float64(), -1/2.2), 2); hit < j.tail {
				ns += j.computeNS[class] * much
			}
			if much := j.rng.Float64(); n < j.warmUp {
				ns *= 1 + 19*much
			}
			enter[r] = ready[r] + int64(ns+j.held(n, r, class, ns))
		}
		j.enter = append(j.enter, enter)
		j.transfer(n, class)
		copy(ready, j.leave[n])
	}
}

// held is what the fault adds to what a rank computes.
func (j *rareJob) held(n, r, class int, ns float64) float64 {
	f := j.fault
	if f == nil || f.link || f.rank != r || f.class >= 0 && f.class != class {
		return 0
	}
	if f.pause {
		return f.ops[n]
	}
	return ns * max(f.ops[n]-1, 0)
}

// transfer sends chunks round the ring: each rank passes on what came in the step before. moves are, by rank and step, when it was filled, sent and
// had come from the rank before.
func (j *rareJob) transfer(n, class int) {
	enter := j.enter[n]
	slow := make([]float64, j.ranks)
	for r := range slow {
		slow[r] = j.linkSpeed[r]
		if hit, much := j.rng.Float64(), 2+3*j.rng.Float64(); hit < j.traffic {
			slow[r] *= much
		}
	}
	filled, sent, came := make([][]int64, j.ranks), make([][]int64, j.ranks), make([][]int64, j.ranks)
	for r := range enter {
		filled[r], sent[r], came[r] = make([]int64, j.steps), make([]int64, j.steps), make([]int64, j.steps)
	}
	retry := j.rng.IntN(j.steps)
	for k := range j.steps {
		for r := range enter {
			filled[r][k] = enter[r]
			if k > 0 {
				filled[r][k] = max(enter[r], came[r][k-1], sent[r][k-1])
			}
			filled[r][k] += int64(1500 * (0.8 + 0.4*j.rng.Float64()))
		}
		for r := range enter {
			ns := j.stepNS[class] * slow[r] * math.Exp(j.network*j.rng.NormFloat64())
			if f := j.fault; f != nil && f.link && f.rank == r {
				switch {
				case !f.pause:
					ns *= max(f.ops[n], 1)
				case k == retry:
					ns += f.ops[n]
				}
			}
			next := (r + 1) % j.ranks
			sent[r][k] = max(filled[r][k], enter[next]) + int64(ns)
			came[next][k] = sent[r][k] + 800
		}
	}
	leave, moves := make([]int64, j.ranks), make([][3][]int64, j.ranks)
	last := slices.Max(enter)
	for r := range enter {
		leave[r] = max(sent[r][j.steps-1], came[r][j.steps-1], last) + int64(2000+3000*j.rng.Float64())
		moves[r] = [3][]int64{filled[r], sent[r], came[r]}
	}
	j.leave, j.moves = append(j.leave, leave), append(j.moves, moves)
}

// clockOf is how a host's clock shows the true time.
func (j *rareJob) clocks() []func(ns int64) int64 {
	out := make([]func(int64) int64, (j.ranks+j.perHost-1)/j.perHost)
	for h := range out {
		off, drift := int64(j.apartNS*j.rng.NormFloat64()), 1e-6*j.driftPM*j.rng.NormFloat64()
		out[h] = func(ns int64) int64 { return ns + off + int64(drift*float64(ns-rareStartNS)) }
	}
	return out
}

// rareEvent is a record that is written at its time.
type rareEvent struct {
	ns int64
	do func(ns int64)
}

// files are the recordings.
func (j *rareJob) files() []*nccltest.File {
	clocks := j.clocks()
	end := int64(0)
	for _, l := range j.leave {
		end = max(end, slices.Max(l))
	}
	var out []*nccltest.File
	for r := range j.ranks {
		host := r / j.perHost
		f := nccltest.NewFile(fmt.Sprintf("host%02d", host), uint32(4000+r))
		f.Cookie, f.Level, f.WallNS = uint16(300+r), j.level, 1_700_000_000_000_000_000
		clock := clocks[host]
		user, proxy, kernel := f.Thread(), f.Thread(), f.Thread()
		c := f.Comm(0xfeed, "world", (j.ranks+j.perHost-1)/j.perHost, j.ranks, r, clock(rareStartNS))
		var all []rareEvent
		for n := range j.ops {
			all = append(all, j.records(n, r, c, user, proxy, kernel)...)
		}
		slices.SortStableFunc(all, func(a, b rareEvent) int { return cmp.Compare(a.ns, b.ns) })
		for _, e := range all {
			e.do(clock(e.ns))
		}
		f.Heartbeat = clock(end + 50e6)
		f.Ended = true
		out = append(out, f)
	}
	return out
}

// records are those of one operation of one rank.
func (j *rareJob) records(n, r, c int, user, proxy, kernel *nccltest.Thread) (all []rareEvent) {
	enter, leave := j.enter[n][r], j.leave[n][r]
	at := enter - 60_000 // called
	var group, call, launch, op, k uint64
	add := func(ns int64, do func(ns int64)) { all = append(all, rareEvent{ns, do}) }
	add(at, func(ns int64) { group = user.GroupAPI(ns, c) })
	add(at+300, func(ns int64) {
		call = user.API(ns, c, group, false, nccltest.Call{Func: "AllReduce", Datatype: "ncclFloat32", Count: j.count(n), Stream: 3})
	})
	add(at+700, func(ns int64) { user.Stop(ns, call) })
	add(at+1500, func(ns int64) { launch = user.Launch(ns, c, group, 3) })
	add(at+5000, func(ns int64) { user.Stop(ns, launch) })
	add(at+5500, func(ns int64) {
		op = user.Coll(ns, c, call, nccltest.Collective{Func: "AllReduce", Datatype: "ncclFloat32", Algorithm: "RING", Protocol: "SIMPLE", Sequence: uint64(n), Count: j.count(n), Channels: 1})
	})
	add(at+6500, func(ns int64) { user.Stop(ns, op); user.Stop(ns, group) })
	add(enter, func(ns int64) { k = kernel.Kernel(ns+2000, c, op, 0, ns) })
	add(leave, func(ns int64) { kernel.KernelStop(ns+2000, k, ns) })
	next, before := (r+1)%j.ranks, (r+j.ranks-1)%j.ranks
	if j.level >= 3 && next/j.perHost != r/j.perHost {
		j.proxy(add, n, r, c, next, true, &op, proxy)
	}
	if j.level >= 3 && before/j.perHost != r/j.perHost {
		j.proxy(add, n, r, c, before, false, &op, proxy)
	}
	return all
}

func (j *rareJob) count(n int) uint64 { return 1 << (18 + n%len(j.computeNS)) }

func (j *rareJob) proxy(add func(int64, func(int64)), n, r, c, peer int, send bool, op *uint64, t *nccltest.Thread) {
	at, bytes := j.enter[n][r]-40_000, int32(1<<19)
	m := &j.moves[n][r]
	var h uint64
	add(at, func(ns int64) { h = t.ProxyOp(ns, c, *op, int32(peer), int32(j.steps), bytes, 0, send) })
	add(at+3000, func(ns int64) { t.State(ns, h, 19, 0) })
	for k := range j.steps {
		var s uint64
		start := at + 5000
		if k > 0 {
			start = max(start, m[1][k-1])
		}
		if send {
			add(start, func(ns int64) { s = t.Step(ns, c, h, uint16(k)) })
			add(start, func(ns int64) { t.State(ns, s, 8, 0) })
			add(max(start, m[0][k]), func(ns int64) { t.State(ns, s, 20, 0) })
			add(max(start, m[0][k], j.enter[n][peer]), func(ns int64) { t.State(ns, s, 9, uint64(bytes)) })
			add(m[1][k], func(ns int64) { t.Stop(ns, s) })
			continue
		}
		if k > 0 {
			start = max(at+5000, m[2][k-1])
		}
		add(start, func(ns int64) { s = t.Step(ns, c, h, uint16(k)) })
		add(start, func(ns int64) { t.State(ns, s, 10, 0) })
		add(max(start, m[2][k]), func(ns int64) { t.State(ns, s, 11, uint64(bytes)) })
		add(max(start, m[2][k])+300, func(ns int64) { t.State(ns, s, 12, 0) })
		add(max(start, m[2][k])+900, func(ns int64) { t.Stop(ns, s) })
	}
	add(j.leave[n][r], func(ns int64) { t.Stop(ns, h) })
}

// inspector writes what NVIDIA's Inspector would of the same job: how long each operation took, and not when.
func (j *rareJob) inspector(t *testing.T, dir string) (paths []string) {
	for r := range j.ranks {
		var text strings.Builder
		for n := range j.ops {
			dumped := (j.leave[n][r]/500_000_000+1)*500_000 + 1_700_000_000_000_000 // its thread looks now and then
			fmt.Fprintf(&text, `{"header":{"id":"0xfeed","rank":%d,"n_ranks":%d,"nnodes":%d},"metadata":{"inspector_output_format_version":"v4.0","dump_timestamp_us":%d,"hostname":"host%02d","pid":%d},"coll_perf":{"coll":"AllReduce","coll_sn":%d,"coll_msg_size_bytes":%d,"coll_exec_time_us":%d,"coll_timing_source":"kernel_gpu"}}`+"\n",
				r, j.ranks, (j.ranks+j.perHost-1)/j.perHost, dumped, r/j.perHost, 4000+r, n+1, 4*j.count(n), (j.leave[n][r]-j.enter[n][r])/1000)
		}
		path := filepath.Join(dir, fmt.Sprintf("host%02d-pid%d.log", r/j.perHost, 4000+r))
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}
