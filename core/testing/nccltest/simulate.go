package nccltest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Fault is what goes wrong in a simulated job.
type Fault int

// The faults.
const (
	Healthy     Fault = iota
	Straggler         // a rank computes longer, in most iterations
	SlowLink          // from a rank to its successor on one channel
	SlowSend          // all that a rank sends
	SlowReceive       // all that it receives
	Missing           // a rank does not call an operation any more, and lives
	Died              // its process ends without a word
	WrongCount        // it passes another count
	WrongCall         // it calls another operation
	Deadlock          // two ranks enter two communicators in opposite order
	P2PDeadlock       // all send to their successors before they receive, and nothing is buffered
	HangSendGPU       // the stages of a step, one after the other
	HangSendPeer
	HangSend
	HangRecv
	HangFlush
	HangRecvGPU
	Faults
)

var faultNames = [...]string{
	"healthy", "straggler", "slow link", "slow send", "slow receive", "missing", "died", "wrong count", "wrong call", "deadlock", "p2p deadlock",
	"hang SendGPUWait", "hang SendPeerWait", "hang SendWait", "hang RecvWait", "hang RecvFlushWait", "hang RecvGPUWait",
}

func (f Fault) String() string { return faultNames[f] }

// Plan is a job to simulate.
type Plan struct {
	Seed      uint64
	Again     uint64 // from 1 on: runs of one job, whose ranks and links are as fast in each, and what varies does so otherwise
	Ranks     int
	PerHost   int // ranks on each host: only hops between hosts have proxies
	Channels  int
	Steps     int // of each proxy operation
	Ops       int
	Level     uint32
	ComputeNS float64 // between operations, the median
	Jitter    float64 // of everything, as a part
	Uneven    float64 // by how much ranks and links differ for good, as a part
	Bursts    float64 // how often other traffic makes a step, or all steps of an operation on a link, take 2 to 10 times as long
	WarmUp    int     // operations at the beginning that take up to 30 times as long to arrive
	Algorithm string  // "" rings; TREE: AllReduce by trees; NVLS: all by the switch of one host, which no proxy serves
	Graph     bool    // operations are captured once, and replayed
	PXN       bool    // what the even rank of a pair sends goes through the process of the odd one
	Lost      float64 // of all records, those that find no room
	TailNS    int64   // for how long processes live on after the last event, at most 2 s where all is well

	Fault   Fault
	Rank    int // at which it is
	At      int // the operation
	Channel int
	Factor  float64 // by how much slower
}

const never = math.MaxInt64 / 4

// job is a simulation: an operation of a ring at a time, a step of all its ranks at a time. What never happens has the time never, and so has
// all that needs it.
type job struct {
	p     Plan
	rnd   *rand.Rand
	lasts *rand.Rand // draws what is so in every run of the job
	ranks []*rank
	speed []float64 // of ranks
	link  map[[3]int]float64
	burst map[[2]int]float64
	shape int // of the distribution of times
}

// rank is one process.
type rank struct {
	file   *File
	user   []event
	proxy  []event
	kernel []event
	gpuNS  int64 // when its GPU is free
	hostNS int64 // when its host called last
	skewNS int64 // of the clock of its host
	comms  []int
	ahead  int  // calls since its GPU does not go on
	stuck  bool // its host makes no calls any more
	gpuOff int64
	graph  map[string]*captured // by function
}

// captured is a call that a graph replays.
type captured struct {
	call     *uint64
	sequence uint64
}

type event struct {
	ns int64
	do func()
}

// startNS is when simulated jobs begin, CLOCK_MONOTONIC; wallNS what CLOCK_REALTIME is ahead.
const (
	startNS = int64(3_000_000_000_000)
	wallNS  = int64(1_700_000_000_000_000_000)
)

// Simulate makes the recordings of a job, one per rank.
func Simulate(p Plan) []*File {
	j := &job{p: p, rnd: rand.New(rand.NewPCG(p.Seed, 77+p.Again)), link: map[[3]int]float64{}}
	if j.lasts = j.rnd; p.Again > 0 {
		j.lasts = rand.New(rand.NewPCG(p.Seed, 76))
	}
	j.shape = j.lasts.IntN(3)
	hostSkew := map[int]int64{}
	for r := range p.Ranks {
		host := r / p.PerHost
		if _, ok := hostSkew[host]; !ok {
			hostSkew[host] = j.rnd.Int64N(4_000_000) - 2_000_000
			if host == 0 {
				hostSkew[host] = 0
			}
		}
		f := NewFile(fmt.Sprintf("node%d", host), uint32(1000+r))
		f.Cookie = uint16(100 + r)
		f.Level, f.WallNS = p.Level, wallNS
		one := &rank{file: f, gpuNS: startNS, hostNS: startNS, skewNS: hostSkew[host], gpuOff: j.rnd.Int64N(1_000_000)}
		f.SkewNS = one.skewNS
		if p.Lost > 0 {
			f.Lose = func() bool { return j.rnd.Float64() < p.Lost }
		}
		one.comms = append(one.comms, f.Comm(0xabc1, "world", (p.Ranks+p.PerHost-1)/p.PerHost, p.Ranks, r, startNS+one.skewNS))
		if p.Fault == Deadlock {
			one.comms = append(one.comms, f.Comm(0xabc2, "second", (p.Ranks+p.PerHost-1)/p.PerHost, p.Ranks, r, startNS+one.skewNS))
		}
		j.ranks = append(j.ranks, one)
		j.speed = append(j.speed, 1+p.Uneven*j.lasts.Float64())
	}
	for n := range p.Ops {
		if j.p.Fault == Deadlock && n == p.At {
			j.deadlock(n)
			break
		}
		if j.p.Fault == P2PDeadlock && n == p.At {
			j.circle()
			break
		}
		j.collective(n)
	}
	return j.write()
}

// vary is a time about a median, by a distribution that the seed chose.
func (j *job) vary(median float64) int64 {
	x := 1.0
	switch j.shape {
	case 0:
		x = math.Exp(j.p.Jitter * j.rnd.NormFloat64())
	case 1:
		x = 1 + j.p.Jitter*(j.rnd.ExpFloat64()-0.7)
	case 2:
		x = 1 + j.p.Jitter*2*(j.rnd.Float64()-0.5)
	}
	return int64(median * max(x, 0.05))
}

// linkNS is what a step needs over a link.
func (j *job) linkNS(from, to, channel int, bytes float64) int64 {
	k := [3]int{from, to, channel}
	if _, ok := j.link[k]; !ok {
		j.link[k] = (1 + j.p.Uneven*j.lasts.Float64()) / 25 // ns a byte: 25 GB/s
	}
	ns := j.link[k] * bytes
	switch {
	case j.p.Fault == SlowLink && from == j.p.Rank && to == j.next(from, channel) && channel == j.p.Channel, j.p.Fault == SlowSend && from == j.p.Rank, j.p.Fault == SlowReceive && to == j.p.Rank:
		ns *= j.p.Factor
	}
	if j.rnd.Float64() < j.p.Bursts {
		ns *= 2 + 8*j.rnd.Float64()
	}
	return j.vary(ns * j.burst[[2]int{from, channel}])
}

// traffic draws what other jobs do to links during an operation.
func (j *job) traffic() {
	j.burst = map[[2]int]float64{}
	for r := range j.p.Ranks {
		for c := range j.p.Channels {
			x := 1.0
			if j.rnd.Float64() < j.p.Bursts {
				x = 2 + 8*j.rnd.Float64()
			}
			j.burst[[2]int{r, c}] = x
		}
	}
}

// next is the successor of a rank in the ring of a channel: odd channels go round the other way, the third and fourth with larger strides.
func (j *job) next(r, channel int) int {
	n, stride := j.p.Ranks, 1
	if channel >= 2 {
		stride = 3
		for gcd(stride, n) != 1 {
			stride += 2
		}
	}
	if channel%2 == 1 {
		return (r + n*stride - stride) % n
	}
	return (r + stride) % n
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (j *job) network(a, b int) bool { return a/j.p.PerHost != b/j.p.PerHost }

var mix = []struct {
	function string
	count    uint64
}{{"AllReduce", 1 << 20}, {"AllGather", 1 << 22}, {"ReduceScatter", 1 << 19}, {"AllReduce", 1 << 12}}

// call makes a rank call operation n. It returns when its kernel can begin.
func (j *job) call(r, comm int, function string, seq, count uint64, p2p int) (begins int64, op *uint64, api func() uint64) {
	k := j.ranks[r]
	k.hostNS += j.vary(20_000)
	if k.gpuNS < never { // runs ahead of its GPU, by no more than a few operations
		k.hostNS = max(k.hostNS, k.gpuNS-3*int64(j.p.ComputeNS))
	}
	at := k.hostNS
	t := k.file
	c := k.comms[comm]
	var group, call, launch, started uint64
	handle := &started
	collective := Collective{Func: function, Datatype: "ncclFloat32", Algorithm: j.algorithm(function), Protocol: "SIMPLE", Sequence: seq, Count: count, Channels: uint8(j.p.Channels)}
	if j.p.Graph && p2p < 0 {
		if captured := k.graph[function]; captured != nil { // a callback of the host schedules it
			if j.p.Level == 0 {
				collective.Sequence = captured.sequence
			}
			k.user = append(
				k.user, event{at + 6_500, func() { *handle = t.threads[0].Coll(at+6_500+k.skewNS, c, *captured.call, collective) }},
				event{at + 7_500, func() { t.threads[0].Stop(at+7_500+k.skewNS, *handle) }},
			)
			return at + 6_000, handle, func() uint64 { return *handle }
		}
		if k.graph == nil {
			k.graph = map[string]*captured{}
		}
		k.graph[function] = &captured{&call, seq}
	}
	k.user = append(k.user,
		event{at, func() { group = t.threads[0].GroupAPI(at+k.skewNS, c) }},
		event{at + 500, func() {
			call = t.threads[0].API(at+500+k.skewNS, c, group, p2p >= 0, Call{Func: function, Datatype: "ncclFloat32", Count: count, Stream: 7, Captured: j.p.Graph && p2p < 0})
		}},
		event{at + 900, func() { t.threads[0].Stop(at+900+k.skewNS, call) }},
		event{at + 2_000, func() { launch = t.threads[0].Launch(at+2_000+k.skewNS, c, group, 7) }},
		event{at + 6_000, func() { t.threads[0].Stop(at+6_000+k.skewNS, launch) }},
		event{at + 6_500, func() {
			if p2p >= 0 {
				*handle = t.threads[0].P2P(at+6_500+k.skewNS, c, call, function, "ncclFloat32", count, int32(p2p))
			} else {
				*handle = t.threads[0].Coll(at+6_500+k.skewNS, c, call, collective)
			}
		}},
		event{at + 7_500, func() { t.threads[0].Stop(at+7_500+k.skewNS, *handle); t.threads[0].Stop(at+7_500+k.skewNS, group) }},
	)
	return at + 6_000, handle, func() uint64 { return *handle }
}

// collective simulates one operation of the world.
func (j *job) collective(n int) {
	p := &j.p
	j.traffic()
	o := mix[n%len(mix)]
	seq := uint64(0)
	for i := range n {
		if mix[i%len(mix)].function == o.function {
			seq++
		}
	}
	begin, handles, called := make([]int64, p.Ranks), make([]func() uint64, p.Ranks), make([]int64, p.Ranks)
	for r := range p.Ranks {
		begin[r] = never
		k := j.ranks[r]
		if k.gpuNS >= never {
			k.ahead++
			k.stuck = k.stuck || k.ahead > 2
		}
		faulty := r == p.Rank && n >= p.At
		if k.stuck || faulty && (p.Fault == Missing || p.Fault == Died) {
			k.stuck = true
			continue
		}
		function, count, number := o.function, o.count, seq
		if faulty && n == p.At && p.Fault == WrongCount {
			count /= 2
		}
		wrong := faulty && p.Fault == WrongCall
		if wrong {
			function, number = "Broadcast", 0
			k.stuck = true
		}
		compute := p.ComputeNS * j.speed[r]
		if p.Fault == Straggler && r == p.Rank && j.rnd.Float64() < 0.9 {
			compute *= p.Factor
		}
		took := j.vary(compute)
		if n < p.WarmUp {
			took += int64(30 * p.ComputeNS * j.rnd.Float64())
		}
		launched, _, handle := j.call(r, 0, function, number, count, -1)
		called[r], handles[r] = launched, handle
		if k.gpuNS < never {
			begin[r] = max(launched, k.gpuNS+took)
		}
		if wrong {
			j.kernelOf(r, 0, handle, begin[r], never)
			begin[r] = never
		}
	}
	bytes := float64(o.count) * 4 / float64(p.Steps*p.Channels) / 8
	ends := make([]int64, p.Ranks)
	for c := range p.Channels {
		for r, end := range j.channel(o.function, n, c, begin, called, handles, bytes) {
			ends[r] = max(ends[r], end)
		}
	}
	for r := range p.Ranks {
		j.ranks[r].gpuNS = ends[r]
	}
}

// kernelOf writes a kernel's channel, if it began.
func (j *job) kernelOf(r, channel int, op func() uint64, begin, end int64) {
	if j.p.Level < 1 || begin >= never {
		return
	}
	k := j.ranks[r]
	var h uint64
	seen := func(at int64) int64 { return at + 500 + j.rnd.Int64N(8_000) }
	at := seen(begin)
	k.kernel = append(k.kernel, event{at, func() {
		h = k.file.threads[2].Kernel(at+k.skewNS, k.comms[0], op(), uint16(channel), begin+k.gpuOff+wallNS)
	}})
	if end < never {
		done := max(seen(end), at+1)
		k.kernel = append(k.kernel, event{done, func() { k.file.threads[2].KernelStop(done+k.skewNS, h, end+k.gpuOff+wallNS) }})
	}
}

// steps are the instants of the steps of one rank on one channel.
type steps struct {
	start, fill, credit, sent          []int64 // what it sends
	posted, arrived, flushed, consumed []int64 // what it receives
}

func line(n int) []int64 { return make([]int64, n) }

// ring simulates one channel of an operation, and returns when the kernels end.
func (j *job) ring(n, c int, begin, called []int64, handles []func() uint64, bytes float64) []int64 {
	p := &j.p
	all := make([]steps, p.Ranks)
	before := make([]int, p.Ranks)
	for r := range all {
		s := &all[r]
		for _, l := range []*[]int64{&s.start, &s.fill, &s.credit, &s.sent, &s.posted, &s.arrived, &s.flushed, &s.consumed} {
			*l = line(p.Steps)
		}
		before[j.next(r, c)] = r
	}
	at := func(list []int64, k int, otherwise int64) int64 {
		if k < 0 {
			return otherwise
		}
		return list[k]
	}
	hangs := func(f Fault, r, k int) bool {
		return p.Fault == f && n == p.At && r == p.Rank && c == p.Channel && k >= p.Steps/2
	}
	add := func(t, d int64) int64 {
		if t >= never {
			return never
		}
		return t + d
	}
	for k := range p.Steps {
		for r := range all {
			s := &all[r]
			proxy := int64(never)
			if handles[r] != nil {
				proxy = called[r] + 15_000
			}
			s.start[k] = max(proxy, at(s.sent, k-8, 0))
			s.fill[k] = add(max(s.start[k], begin[r], at(s.consumed, k-1, begin[r]), at(s.fill, k-1, 0)), j.vary(1500))
			s.posted[k] = max(proxy, at(s.consumed, k-8, 0))
			if hangs(HangSendGPU, r, k) {
				s.fill[k] = never
			}
		}
		for r := range all {
			s, to := &all[r], j.next(r, c)
			s.credit[k] = add(all[to].posted[k], 1_000)
			if hangs(HangSendPeer, r, k) {
				s.credit[k] = never
			}
			ready := max(s.fill[k], s.credit[k], at(s.sent, k-1, 0))
			s.sent[k] = add(ready, j.linkNS(r, to, c, bytes))
			if hangs(HangSend, r, k) {
				s.sent[k] = never
			}
		}
		for r := range all {
			s, from := &all[r], before[r]
			s.arrived[k] = add(all[from].sent[k], 800)
			if hangs(HangRecv, r, k) {
				s.arrived[k] = never
			}
			s.arrived[k] = max(s.arrived[k], s.posted[k], at(s.arrived, k-1, 0))
			s.flushed[k] = max(add(s.arrived[k], 600), at(s.flushed, k-1, 0))
			if hangs(HangFlush, r, k) {
				s.flushed[k] = never
			}
			s.consumed[k] = add(max(s.flushed[k], begin[r], s.fill[k], at(s.consumed, k-1, 0), at(s.sent, k-7, 0)), j.vary(1500))
			if hangs(HangRecvGPU, r, k) {
				s.consumed[k] = never
			}
		}
	}
	ends := make([]int64, p.Ranks)
	for r := range all {
		if handles[r] == nil {
			ends[r] = never
			continue
		}
		last := max(all[r].consumed[p.Steps-1], all[r].sent[p.Steps-1])
		ends[r] = last
		if begin[r] < never {
			j.kernelOf(r, c, handles[r], begin[r], last)
		}
		j.proxies(r, c, before[r], handles[r], called[r], &all[r], bytes)
	}
	return ends
}

// proxies writes the proxy operations of one rank on one channel.
func (j *job) proxies(r, c, from int, op func() uint64, called int64, s *steps, bytes float64) {
	done := max(s.sent[j.p.Steps-1], s.consumed[j.p.Steps-1])
	j.proxy(r, c, j.next(r, c), true, op, called, s, bytes, done)
	j.proxy(r, c, from, false, op, called, s, bytes, done)
}

// proxy writes one proxy operation, where it goes through the network. All of an operation stop when the last is done.
func (j *job) proxy(r, c, peer int, send bool, op func() uint64, called int64, s *steps, bytes float64, done int64) {
	p, owner := &j.p, j.ranks[r]
	if p.Level < 2 || !j.network(r, peer) {
		return
	}
	k := owner
	foreign := p.PXN && send && r%2 == 0 && r+1 < p.Ranks && !j.network(r, r+1)
	if foreign {
		k = j.ranks[r+1]
	}
	var h uint64
	t := k.file
	k.proxy = append(k.proxy, event{called + 10_000, func() {
		at := called + 10_000 + k.skewNS
		if foreign {
			h = t.threads[1].ProxyOpFor(at, owner.file, op(), int32(peer), int32(p.Steps), uint8(c))
			return
		}
		h = t.threads[1].ProxyOp(at, k.comms[0], op(), int32(peer), int32(p.Steps), int32(bytes), uint8(c), send)
	}}, event{called + 15_000, func() { t.threads[1].State(called+15_000+k.skewNS, h, 19, 0) }})
	for n := range p.Steps {
		if p.Level >= 3 {
			j.step(k, c, n, &h, s, send, bytes)
		}
	}
	if done < never {
		k.proxy = append(k.proxy, event{done + 200, func() { t.threads[1].Stop(done+200+k.skewNS, h) }})
	}
}

// step writes one step of a proxy operation, as far as it came.
func (j *job) step(k *rank, c, n int, op *uint64, s *steps, send bool, bytes float64) {
	t := k.file
	type change struct {
		ns    int64
		state uint8
		size  uint64
	}
	list := []change{{s.posted[n], 10, 0}, {s.arrived[n], 11, uint64(bytes)}, {s.flushed[n], 12, 0}}
	first, last := s.posted[n], s.consumed[n]
	if send {
		list = []change{{s.start[n], 8, 0}, {s.fill[n], 20, 0}, {max(s.fill[n], s.credit[n]), 9, uint64(bytes)}}
		first, last = s.start[n], s.sent[n]
	}
	if first >= never {
		return
	}
	var h uint64
	k.proxy = append(k.proxy, event{first, func() { h = t.threads[1].Step(first+k.skewNS, k.comms[0], *op, uint16(n)) }})
	for _, x := range list {
		if x.ns >= never {
			return
		}
		k.proxy = append(k.proxy, event{x.ns, func() { t.threads[1].State(x.ns+k.skewNS, h, x.state, x.size) }})
		if x.state == 9 && n == 0 {
			k.proxy = append(k.proxy, event{x.ns, func() { t.threads[1].IB(x.ns+k.skewNS, k.comms[0], h, uint32(c)) }})
		}
	}
	if last < never {
		k.proxy = append(k.proxy, event{last, func() { t.threads[1].Stop(last+k.skewNS, h) }})
	}
}

// deadlock: half of the ranks enter the second communicator first, whose kernel holds their GPU; they wait for the others, which wait for them
// in the first.
func (j *job) deadlock(n int) {
	for r := range j.p.Ranks {
		order := []int{0, 1}
		if r == j.p.Rank {
			order = []int{1, 0}
		}
		for i, comm := range order {
			seq := uint64(0)
			if comm == 0 {
				for k := range n {
					if mix[k%len(mix)].function == "AllReduce" {
						seq++
					}
				}
			}
			launched, _, handle := j.call(r, comm, "AllReduce", seq, 1<<20, -1)
			if i == 0 {
				j.kernelOf(r, 0, handle, max(launched, j.ranks[r].gpuNS+int64(j.p.ComputeNS)), never)
			}
		}
	}
}

// circle: all send to their successors, and receive only then.
func (j *job) circle() {
	for r := range j.p.Ranks {
		launched, _, handle := j.call(r, 0, "Send", 0, 1<<20, (r+1)%j.p.Ranks)
		j.kernelOf(r, 0, handle, max(launched, j.ranks[r].gpuNS+int64(j.p.ComputeNS)), never)
		j.call(r, 0, "Recv", 0, 1<<20, (r-1+j.p.Ranks)%j.p.Ranks)
	}
}

// write lets the events of all threads happen.
func (j *job) write() []*File {
	last := int64(0)
	for _, k := range j.ranks {
		for _, list := range [][]event{k.user, k.proxy, k.kernel} {
			for _, e := range list {
				last = max(last, e.ns)
			}
		}
	}
	files := make([]*File, 0, len(j.ranks))
	for r, k := range j.ranks {
		for range 3 {
			k.file.Thread()
		}
		all := slices.Concat(k.user, k.proxy, k.kernel)
		slices.SortStableFunc(all, func(a, b event) int { return cmp.Compare(a.ns, b.ns) })
		own := startNS
		for _, e := range all {
			e.do()
			own = e.ns
		}
		k.file.Heartbeat = last + j.p.TailNS + k.skewNS
		if j.p.Fault == Died && r == j.p.Rank {
			k.file.Heartbeat = own + 300_000_000 + k.skewNS
		}
		files = append(files, k.file)
	}
	return files
}
