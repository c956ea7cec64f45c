package diff

import (
	"context"
	"slices"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Outputs of equal runs differ where atomics add up floats in another order, or where a kernel reads what nobody wrote. A chunk that
// differs among equal runs says nothing about A and B; what was stored, or given to atomics, still does (outputs.agrees).

// outputNoise is what pairs of equal runs of one side show.
type outputNoise struct {
	chunks   map[noisyChunk]int   // in how many pairs a chunk differs
	memory   map[string]bool      // arrays whose memory differs after the launches
	stores   map[noisyStore]int64 // in how many warps at most something else was stored
	findings map[findingKey]bool
	began    map[string]bool    // arrays in which atomics find other contents
	apart    map[string]float64 // how far apart the floats of an array are at most, where contents were kept
	values   []runValues        // of every run, the one that is compared first
	pairs    int
	ofB      bool // runs of B
}

type noisyChunk struct {
	array string
	chunk int64
}

type noisyStore struct {
	site  uint64 // as the recording calls it
	array string
}

func newOutputNoise(ofB bool) *outputNoise {
	return &outputNoise{ofB: ofB, chunks: make(map[noisyChunk]int), memory: make(map[string]bool), stores: make(map[noisyStore]int64), findings: make(map[findingKey]bool), began: make(map[string]bool), apart: make(map[string]float64)}
}

// observe takes the comparison of two equal runs.
func (n *outputNoise) observe(ctx context.Context, r *Result, x, y *warptrace.Trace) error {
	n.pairs++
	for _, t := range []*warptrace.Trace{x, y} {
		if t == x && len(n.values) > 0 {
			continue
		}
		o, err := t.Outputs(ctx)
		if err != nil {
			return err
		}
		n.values = append(n.values, valuesOf(t, o))
	}
	if o := r.outputs; o != nil {
		for i := range o.arrays {
			p := &o.arrays[i]
			for _, c := range p.chunks {
				n.chunks[noisyChunk{p.name(), c}]++
			}
			n.memory[p.name()] = n.memory[p.name()] || p.after == afterDiffers
			n.began[p.name()] = n.began[p.name()] || p.beganOtherwise()
			distance, ok, err := farApart(ctx, p, o.keeps, x, y)
			if err != nil {
				return err
			}
			if ok {
				n.apart[p.name()] = max(n.apart[p.name()], distance)
			}
		}
		for i := range o.changes {
			c := &o.changes[i]
			name := o.storeName(c, r.Sites[c.site].ID)
			n.stores[name] = max(n.stores[name], int64(len(c.warps)))
		}
	}
	for _, key := range r.findings.order {
		n.findings[key.byPlace(r)] = true
	}
	return nil
}

// storeName names a statement and its array; site is what the recording calls the statement.
func (o *outputs) storeName(c *storeChange, site uint64) noisyStore {
	name := noisyStore{site: site}
	if c.array >= 0 {
		name.array = o.arrays[c.array].name()
	}
	return name
}

// byPlace is a finding by its place in the source: site numbers are those of one recording.
func (k findingKey) byPlace(r *Result) findingKey {
	if x := r.findings.of[k].first; x != nil {
		return findingKey{check: k.check, site: warptrace.NoSite, file: x.File, function: x.Function, line: x.Line}
	}
	return k
}

// singles counts the chunks of an array that differ in exactly one pair: by Good and Turing, about so many divided by the pairs differ
// in a further pair and never did before.
func (n *outputNoise) singles(array string) (count int64) {
	for at, seen := range n.chunks {
		if at.array == array && seen == 1 {
			count++
		}
	}
	return count
}

// knows reports whether chunks of an array differ among equal runs at all.
func (n *outputNoise) knows(array string) bool {
	for at := range n.chunks {
		if at.array == array {
			return true
		}
	}
	return false
}

// markOutputs marks what differs as noise, as far as equal runs of either side explain it, and says so in the baseline.
func (r *Result) markOutputs(ctx context.Context, a, b *warptrace.Trace, sides []*outputNoise) error {
	o := r.outputs
	if o != nil && (o.by == byDigest || o.by == byContents) {
		for i := range o.arrays {
			p := &o.arrays[i]
			p.mark(sides)
			distance, ok, err := farApart(ctx, p, o.keeps, a, b)
			if err != nil {
				return err
			}
			for _, n := range sides {
				if ok {
					n.tooFar(p, distance)
				}
			}
			p.judgeValues(sides)
			all, genuine := p.counts()
			r.Baseline.OutputChunks += all - genuine
		}
		for i := range o.changes {
			c := &o.changes[i]
			c.edited = c.editedIn(r.Changes, r.Sites)
			o.judgeChange(c, a, b, sides)
		}
		r.Baseline.Outputs = o.noisyArrays()
		if err := o.findFirst(ctx, r, a, b); err != nil {
			return err
		}
	}
	for _, key := range r.findings.order {
		for _, n := range sides {
			r.findings.of[key].noise = r.findings.of[key].noise || n.findings[key.byPlace(r)]
		}
	}
	return nil
}

// mark marks the chunks that equal runs explain. A chunk that never differed among equal runs can still be noise,
// where these show that there is always a new one: many chunks of the array differ in one pair only.
func (p *arrayPair) mark(sides []*outputNoise) {
	name := p.name()
	if p.beganOtherwise() && !slices.ContainsFunc(sides, func(n *outputNoise) bool { return n.began[name] }) {
		return // equal runs begin with the same
	}
	p.noisy = p.after == afterDiffers && slices.ContainsFunc(sides, func(n *outputNoise) bool { return n.memory[name] })
	var unseen []int
	for i, chunk := range p.chunks {
		for _, n := range sides {
			p.noise[i] = p.noise[i] || n.chunks[noisyChunk{name, chunk}] > 0
		}
		if !p.noise[i] {
			unseen = append(unseen, i)
		}
	}
	for _, n := range sides {
		if n.pairs == 0 || !n.knows(name) {
			continue
		}
		expected := (n.singles(name) + int64(n.pairs) - 1) / int64(n.pairs)
		if expected > 0 && poissonUpper(int64(len(unseen)), expected) >= noiseAlpha {
			for _, i := range unseen {
				p.noise[i] = true
			}
		}
	}
}

// noteAtomics marks the arrays that atomics wrote, and those that compare-and-swaps did.
func (o *outputs) noteAtomics(a, b *warptrace.Trace, oa, ob *warptrace.Outputs, places *arrayPlaces) {
	of := [2]*warptrace.Trace{a, b}
	for side, x := range []*warptrace.Outputs{oa, ob} {
		for i := range x.Stores {
			at := places.of(side, x.Stores[i].Array)
			if at < 0 {
				continue
			}
			p := &o.arrays[at]
			p.swaps = p.swaps || x.Stores[i].Swaps
			if s, ok := of[side].SiteOf(x.Stores[i].Site); ok && s.Kind == site.Atomic {
				p.atomics = true
			}
		}
	}
}
