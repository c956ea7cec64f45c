package diff

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// A noisyKernel is a loop over a few sites, whose outcomes deviate by chance: it declares its noise, and is written, read and compared
// as recordings are.
type (
	noisyKernel struct {
		warps, passes int
		sites         []noisySite
	}
	noisySite struct {
		kind   RowKind // of what a deviation makes
		rate   float64 // deviations of a pass
		lasts  int     // passes that a deviation lasts, at least 1
		lanes  int     // noise is in one of the lanes below this
		only   func(warp int) bool
		leads  int // the site that deviates too, 0 none: a site leads to later ones
		likely float64
	}
	// deviations says, by warp, pass and site, which lane deviates, 0 none, counted from 1; every lane.
	deviations [][][]uint8
)

const everyLane = 255

func (k *noisyKernel) places() int { return k.warps * k.passes }

// run decides what deviates in one run.
func (k *noisyKernel) run(rng *rand.Rand) deviations {
	d := make(deviations, k.warps)
	for w := range d {
		d[w] = make([][]uint8, k.passes)
		for p := range d[w] {
			d[w][p] = make([]uint8, len(k.sites))
		}
		for p := range d[w] {
			for s := range k.sites {
				n := &k.sites[s]
				if n.only != nil && !n.only(w) || n.rate == 0 || rng.Float64() >= n.rate {
					continue
				}
				lane := uint8(1 + rng.IntN(max(n.lanes, 1)))
				for q := p; q < min(p+max(n.lasts, 1), k.passes); q++ {
					d[w][q][s] = lane
				}
				if n.leads > 0 && rng.Float64() < n.likely {
					d[w][p][n.leads] = lane
				}
			}
		}
	}
	return d
}

// trace writes a run and opens it. What a deviation does differs from run to run where it is a value.
func (k *noisyKernel) trace(t testing.TB, name string, d deviations, run uint64) *warptrace.Trace {
	sites := make([]site.Site, 0, 3*len(k.sites))
	for s := range k.sites {
		kind := site.Branch
		if k.sites[s].kind == RowValue {
			kind = site.Value
		}
		for v := range 3 {
			at := site.Frame{Function: "noisy", File: "noisy.cu", Line: uint32(10*s + v + 1), Column: 1}
			sites = append(sites, site.Site{Key: site.Key(0x1000 + 3*s + v), Kind: kind, Chain: []site.Frame{at}, Ordinal: int32(3*s + v)})
		}
	}
	r := &warptracetest.Recording{
		Header: warptrace.Header{
			Version: 2, Kernel: "noisy", KernelHash: warptrace.Hash64("noisy"), Grid: [3]uint32{uint32(k.warps), 1, 1}, Block: [3]uint32{32, 1, 1},
			WaveSize: 32, WarpsPerBlock: 1, WarpSlots: uint64(k.warps), Mode: warptrace.ModeValues, Means: warptrace.MeansGenerated, SampleRate: 1,
			Taken: true, Producer: "test",
		},
		Sites: site.NewTable(sites),
	}
	for w := range k.warps {
		out := warptrace.Warp{WarpInfo: warptrace.WarpInfo{Warp: uint64(w)}}
		for p := range k.passes {
			for s := range k.sites {
				k.emit(&out, w, p, s, d[w][p][s], run)
			}
		}
		out.Events = uint32(out.Len())
		out.Stored, out.Total = out.Events, uint64(out.Events)
		r.Warps = append(r.Warps, out)
	}
	return r.OpenV2(t, name)
}

// emit writes the events of one site in one pass.
func (k *noisyKernel) emit(out *warptrace.Warp, w, p, s int, lane uint8, run uint64) {
	const full = 0xffffffff
	base := mix(uint64(w)<<40|uint64(p)<<16|uint64(s)) & full
	flip := uint64(0)
	switch {
	case lane == everyLane:
		flip = full
	case lane > 0:
		flip = 1 << (lane - 1)
	}
	event := func(local int, active, taken, value uint64, typ warptrace.ValueType) {
		out.Site = append(out.Site, uint32(3*s+local))
		out.Kind = append(out.Kind, map[bool]site.Kind{true: site.Value, false: site.Branch}[k.sites[s].kind == RowValue])
		out.Dir = append(out.Dir, uint8(taken&1))
		out.Aux = append(out.Aux, 0)
		out.Active, out.Taken = append(out.Active, active), append(out.Taken, taken&active)
		out.Value, out.Type = append(out.Value, value), append(out.Type, typ)
	}
	switch k.sites[s].kind {
	case RowBranch:
		event(0, full, base^flip, 0, warptrace.TypeNone)
	case RowActiveMask:
		event(0, full&^flip|1<<31, base, 0, warptrace.TypeNone)
	case RowValue:
		v := base
		if flip != 0 {
			v ^= 1 + mix(run<<32|base)&0xffff
		}
		event(0, full, base, v, warptrace.TypeU32)
	case RowExtraEvents:
		event(0, full, base, 0, warptrace.TypeNone)
		if flip != 0 {
			for range 1 + mix(run<<32|base)%3 {
				event(1, full, base, 0, warptrace.TypeNone)
			}
		}
	case RowPath:
		local := 1
		if flip != 0 {
			local = 2
		}
		event(local, full, base, 0, warptrace.TypeNone)
	}
}

// noisyCase is a comparison of A and B with equal runs of both.
type noisyCase struct {
	kernel noisyKernel
	runsA  int
	runsB  int
	bug    func(d deviations) // of B and what should be equal to it; nil: none
	each   func(d deviations) // of every run, in the order A, B, those equal to A, to B; nil: none
	seed   uint64
}

// compare makes the recordings and compares them.
func (c *noisyCase) compare(t testing.TB) *Result {
	t.Helper()
	rng := rand.New(rand.NewPCG(c.seed, 77))
	n := uint64(0)
	record := func(bug func(deviations)) *warptrace.Trace {
		d := c.kernel.run(rng)
		if bug != nil {
			bug(d)
		}
		if c.each != nil {
			c.each(d)
		}
		n++
		return c.kernel.trace(t, fmt.Sprintf("run%d.prlx", n), d, n)
	}
	a, b := record(nil), record(c.bug)
	var moreA, moreB []*warptrace.Trace
	for range c.runsA {
		moreA = append(moreA, record(nil))
	}
	for range c.runsB {
		moreB = append(moreB, record(c.bug))
	}
	opt := Options{Values: true}
	r, err := Compare(nil, a, b, opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ApplyBaseline(nil, r, a, b, moreA, moreB, opt); err != nil {
		t.Fatal(err)
	}
	return r
}

func statusOf(t testing.TB, r *Result) string {
	t.Helper()
	d, err := r.Document(DocumentOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Status
}

// plant makes a bug of a number of deviations at a site, in places that do not depend on the run.
func plant(k *noisyKernel, rng *rand.Rand, s, count int, lane uint8, warps int) func(deviations) {
	order := rng.Perm(warps * k.passes)
	order = order[:min(count, len(order))]
	return func(d deviations) {
		for _, at := range order {
			w, p := at/k.passes, at%k.passes
			switch {
			case lane == everyLane:
				d[w][p][s] = everyLane
			case d[w][p][s] == 0:
				d[w][p][s] = lane
			}
		}
	}
}
