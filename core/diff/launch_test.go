package diff

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// run is a launch by hand: the events of its warps, what they stored in order, and what was found.
type run struct {
	warps    [][]passed
	stores   []stored
	names    []string // of the arrays, by ID; "out" when left out
	scratch  uint32   // ID of an array of the compiler
	keep     bool     // contents
	nothing  bool     // no record of what was written
	findings []warptrace.Finding
	stopped  bool
	lines    uint32 // by how much the source is moved
	mode     warptrace.Mode
	atomics  []float32 // added to element 0 of array 0, in this order, by warp 0 at site 3
	before   float32   // what stood there

	storeEvents bool // the recording was asked for events of stores
	old         bool // the recorder kept no sums over values
	inNoSum     uint64
	noArrays    bool
	held        []heldMemory // what the memory of arguments held, who launched over a driver knows; by ID
	storeless   bool         // no statement of the kernel stores
	means       warptrace.Means

	texts     *warptrace.Texts
	arguments []warptrace.Argument
	module    string // hash
	digest    uint64 // of the arguments
}

// heldMemory is what the memory of one argument held.
type heldMemory struct {
	name          string
	bytes         uint64
	before, after uint64 // digests
	addresses     uint64
}

// stored is one element that a warp stores at a site.
type stored struct {
	warp  uint64
	site  uint32
	array uint32
	index int
	value float32
}

// row is a store of n elements of a warp, from one index on.
func row(warp uint64, at, array uint32, from, n int, value float32) (out []stored) {
	for i := range n {
		out = append(out, stored{warp, at, array, from + i, value + float32(i)})
	}
	return out
}

func hashOf(index int, bits uint32) uint64 { return mix(uint64(index)<<32 | uint64(bits)) }

// open writes the recording of a launch and opens it.
func (r run) open(t testing.TB, name string) *warptrace.Trace {
	t.Helper()
	sites := make([]site.Site, 6)
	for i := range sites {
		sites[i] = site.Site{
			Key: site.Key(100 + i + 1000*int(r.lines)), Ordinal: -1, Compare: site.NoCompare,
			Chain: []site.Frame{{Function: "k", File: "k.py", Line: uint32(10+i) + r.lines, Column: 1}},
		}
	}
	if !r.storeless {
		sites[3].Kind, sites[4].Kind, sites[5].Kind = site.Atomic, site.GlobalStore, site.GlobalStore
	}
	if len(r.warps) == 0 {
		r.warps = [][]passed{nil, nil}
	}
	h := warptrace.Header{
		Version: 2, Kernel: "k", KernelHash: warptrace.Hash64("k"), Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{uint32(32 * len(r.warps)), 1, 1}, WaveSize: 32,
		WarpsPerBlock: uint32(len(r.warps)), WarpSlots: uint64(len(r.warps)), Mode: max(r.mode, warptrace.ModeDigest), SampleRate: 1, Taken: true,
	}
	if r.mode == warptrace.ModeUnknown {
		h.Mode = warptrace.ModeControlFlow
	}
	var b bytes.Buffer
	h.Arguments, h.ModuleHash, h.ArgumentDigest, h.Means = r.arguments, r.module, r.digest, r.means
	o, kept := r.outputs()
	r.hold(&h, o)
	w, err := warptrace.CreateV2(&b, h, site.NewTable(sites), warptrace.V2Options{})
	must(t, err)
	if r.texts != nil {
		must(t, w.SetTexts(r.texts))
	}
	for n, events := range r.warps {
		x := warptrace.Warp{WarpInfo: warptrace.WarpInfo{Warp: uint64(n), Events: uint32(len(events)), Total: uint64(len(events))}}
		for _, e := range events {
			x.Site, x.Kind, x.Dir, x.Aux = append(x.Site, e.site), append(x.Kind, sites[e.site].Kind), append(x.Dir, uint8(e.taken&1)), append(x.Aux, 0)
			x.Active, x.Taken, x.Value, x.Type = append(x.Active, e.active), append(x.Taken, e.taken), append(x.Value, 0), append(x.Type, warptrace.TypeNone)
			if r.mode == warptrace.ModeDigest {
				x.HasRolling, x.Rolling = true, mix(x.Rolling+uint64(e.site)<<40+e.taken)
			}
		}
		if r.mode == warptrace.ModeDigest {
			x = warptrace.Warp{WarpInfo: warptrace.WarpInfo{Warp: uint64(n), Total: x.Total, HasRolling: true, Rolling: x.Rolling}}
		}
		if !r.nothing {
			x.Stores = r.sumsOf(uint64(n))
		}
		must(t, w.Append(&x))
	}
	if !r.nothing {
		must(t, w.SetOutputs(o))
		for i := range kept {
			must(t, w.AddContents(&kept[i]))
		}
	}
	must(t, w.Close())
	return warptracetest.Open(t, name, b.Bytes())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sumsOf are the sums of what a warp stored, by site and array.
func (r run) sumsOf(warp uint64) (sums []warptrace.StoreSum) {
	add := func(at, array uint32, index int, value float32) {
		i := slices.IndexFunc(sums, func(s warptrace.StoreSum) bool { return s.Site == at && s.Array == array })
		if i < 0 {
			i, sums = len(sums), append(sums, warptrace.StoreSum{Site: at, Array: array})
		}
		sums[i].Count++
		sums[i].Hash += hashOf(index, math.Float32bits(value))
	}
	for _, s := range r.stores {
		if s.warp == warp {
			add(s.site, s.array, s.index, s.value)
		}
	}
	if warp == 0 {
		for _, v := range r.atomics {
			add(3, 0, 0, v)
		}
	}
	return sums
}

// outputs is what the launch left in memory.
func (r run) outputs() (*warptrace.Outputs, []warptrace.Contents) {
	type cell struct {
		value  float32
		writer warptrace.Writer
	}
	memory := map[uint32]map[int]cell{}
	for _, s := range r.stores {
		if memory[s.array] == nil {
			memory[s.array] = map[int]cell{}
		}
		memory[s.array][s.index] = cell{s.value, warptrace.Writer{Site: s.site, Lane: uint32(s.index % 32), Warp: s.warp}}
	}
	if len(r.atomics) > 0 {
		sum := r.before
		for _, v := range r.atomics {
			sum += v
		}
		memory[0] = map[int]cell{0: {sum, warptrace.Writer{Site: 3}}}
	}
	o := &warptrace.Outputs{Findings: r.findings, Coverage: warptrace.Coverage{
		ControlFlow: true, StoreEvents: r.storeEvents, Stores: true, Arrays: !r.noArrays, Checks: true, Stopped: r.stopped, StoreSites: 3, InNoSum: r.inNoSum,
	}}
	var kept []warptrace.Contents
	for id := range uint32(4) {
		if memory[id] == nil {
			continue
		}
		a := warptrace.Array{ID: id, Name: "out", Type: "*fp32", ElementBytes: 4}
		if int(id) < len(r.names) {
			a.Name = r.names[id]
		}
		if r.scratch == id && id > 0 {
			a.Kind = warptrace.ArrayScratch
		}
		byChunk := map[int64]*warptrace.Contents{}
		if !r.old {
			a.Values = &warptrace.ValueSums{}
		}
		for index, c := range memory[id] {
			if !r.old {
				a.Values.AddPlaced(int64(4*index), uint64(math.Float32bits(c.value)), 4)
			}
			at := int64(index / warptrace.ChunkElements)
			x := byChunk[at]
			if x == nil {
				x = &warptrace.Contents{Array: id, Chunk: at, Element: 4, Bytes: make([]byte, 1024), Written: make([]byte, 128), Writers: make([]warptrace.Writer, 256)}
				for i := range x.Writers {
					x.Writers[i].Site = warptrace.NoSite
				}
				byChunk[at] = x
			}
			i := index % warptrace.ChunkElements
			binary.LittleEndian.PutUint32(x.Bytes[4*i:], math.Float32bits(c.value))
			x.Written[i/2] |= 15 << (4 * (i % 2))
			x.Writers[i] = c.writer
		}
		for at := range int64(64) {
			x := byChunk[at]
			if x == nil {
				continue
			}
			chunk := warptrace.Chunk{Index: at, Bytes: uint32(x.NumberOfWritten())}
			for i := range x.Bytes {
				if x.WrittenAt(i) {
					chunk.Digest += hashOf(int(at)*1024+i, uint32(x.Bytes[i]))
				}
			}
			a.Written, a.Digest, a.Chunks = a.Written+uint64(chunk.Bytes), a.Digest+chunk.Digest, append(a.Chunks, chunk)
			if r.keep {
				kept = append(kept, *x)
				o.Coverage.ContentBytes += uint64(chunk.Bytes)
			}
		}
		o.Arrays = append(o.Arrays, a)
	}
	totals := map[[2]uint32]*warptrace.StoreTotal{}
	for warp := range uint64(max(len(r.warps), 2)) {
		for _, s := range r.sumsOf(warp) {
			x := totals[[2]uint32{s.Site, s.Array}]
			if x == nil {
				x = &warptrace.StoreTotal{StoreSum: warptrace.StoreSum{Site: s.Site, Array: s.Array}}
				totals[[2]uint32{s.Site, s.Array}] = x
			}
			x.Count, x.Hash, x.Warps = x.Count+s.Count, x.Hash+s.Hash, x.Warps+1
		}
	}
	measure := func(at, array uint32, value float32) {
		if x := totals[[2]uint32{at, array}]; x != nil && !r.old {
			if x.Values == nil {
				x.Values = &warptrace.ValueSums{}
			}
			x.Values.Add(uint64(math.Float32bits(value)), 4, 4)
		}
	}
	for _, s := range r.stores {
		measure(s.site, s.array, s.value)
	}
	for _, v := range r.atomics {
		measure(3, 0, v)
	}
	for at := range uint32(6) {
		for id := range uint32(4) {
			if x := totals[[2]uint32{at, id}]; x != nil {
				o.Stores = append(o.Stores, *x)
			}
		}
	}
	return o, kept
}

// hold puts in a recording what memory held in place of what was written.
func (r run) hold(h *warptrace.Header, o *warptrace.Outputs) {
	if r.held == nil {
		return
	}
	o.Coverage.Arrays, o.Coverage.Checks, o.Coverage.ContentsAfter = false, false, true
	for i := range o.Arrays {
		a := &o.Arrays[i]
		*a = warptrace.Array{ID: a.ID, Name: a.Name, Type: a.Type, ElementBytes: a.ElementBytes}
	}
	for id, m := range r.held {
		h.Arguments = append(h.Arguments, warptrace.Argument{Name: m.name, Type: "*fp32", Before: m.before})
		o.Held = append(o.Held, warptrace.Held{ID: uint32(id), Name: m.name, Type: "*fp32", Bytes: m.bytes, Digest: m.after, Addresses: m.addresses})
	}
}

// judge compares two launches.
func judge(t testing.TB, a, b run, opt Options) *Document {
	t.Helper()
	return documentOf(t, compared(t, a.open(t, "a.prlx"), b.open(t, "b.prlx"), opt, 1))
}

// way is two warps that pass a branch, with the lanes that take it.
func way(lanes uint64) [][]passed { return [][]passed{{{0, all, lanes}}, {{0, all, lanes}}} }
