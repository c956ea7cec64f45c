package warptrace

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/site"
)

// launchOutputs is everything that a recording says of what a launch wrote.
type launchOutputs struct {
	sums     map[uint64][]StoreSum // by warp
	outputs  Outputs
	contents []Contents
}

// randomOutputs makes outputs of which nothing can be predicted.
func randomOutputs(rng *rand.Rand, warps []*Warp, sites, wave int) *launchOutputs {
	l := &launchOutputs{sums: map[uint64][]StoreSum{}}
	for _, w := range warps {
		for s := range min(sites, rng.IntN(4)) {
			l.sums[w.Warp] = append(l.sums[w.Warp], StoreSum{Site: uint32(s), Array: rng.Uint32N(3), Count: 1 + rng.Uint64N(1<<40), Hash: rng.Uint64()})
		}
	}
	o := &l.outputs
	for i, flag := range o.Coverage.flags() {
		*flag = rng.IntN(2) == 1 || i == 8
	}
	for _, n := range o.Coverage.numbers() {
		*n = rng.Uint64() >> rng.IntN(64)
	}
	for id := range uint32(1 + rng.IntN(4)) {
		a := Array{ID: id * 70000, Kind: ArrayKind(id), Name: "out", Type: "*fp16", ElementBytes: 1 << rng.IntN(4), Written: rng.Uint64(), Digest: rng.Uint64(), Began: rng.Uint64()}
		a.Values = someValues(a.Digest)
		for i := range int64(rng.IntN(20)) {
			a.Chunks = append(a.Chunks, Chunk{Index: i*i - 7, Bytes: 1 + rng.Uint32N(ChunkElements), Digest: uint64(rng.Uint32())})
			if rng.IntN(2) == 0 {
				l.contents = append(l.contents, randomContents(rng, &a, i*i-7, warps, sites, wave))
			}
		}
		o.Arrays = append(o.Arrays, a)
		o.Held = append(o.Held, Held{ID: id + 1, Name: "out", Type: "*i64", Bytes: rng.Uint64(), Digest: rng.Uint64(), Addresses: rng.Uint64N(3)})
	}
	for range rng.IntN(4) {
		o.Stores = append(o.Stores, StoreTotal{StoreSum{uint32(rng.IntN(sites)), rng.Uint32N(2) - 1, rng.Uint64(), rng.Uint64()}, rng.Uint64(), rng.IntN(2) == 0, nil})
		o.Stores[len(o.Stores)-1].Values = someValues(o.Stores[len(o.Stores)-1].Hash)
		o.Findings = append(o.Findings, Finding{
			Check: "out-of-bounds", Site: uint32(rng.IntN(sites+1)) - 1, Function: "f", File: "a.py", Line: 3, Column: 4, Instruction: "st.global", Block: [3]uint32{1, 0, 3},
			Warp: rng.Uint64(), Lane: 31, Lanes: rng.Uint64(), Count: rng.Uint64(), Array: "x", Distance: -5, Message: "beyond",
		})
	}
	return l
}

func randomContents(rng *rand.Rand, a *Array, chunk int64, warps []*Warp, sites, wave int) Contents {
	c := Contents{Array: a.ID, Chunk: chunk, Element: a.ElementBytes, Bytes: make([]byte, ChunkElements*a.ElementBytes)}
	c.Written = make([]byte, len(c.Bytes)/8)
	for i := range c.Written {
		c.Written[i] = byte(rng.IntN(256))
		if chunk%2 == 0 {
			c.Written[i] = 0xff
		}
	}
	for i := range c.Bytes {
		if c.WrittenAt(i) {
			c.Bytes[i] = byte(rng.IntN(256))
		}
	}
	if rng.IntN(2) == 0 {
		c.Pointers = []uint32{0, 8, uint32(len(c.Bytes) - 8)}
	}
	if rng.IntN(2) == 0 {
		for range ChunkElements {
			w := Writer{Site: NoSite}
			if rng.IntN(3) > 0 {
				w = Writer{Site: uint32(rng.IntN(sites)), Lane: uint32(rng.IntN(wave)), Warp: warps[rng.IntN(len(warps))].Warp}
			}
			c.Writers = append(c.Writers, w)
		}
	}
	return c
}

// finish writes warps with their sums, and the outputs.
func (l *launchOutputs) finish(tb testing.TB, w *V2Writer, warps []*Warp, flush func(i int) bool) {
	tb.Helper()
	for i, warp := range warps {
		warp.Stores = l.sums[warp.Warp]
		if err := w.Append(warp); err != nil {
			tb.Fatal(err)
		}
		warp.Stores = nil
		if flush(i) {
			if err := w.flush(); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := w.SetOutputs(&l.outputs); err != nil {
		tb.Fatal(err)
	}
	for i := range l.contents {
		if err := w.AddContents(&l.contents[i]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
}

// check compares what a recording says with what was written.
func (l *launchOutputs) check(tb testing.TB, trace *Trace) {
	tb.Helper()
	ctx := context.Background()
	l.checkSums(tb, trace)
	o, err := trace.Outputs(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	if d := cmp.Diff(&l.outputs, o, cmpopts.EquateEmpty()); d != "" {
		tb.Fatalf("outputs (-want +got):\n%s", d)
	}
	var got []Contents
	if err := trace.Contents(ctx, func(c *Contents) error { got = append(got, *c); return nil }); err != nil {
		tb.Fatal(err)
	}
	if d := cmp.Diff(l.contents, got, cmpopts.EquateEmpty()); d != "" {
		tb.Fatalf("contents (-want +got):\n%s", d)
	}
}

func (l *launchOutputs) checkSums(tb testing.TB, trace *Trace) {
	tb.Helper()
	s, err := trace.Stores(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	if s == nil {
		s = &Stores{}
	}
	rows := 0
	for warp, want := range l.sums {
		from, to := s.ofWarp(warp)
		if to-from != len(want) {
			tb.Fatalf("warp %d: got %d rows, want %d", warp, to-from, len(want))
		}
		for i, sum := range want {
			if got := s.row(from + i); got.Site != sum.Site || got.Array != sum.Array || got.Count != sum.Count || uint32(got.Hash) != uint32(sum.Hash) {
				tb.Fatalf("warp %d: got %+v, want %+v", warp, got, sum)
			}
		}
		rows += len(want)
	}
	if rows != s.Len() {
		tb.Fatalf("got %d rows, want %d", s.Len(), rows)
	}
}

// outputsV2 makes a recording with outputs, some of whose warps have no event.
func outputsV2(tb testing.TB, seed uint64, n int, flush func(i int) bool) ([]byte, []*Warp, *launchOutputs) {
	tb.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	var warps []*Warp
	for i := range n {
		warps = append(warps, randomWarp(rng, uint64((i*7)%n), rng.IntN(3), 4, 32))
		if i%3 == 0 {
			warps[i] = &Warp{WarpInfo: WarpInfo{Warp: uint64((i * 7) % n)}}
		}
	}
	l := randomOutputs(rng, warps, 4, 32)
	var out bytes.Buffer
	w, err := CreateV2(&out, v2TestHeader(uint64(n)), site.NewTable(someSites(4)), V2Options{})
	if err != nil {
		tb.Fatal(err)
	}
	l.finish(tb, w, warps, flush)
	return out.Bytes(), warps, l
}

func TestV2HoldsWhatALaunchWrote(t *testing.T) {
	for seed := range uint64(10) {
		raw, _, want := outputsV2(t, seed, 40, func(i int) bool { return i%int(seed+1) == 3 })
		want.check(t, openV2Bytes(t, raw))
	}
}

func TestV2ManyRowsTakeSeveralBlocks(t *testing.T) {
	l := &launchOutputs{sums: map[uint64][]StoreSum{}, outputs: Outputs{Arrays: []Array{{ElementBytes: 4}}}}
	var warps []*Warp
	for i := range uint64(v2BlockRows/2 + 9) {
		warps = append(warps, &Warp{WarpInfo: WarpInfo{Warp: i}})
		l.sums[i] = []StoreSum{{Site: 0, Count: 4, Hash: i * 77}, {Site: 2, Array: 9, Count: 1, Hash: i}}
		l.outputs.Arrays[0].Chunks = append(l.outputs.Arrays[0].Chunks, Chunk{int64(2 * i), 4, i}, Chunk{int64(2*i + 1), 4, i})
	}
	var out bytes.Buffer
	w, err := CreateV2(&out, v2TestHeader(1<<20), site.NewTable(someSites(4)), V2Options{})
	if err != nil {
		t.Fatal(err)
	}
	l.finish(t, w, warps, never)
	l.check(t, openV2Bytes(t, out.Bytes()))
	kinds := map[uint8]int{}
	for _, at := range blocksOf(out.Bytes()) {
		kinds[out.Bytes()[at+4]]++
	}
	if kinds[v2Stores] != 2 || kinds[v2Chunks] != 2 {
		t.Errorf("got blocks %v, want two of stores and of chunks", kinds)
	}
}

func TestRecordingsWithoutOutputsSaySo(t *testing.T) {
	raw, _ := smallV2(t)
	trace := openV2Bytes(t, raw)
	o, err := trace.Outputs(context.Background())
	s, err2 := trace.Stores(context.Background())
	if o != nil || s != nil || err != nil || err2 != nil {
		t.Errorf("got %v, %v, %v, %v", o, s, err, err2)
	}
}

// TestV2OutputsCutAnywhere cuts a recording at every byte: what is whole in front is there, and nothing else.
func TestV2OutputsCutAnywhere(t *testing.T) {
	raw, _, want := outputsV2(t, 3, 6, func(int) bool { return true })
	blocks := blocksOf(raw)
	for size := blocks[1]; size < len(raw); size++ {
		if near := slices.IndexFunc(blocks, func(at int) bool { return max(at-size, size-at) <= 2 || size == at+v2HeadBytes }); near < 0 && size%97 != 0 {
			continue // what matters are the ends of blocks
		}
		trace, err := openAny(raw[:size])
		if err != nil {
			t.Fatalf("cut at %d: %v", size, err)
		}
		rows, outputs := 0, false
		for _, at := range blocks {
			head, _ := parseV2Head(raw[at:])
			if at+v2HeadBytes+int(head.stored) > size {
				break
			}
			outputs = outputs || head.kind == v2Outputs
			if head.kind == v2Stores {
				rows += int(head.count)
			}
		}
		s, err := trace.Stores(context.Background())
		if err != nil || (s == nil) != (rows == 0) || s != nil && s.Len() != rows {
			t.Fatalf("cut at %d: got %+v, %v, want %d rows", size, s, err, rows)
		}
		o, err := trace.Outputs(context.Background())
		if err != nil || (o != nil) != outputs {
			t.Fatalf("cut at %d: got %+v, %v", size, o, err)
		}
		if o != nil && !cmp.Equal(o.Coverage, want.outputs.Coverage) {
			t.Fatalf("cut at %d: another coverage", size)
		}
	}
}

func readOutputsWhole(b []byte) error {
	trace, err := openAny(b)
	if err != nil {
		return err
	}
	if _, err := trace.Outputs(context.Background()); err != nil {
		return err
	}
	if _, err := trace.Stores(context.Background()); err != nil {
		return err
	}
	if err := trace.Contents(context.Background(), func(*Contents) error { return nil }); err != nil {
		return err
	}
	if trace.Header().Truncated {
		return errTruncated
	}
	return nil
}

func TestV2AnyFlippedBitOfOutputsIsNoticed(t *testing.T) {
	raw, _, _ := outputsV2(t, 8, 6, never)
	bad := slices.Clone(raw)
	for _, at := range blocksOf(raw) {
		head, _ := parseV2Head(raw[at:])
		if !isExtra(head.kind) && head.kind != v2End {
			continue
		}
		for i := at; i < at+v2HeadBytes+int(head.stored); i++ {
			bad[i] ^= 1 << (i % 8)
			if err := readOutputsWhole(bad); err == nil || err != errTruncated && !expected(err) {
				t.Fatalf("byte %d of a block of kind %d: got %v", i-at, head.kind, err)
			}
			bad[i] = raw[i]
		}
	}
}

// TestV2OutputsThatLie are files whose checksums fit but whose numbers do not.
func TestV2OutputsThatLie(t *testing.T) {
	put := binary.LittleEndian.PutUint32
	site := func(s *Stores) []byte { return encodeStores(s) }
	row := Stores{Warp: []uint64{1, 1}, Site: []uint32{0, 1}, Array: []uint32{0, 0}, Count: []uint64{1, 1}, Hash: []uint32{1, 1}}
	twice, beyond, nowhere := row, row, row
	twice.Site, beyond.Warp, nowhere.Site = []uint32{1, 1}, []uint64{1, 99}, []uint32{0, 77}
	chunk := func(rows ...chunkRow) []byte { return encodeChunks(rows) }
	whole := Contents{Element: 1, Bytes: make([]byte, 256), Written: bytes.Repeat([]byte{255}, 32)}
	change := func(f func(c *Contents)) []byte {
		c := whole
		f(&c)
		return encodeContents([]Contents{c, c})
	}
	for name, c := range map[string]struct {
		kind  uint8
		count uint32
		body  []byte
		lie   func(b []byte)
	}{
		"rows in no order":                      {kind: v2Stores, count: 2, body: site(&twice)},
		"a warp that the launch does not have":  {kind: v2Stores, count: 2, body: site(&beyond)},
		"a site that is not there":              {kind: v2Stores, count: 2, body: site(&nowhere)},
		"more rows than there are":              {kind: v2Stores, count: 3, body: site(&row)},
		"2^31 rows":                             {kind: v2Stores, count: 2, body: site(&row), lie: func(b []byte) { put(b[16:], 1<<31) }},
		"a body of 1 GiB":                       {kind: v2Stores, count: 2, body: site(&row), lie: func(b []byte) { put(b[12:], 1<<30) }},
		"a directory":                           {kind: v2Stores, count: 2, body: site(&row), lie: func(b []byte) { put(b[20:], 1) }},
		"a chunk of an array that is not there": {kind: v2Chunks, count: 1, body: chunk(chunkRow{7, Chunk{0, 1, 1}})},
		"chunks in no order":                    {kind: v2Chunks, count: 2, body: chunk(chunkRow{0, Chunk{1, 1, 1}}, chunkRow{0, Chunk{1, 1, 1}})},
		"a chunk of 0 bytes":                    {kind: v2Chunks, count: 1, body: chunk(chunkRow{0, Chunk{0, 0, 1}})},
		"a chunk of too many bytes":             {kind: v2Chunks, count: 1, body: chunk(chunkRow{0, Chunk{0, 1025, 1}})},
		"outputs twice":                         {kind: v2Outputs, count: 1, body: encodeOutputs(&Outputs{})},
		"outputs that are not a message":        {kind: v2Outputs, count: 1, body: []byte{0xff}},
		"contents twice":                        {kind: v2Contents, count: 2, body: change(func(*Contents) {})},
		"elements of 9 bytes":                   {kind: v2Contents, count: 2, body: change(func(c *Contents) { c.Element = 9 })},
		"a chunk that is too short":             {kind: v2Contents, count: 2, body: change(func(c *Contents) { c.Bytes = c.Bytes[:8]; c.Written = c.Written[:1] })},
		"a pointer outside":                     {kind: v2Contents, count: 2, body: change(func(c *Contents) { c.Pointers = []uint32{249} })},
		"a writer that is not there":            {kind: v2Contents, count: 2, body: change(func(c *Contents) { c.Writers = slices.Repeat([]Writer{{Warp: 50}}, 256) })},
		"a lane that is not there":              {kind: v2Contents, count: 2, body: change(func(c *Contents) { c.Writers = slices.Repeat([]Writer{{Lane: 32}}, 256) })},
		"contents cut short":                    {kind: v2Contents, count: 1, body: []byte{0, 0, 1, 0, 0, 0}},
	} {
		var out bytes.Buffer
		w, err := CreateV2(&out, v2TestHeader(9), nil, V2Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.addSites(someSites(2)); err != nil {
			t.Fatal(err)
		}
		if c.kind != v2Stores {
			if err := w.SetOutputs(&Outputs{Arrays: []Array{{ElementBytes: 4}}}); err != nil {
				t.Fatal(err)
			}
		}
		at := out.Len()
		w.extra(v2Head{kind: c.kind, count: c.count}, c.body)
		if c.lie != nil {
			b := out.Bytes()[at:]
			c.lie(b)
			resealBlock(b)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		scanned := out.Bytes()[:out.Len()-v2Trailer]
		for _, b := range [][]byte{out.Bytes(), scanned} {
			if err := readOutputsWhole(b); !expected(err) && (c.lie == nil || err != errTruncated) {
				t.Errorf("%s: got %v, want a format or limit error", name, err)
			}
		}
	}
}

func TestWhatALaunchWroteSurvivesAConversion(t *testing.T) {
	raw, _, want := outputsV2(t, 6, 30, func(i int) bool { return i == 5 })
	var out bytes.Buffer
	report, err := Convert(job.New(context.Background(), job.Options{}), openV2Bytes(t, raw), &out, 2, ConvertOptions{})
	if err != nil || len(report.Lost) > 0 {
		t.Fatal(err, report.Lost)
	}
	want.check(t, openV2Bytes(t, out.Bytes()))
	report, err = Convert(job.New(context.Background(), job.Options{}), openV2Bytes(t, raw), new(bytes.Buffer), 1, ConvertOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var lost []string
	for _, l := range report.Lost {
		lost = append(lost, l.What)
	}
	for _, what := range []string{"sums of what warps stored", "digests of arrays that the launch wrote", "findings of the simulator", "bytes of contents that were kept"} {
		if !slices.Contains(lost, what) {
			t.Errorf("%q is not listed: %q", what, lost)
		}
	}
}

func TestV2WriterRefusesOutputsOutOfOrder(t *testing.T) {
	w, err := CreateV2(new(bytes.Buffer), v2TestHeader(9), site.NewTable(someSites(2)), V2Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.AddContents(&Contents{Element: 1, Bytes: make([]byte, 256), Written: make([]byte, 32)}); !fault.Is(err, fault.Usage) {
		t.Errorf("contents before outputs: got %v", err)
	}
	for name, o := range map[string]*Outputs{
		"arrays in no order": {Arrays: []Array{{ID: 2, ElementBytes: 1}, {ID: 1, ElementBytes: 1}}},
		"elements of 0":      {Arrays: []Array{{}}},
		"chunks in no order": {Arrays: []Array{{ElementBytes: 1, Chunks: []Chunk{{Index: 2}, {Index: 1}}}}},
		"an unknown site":    {Stores: []StoreTotal{{StoreSum: StoreSum{Site: 2}}}},
	} {
		if err := w.SetOutputs(o); !fault.Is(err, fault.Usage) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, sums := range map[string][]StoreSum{"no order": {{Site: 1}, {Site: 0}}, "an unknown site": {{Site: 2}}} {
		if err := w.Append(&Warp{Stores: sums}); !fault.Is(err, fault.Usage) {
			t.Errorf("sums with %s: got %v", name, err)
		}
	}
	if err := w.SetOutputs(&Outputs{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Append(&Warp{WarpInfo: WarpInfo{Warp: 1}}); !fault.Is(err, fault.Usage) {
		t.Errorf("a warp behind the outputs: got %v", err)
	}
	if err := w.SetOutputs(&Outputs{}); !fault.Is(err, fault.Usage) {
		t.Errorf("outputs twice: got %v", err)
	}
}

// someValues are sums that were recorded, or were not.
func someValues(seed uint64) *ValueSums {
	if seed%3 == 0 {
		return nil
	}
	return &ValueSums{seed, seed * 3, seed * 5, seed * 7, int64(seed * 9)}
}
