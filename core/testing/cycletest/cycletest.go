// Package cycletest makes sequences of kernels whose repeating structure is known: it writes them step by step and notes where each
// step and layer starts and ends. It is for tests.
//
// Borders are where the generator started a step or a layer. Symbols alone could not tell a rotation of a step that is equally good,
// so kernels carry times, with a pause in front of steps and a shorter one in front of microbatches. What happens once is no cycle and is not in the truth.
package cycletest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Repeat is the truth about one class: what repeats and where.
type Repeat struct {
	Name   string // "layer decode", "step prefill", "request"
	Phase  string // of a step or layer: prefill, decode, mixed, draft, verify, train-fwd, train-bwd, optimizer, or ""
	Period int    // kernels without edits
	// Reps are in order, as indices into the kernels of stream 0.
	Reps []Rep
}

// Rep is one repetition.
type Rep struct {
	Start, End int
	Edited     bool
}

// Case is one sequence with its truth.
type Case struct {
	Family string
	Seed   uint64
	Names  []string // by symbol
	// One entry a kernel, in order of start.
	Symbols []uint32
	StartNS []int64
	DurNS   []int64
	Stream  []uint16 // 0 is the compute stream; 1 communicates
	Truth   []Repeat // none for a sequence without cycles
}

// Main returns the kernels of stream 0, the pause before each of them, and the index of each in the whole sequence.
func (c *Case) Main() (symbols []uint32, gaps []int64, index []int) {
	var end int64
	for i, s := range c.Symbols {
		if c.Stream[i] != 0 {
			continue
		}
		gap := int64(0)
		if len(symbols) > 0 {
			gap = max(0, c.StartNS[i]-end)
		}
		end = c.StartNS[i] + c.DurNS[i]
		symbols, gaps, index = append(symbols, s), append(gaps, gap), append(index, i)
	}
	return symbols, gaps, index
}

// Options say how to make a case.
type Options struct {
	Kernels int     // about how many
	Noise   float64 // the share of steps with 1 to 3 inserted, missing or swapped kernels
	Jitter  float64 // the share of kernels of the second stream that start somewhere else
}

// Families lists what can be made. The last one has no cycle.
func Families() []string {
	out := make([]string, 0, len(families))
	for _, f := range families {
		out = append(out, f.name)
	}
	return out
}

var families = []struct {
	name string
	make func(g *generator)
}{
	{"single-prefill", singlePrefill},
	{"multi-prefill", multiPrefill},
	{"chunked-mixed", chunkedMixed},
	{"batch-buckets", batchBuckets},
	{"speculative", speculative},
	{"dense-moe", denseMoE},
	{"alternating", alternating},
	{"two-streams", twoStreams},
	{"pipeline", pipeline},
	{"training", training},
	{"warm-up", warmUp},
	{"truncated", truncated},
	{"nested", nested},
	{"none", none},
}

// Make makes a case. The same arguments give the same case.
func Make(family string, seed uint64, opt Options) *Case {
	for i, f := range families {
		if f.name == family {
			g := newGenerator(seed*64+uint64(i), opt)
			g.c.Family, g.c.Seed = family, seed
			f.make(g)
			return g.finish()
		}
	}
	panic("cycletest: no family " + family)
}

// part is a piece of a step: kernels, or a layer several times.
type part struct {
	kernels []uint32
	repeat  *template // with layers
	times   int
}

// template is a layer, a microbatch, a step or a request.
type template struct {
	name, phase string
	parts       []part
	pauseNS     int64 // in front of it
}

func (t *template) size() int {
	n := 0
	for _, p := range t.parts {
		n += len(p.kernels)
		if p.repeat != nil {
			n += p.times * p.repeat.size()
		}
	}
	return n
}

type generator struct {
	*rand.Rand
	opt    Options
	c      *Case
	names  map[string]uint32
	truth  map[string]*Repeat
	order  []string
	now    int64
	main   int         // kernels of stream 0
	edits  map[int]int // of that step: by its kernel's number, what happens to it
	at     int         // number of the kernel within the step
	comm   []uint32    // kernels of stream 1, one for each of these places in a layer
	serial int
}

func newGenerator(seed uint64, opt Options) *generator {
	if opt.Kernels == 0 {
		opt.Kernels = 10_000
	}
	return &generator{
		Rand: rand.New(rand.NewPCG(seed, 0x5eed)), opt: opt, c: &Case{}, names: map[string]uint32{}, truth: map[string]*Repeat{},
		now: 1_700_000_000_000_000_000,
	}
}

func (g *generator) id(name string) uint32 {
	n, ok := g.names[name]
	if !ok {
		n = uint32(len(g.c.Names))
		g.names[name] = n
		g.c.Names = append(g.c.Names, name)
	}
	return n
}

func (g *generator) between(a, b int) int { return a + g.IntN(b-a+1) }

// kernel writes one kernel of stream 0.
func (g *generator) kernel(s uint32) {
	g.now += int64(g.between(800, 2500))
	dur := int64(g.between(2000, 9000))
	g.write(s, 0, g.now, dur)
	g.now += dur
	g.main++
}

func (g *generator) write(s uint32, stream uint16, start, dur int64) {
	g.c.Symbols = append(g.c.Symbols, s)
	g.c.StartNS = append(g.c.StartNS, start)
	g.c.DurNS = append(g.c.DurNS, dur)
	g.c.Stream = append(g.c.Stream, stream)
}

const (
	insert = iota + 1
	drop
	swap
)

// step writes a step, with edits where the dice say so.
func (g *generator) step(t *template) {
	g.edits, g.at = nil, 0
	if g.opt.Noise > 0 && g.Float64() < g.opt.Noise {
		g.edits = g.chooseEdits(t)
	}
	g.template(t)
	g.edits = nil
}

// chooseEdits picks 1 to 3 kernels of a step that are not the first or last two of a step, layer or run of kernels: an edit there could belong to either
// side.
func (g *generator) chooseEdits(t *template) map[int]int {
	var inner []int
	free := map[int]bool{} // not beside an equal one: which of equal kernels is missing cannot be determined, and the last of them may be at a border
	n := 0
	var visit func(t *template)
	visit = func(t *template) {
		for _, p := range t.parts {
			for i := range p.kernels {
				if i >= 2 && i < len(p.kernels)-3 {
					inner = append(inner, n)
					free[n] = p.kernels[i] != p.kernels[i-1] && p.kernels[i] != p.kernels[i+1]
				}
				n++
			}
			for range p.times {
				visit(p.repeat)
			}
		}
	}
	visit(t)
	edits := map[int]int{}
	if len(inner) == 0 {
		return edits
	}
	for range g.between(1, 3) {
		at, kind := inner[g.IntN(len(inner))], g.between(insert, swap)
		if !free[at] {
			kind = insert
		}
		edits[at] = kind
	}
	return edits
}

func (g *generator) template(t *template) {
	g.now += t.pauseNS
	r := g.truth[t.name]
	if r == nil {
		r = &Repeat{Name: t.name, Phase: t.phase, Period: t.size()}
		g.truth[t.name] = r
		g.order = append(g.order, t.name)
	}
	r.Reps = append(r.Reps, Rep{Start: g.main})
	mine := len(r.Reps) - 1
	first := g.at
	for _, p := range t.parts {
		for i := 0; i < len(p.kernels); i++ {
			s := p.kernels[i]
			switch g.edits[g.at] {
			case insert:
				g.kernel(g.id("void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>"))
				g.kernel(s)
			case drop:
			case swap:
				if i+1 < len(p.kernels) && g.edits[g.at+1] == 0 {
					g.kernel(p.kernels[i+1])
					g.kernel(s)
					i++
					g.at++
				} else {
					g.kernel(s)
				}
			default:
				g.kernel(s)
			}
			g.at++
		}
		for range p.times {
			g.template(p.repeat)
			if g.comm != nil && p.repeat.phase != "" {
				g.write(g.comm[0], 1, g.now-int64(g.between(500, 4000)), int64(g.between(3000, 8000)))
			}
		}
	}
	r.Reps[mine].End = g.main
	for i := range g.edits {
		if i >= first && i < g.at {
			r.Reps[mine].Edited = true
		}
	}
}

// cutTo keeps kernels [from, to) of stream 0 and the repetitions that are whole.
func (g *generator) cutTo(from, to int) {
	c := g.c
	k := 0
	var keep []int
	for i := range c.Symbols {
		if c.Stream[i] == 0 {
			if k >= from && k < to {
				keep = append(keep, i)
			}
			k++
		}
	}
	var out Case
	for _, i := range keep {
		out.Symbols = append(out.Symbols, c.Symbols[i])
		out.StartNS = append(out.StartNS, c.StartNS[i])
		out.DurNS = append(out.DurNS, c.DurNS[i])
		out.Stream = append(out.Stream, 0)
	}
	c.Symbols, c.StartNS, c.DurNS, c.Stream = out.Symbols, out.StartNS, out.DurNS, out.Stream
	for _, r := range g.truth {
		r.Reps = slices.DeleteFunc(r.Reps, func(p Rep) bool { return p.Start < from || p.End > to })
		for i := range r.Reps {
			r.Reps[i].Start -= from
			r.Reps[i].End -= from
		}
	}
}

func (g *generator) finish() *Case {
	for _, name := range g.order {
		if r := g.truth[name]; len(r.Reps) > 1 {
			g.c.Truth = append(g.c.Truth, *r)
		}
	}
	g.jitter()
	return g.c
}

// jitter moves kernels of the second stream and puts all in order of start.
func (g *generator) jitter() {
	c := g.c
	order := make([]int, len(c.Symbols))
	for i := range order {
		order[i] = i
		if c.Stream[i] != 0 && g.Float64() < g.opt.Jitter {
			c.StartNS[i] += int64(g.between(-30_000, 30_000))
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(c.StartNS[a] - c.StartNS[b])
	})
	out := Case{Symbols: make([]uint32, 0, len(order))}
	for _, i := range order {
		out.Symbols = append(out.Symbols, c.Symbols[i])
		out.StartNS = append(out.StartNS, c.StartNS[i])
		out.DurNS = append(out.DurNS, c.DurNS[i])
		out.Stream = append(out.Stream, c.Stream[i])
	}
	c.Symbols, c.StartNS, c.DurNS, c.Stream = out.Symbols, out.StartNS, out.DurNS, out.Stream
}

// steps is how many steps of a size fill the sequence, at least 4.
func (g *generator) steps(size int) int { return max(4, g.opt.Kernels/max(1, size)) }

// layersFor picks a number of layers of a length so that a step is a reasonable part of the sequence.
func (g *generator) layersFor(length int) int {
	most := int(math.Min(48, float64(g.opt.Kernels)/float64(8*length)))
	return max(4, g.between(max(4, most/2), max(5, most)))
}

func (g *generator) tag(format string, args ...any) string { return fmt.Sprintf(format, args...) }
