// Package collectivetest makes up training jobs of many nodes: what their traces would hold of collectives, on clocks that are wrong in a known
// way. It is for tests.
package collectivetest

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/hlo"
)

// Start is the true instant at which every job starts, ns since 1970.
const Start = int64(1_760_000_000_000_000_000)

// Clock is a wall clock that is off by a constant, drifts, and whose rate swings; it may step once.
type Clock struct {
	OffsetNS    int64
	DriftPPM    float64
	WanderPPM   float64 // how far the rate swings to either side
	PeriodS     float64 // of the swing
	Phase       float64
	StepNS      int64
	StepAfterNS int64 // since Start; 0: no step
	Garbage     bool  // its readings are noise of a second
	noise       *rand.Rand
}

// Shows returns what the clock shows at a true instant, ns since Start.
func (c *Clock) Shows(t int64) int64 {
	s := float64(t) / 1e9
	off := c.DriftPPM * 1e3 * s
	if c.WanderPPM != 0 {
		w := 2 * math.Pi / c.PeriodS
		off += c.WanderPPM * 1e3 / w * (math.Cos(c.Phase) - math.Cos(w*s+c.Phase))
	}
	v := Start + t + c.OffsetNS + int64(math.Round(off))
	if c.StepAfterNS > 0 && t >= c.StepAfterNS {
		v += c.StepNS
	}
	if c.Garbage {
		v += c.noise.Int64N(1e9)
	}
	return v
}

// TrueAt returns the true instant, ns since Start, at which the clock shows a time. It is for clocks that neither step nor are garbage.
func (c *Clock) TrueAt(shown int64) int64 {
	t := shown - Start - c.OffsetNS
	for range 8 {
		t += shown - c.Shows(t)
	}
	return t
}

// Inversion is an execution that one member was made to leave before another had entered.
type Inversion struct {
	Op      int32
	Run     int64
	Left    collective.Slot // who left too early
	Enter   collective.Slot // the last to enter, of another node
	LeftNS  int64           // as recorded
	SizeNS  int64           // how long before the other entered it left, in truth
	EnterNS int64
}

// Invert makes one execution in every so many of an operation, in which all wait for all, impossible: by the least to the most ns, as many of
// any size as of twice that.
func (j *Job) Invert(key string, every int64, least, most float64) []Inversion {
	byRun := map[int64][]int{}
	for i := range j.Part.Spans {
		if s := &j.Part.Spans[i]; j.Part.Ops[s.Op].Key == key && s.Run%every == every/2 {
			byRun[s.Run] = append(byRun[s.Run], i)
		}
	}
	runs := slices.Sorted(maps.Keys(byRun))
	var out []Inversion
	for _, run := range runs {
		list := byRun[run]
		s := &j.Part.Spans[list[j.rng.IntN(len(list))]]
		last, enter := -1, int64(0)
		for _, i := range list {
			o := &j.Part.Spans[i]
			if at := j.Clocks[o.Node].TrueAt(o.StartNS); o.Node != s.Node && (last < 0 || at > enter) {
				last, enter = i, at
			}
		}
		if last < 0 {
			continue
		}
		o := &j.Part.Spans[last]
		size := int64(least * math.Pow(most/least, j.rng.Float64()))
		left := j.Clocks[s.Node].Shows(enter - size)
		s.StartNS, s.EndNS = min(s.StartNS, left-1000), left
		out = append(out, Inversion{
			Op: s.Op, Run: run, Left: collective.Slot{Node: s.Node, Device: s.Device}, Enter: collective.Slot{Node: o.Node, Device: o.Device},
			LeftNS: left, SizeNS: size, EnterNS: o.StartNS,
		})
	}
	return out
}

// Job is a training job of nodes that all have as many devices.
type Job struct {
	Seed           uint64
	Nodes, Devices int
	Steps          int
	StepNS         int64
	Lost           float64 // share of executions that no trace has
	TailShare      float64 // share of ends that come late, by a millisecond
	EntryMedianNS  float64
	EntrySigma     float64
	EndNS          int64 // within what the ends of a collective lie
	TakesNS        int64 // what a collective takes at least, once everybody is there
	DriftPPM       float64
	WanderPPM      float64
	NoWorld        bool // no group holds all nodes
	Numbered       bool // executions carry their number
	Pipeline       bool // neighbours send each other activations and gradients

	Clocks []Clock
	Part   *collective.Part
	rng    *rand.Rand
}

// Standard is the job of sixteen nodes that the issue of collectives was specified with, for a number of steps.
func Standard(seed uint64, nodes, devices, steps int) *Job {
	return &Job{
		Seed: seed, Nodes: nodes, Devices: devices, Steps: steps, StepNS: 100e6, Lost: 0.01, TailShare: 0.01,
		EntryMedianNS: 50e3, EntrySigma: 1.5, EndNS: 2000, TakesNS: 20e3, DriftPPM: 50, WanderPPM: 0.1, Numbered: true, Pipeline: true,
	}
}

// Make draws the clocks and what the traces hold.
func (j *Job) Make() *Job {
	j.rng = rand.New(rand.NewPCG(j.Seed, 14))
	if j.Clocks == nil {
		for n := range j.Nodes {
			c := Clock{PeriodS: 30 + 60*j.rng.Float64(), Phase: 2 * math.Pi * j.rng.Float64(), WanderPPM: j.WanderPPM}
			c.OffsetNS = j.rng.Int64N(1e9) - 5e8
			c.DriftPPM = j.DriftPPM * (2*j.rng.Float64() - 1)
			if n == 0 {
				c = Clock{}
			}
			j.Clocks = append(j.Clocks, c)
		}
	}
	for i := range j.Clocks {
		j.Clocks[i].noise = j.rng
	}
	j.Part = &collective.Part{DeviceIDs: map[collective.Slot]int64{}, Ranks: map[int32]int{}}
	j.make()
	return j
}

// op adds an operation of groups of participants, which are node*Devices+device.
func (j *Job) op(key string, kind event.Kind, groups [][]int64, pairs []hlo.Pair) int32 {
	ids := make([]int64, j.Nodes*j.Devices)
	for i := range ids {
		ids[i] = int64(i)
		j.Part.DeviceIDs[collective.Slot{Node: int32(i / j.Devices), Device: int32(i % j.Devices)}] = int64(i)
	}
	j.Part.Ops = append(j.Part.Ops, collective.Op{Key: key, Kind: kind, Groups: groups, Pairs: pairs, Devices: ids, Rooted: true})
	return int32(len(j.Part.Ops) - 1)
}

func (j *Job) make() {
	n := j.Nodes * j.Devices
	world := [][]int64{{}}
	across := make([][]int64, j.Devices)
	halves := make([][]int64, 2)
	var down, up []hlo.Pair
	for p := range int64(n) {
		world[0] = append(world[0], p)
		d := int(p) % j.Devices
		across[d] = append(across[d], p)
		node := int(p) / j.Devices
		halves[node*2/j.Nodes] = append(halves[node*2/j.Nodes], p)
		if node+1 < j.Nodes {
			down = append(down, hlo.Pair{Source: p, Target: p + int64(j.Devices)})
			up = append(up, hlo.Pair{Source: p + int64(j.Devices), Target: p})
		}
	}
	type phase struct {
		op     int32
		kind   event.Kind
		groups [][]int64
		pairs  []hlo.Pair
	}
	var phases []phase
	add := func(key string, kind event.Kind, groups [][]int64, pairs []hlo.Pair) {
		phases = append(phases, phase{j.op(key, kind, groups, pairs), kind, groups, pairs})
	}
	if j.Pipeline {
		add("step/activations", event.Permute, nil, down)
		add("step/gradients", event.Permute, nil, up)
	}
	add("step/reduce-halves", event.ReduceScatter, halves, nil)
	if !j.NoWorld {
		add("step/reduce-across", event.AllReduce, across, nil)
		add("step/reduce-all", event.AllReduce, world, nil)
	}
	for s := range j.Steps {
		for k, p := range phases {
			at := int64(s)*j.StepNS + int64(k)*(j.StepNS/int64(len(phases)+1))
			if p.pairs != nil {
				j.transfer(p.op, p.pairs, int64(s), at)
				continue
			}
			for _, g := range p.groups {
				j.collect(p.op, g, int64(s), at)
			}
		}
	}
}

// late draws how long after the others a member enters.
func (j *Job) late() int64 {
	return int64(math.Min(20e6, j.EntryMedianNS*math.Exp(j.EntrySigma*j.rng.NormFloat64())))
}

func (j *Job) end() int64 {
	e := int64(j.rng.Float64() * float64(j.EndNS))
	if j.rng.Float64() < j.TailShare {
		e += 1e6
	}
	return e
}

// collect is one execution of a collective whose members all wait for all.
func (j *Job) collect(op int32, group []int64, run, at int64) {
	enter := make([]int64, len(group))
	last := int64(0)
	for i := range group {
		enter[i] = at + j.late()
		last = max(last, enter[i])
	}
	done := last + j.TakesNS + j.rng.Int64N(j.TakesNS)
	for i, p := range group {
		j.span(op, p, run, enter[i], done+j.end())
	}
}

// transfer is one execution of sends to the next of a pipeline.
func (j *Job) transfer(op int32, pairs []hlo.Pair, run, at int64) {
	enter := map[int64]int64{}
	for _, p := range pairs {
		for _, who := range [2]int64{p.Source, p.Target} {
			if _, ok := enter[who]; !ok {
				enter[who] = at + j.late()
			}
		}
	}
	left := map[int64]int64{}
	for _, p := range pairs {
		left[p.Target] = max(enter[p.Source], enter[p.Target]) + j.TakesNS/2 + j.rng.Int64N(j.TakesNS)
		if _, ok := left[p.Source]; !ok {
			left[p.Source] = enter[p.Source] + j.TakesNS/4
		}
	}
	for who := range int64(j.Nodes * j.Devices) {
		if _, ok := enter[who]; ok {
			j.span(op, who, run, enter[who], max(left[who], enter[who]+j.TakesNS/4))
		}
	}
}

func (j *Job) span(op int32, who, run, enter, left int64) {
	if j.rng.Float64() < j.Lost {
		return
	}
	node := int32(who) / int32(j.Devices)
	c := &j.Clocks[node]
	j.Part.Spans = append(j.Part.Spans, event.Span{
		Node: node, Device: int32(who) % int32(j.Devices), Op: op, HasRun: j.Numbered, Run: run, StartNS: c.Shows(enter), EndNS: c.Shows(left) + 1,
	})
}

// LengthNS is how long the job runs.
func (j *Job) LengthNS() int64 { return int64(j.Steps) * j.StepNS }

// String says which job it is.
func (j *Job) String() string {
	return fmt.Sprintf("seed %d: %d nodes of %d devices, %d steps", j.Seed, j.Nodes, j.Devices, j.Steps)
}
