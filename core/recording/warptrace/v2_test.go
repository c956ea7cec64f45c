package warptrace

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/safe"
)

// randomWarp makes a warp of events of which nothing can be predicted, with history and snapshots.
func randomWarp(rng *rand.Rand, number uint64, n, sites, wave int) *Warp {
	w := &Warp{}
	w.reset(WarpInfo{Warp: number, Events: uint32(n), Dropped: uint64(rng.IntN(3))}, n)
	w.Total = uint64(n) + w.Dropped + uint64(rng.IntN(2))*1000
	w.Before, w.Stored = w.Dropped/2, uint32(n)+uint32(rng.IntN(2)*5)
	if rng.IntN(2) == 1 {
		w.HasRolling, w.Rolling = true, rng.Uint64()
	}
	for i := range n {
		w.Site[i], w.Kind[i], w.Dir[i], w.Aux[i] = uint32(rng.IntN(sites)), site.Kind(rng.IntN(256)), uint8(rng.IntN(256)), uint16(rng.IntN(1<<16))
		w.Active[i], w.Taken[i], w.Value[i], w.Type[i] = rng.Uint64(), rng.Uint64(), rng.Uint64()>>rng.IntN(64), ValueType(rng.IntN(256))
	}
	for range rng.IntN(4) {
		w.History = append(w.History, HistoryEntry{Site: uint32(rng.IntN(sites)), Value: rng.Uint64(), Seq: rng.Uint32(), Event: int32(rng.IntN(n+1)) - 1})
	}
	for range rng.IntN(4) {
		s := Snapshot{
			Site: uint32(rng.IntN(sites)), Event: int32(rng.IntN(n+1)) - 1, Seq: rng.Uint32(), Active: rng.Uint64(), Compare: site.Compare(rng.IntN(256)),
			Role: SnapshotRole(rng.IntN(5)), Type: ValueType(rng.IntN(256)), Lhs: make([]uint64, wave),
		}
		for lane := range s.Lhs {
			s.Lhs[lane] = rng.Uint64()
		}
		if rng.IntN(2) == 1 {
			s.Rhs = slices.Clone(s.Lhs)
			slices.Reverse(s.Rhs)
		}
		w.Snapshots = append(w.Snapshots, s)
	}
	return w
}

// someSites makes sites with everything that a site can have.
func someSites(n int) []site.Site {
	sites := make([]site.Site, n)
	for i := range sites {
		f := site.Frame{Function: "_Z4rowsPf", File: "src/rows.cu", Line: uint32(i + 1), Column: 3}
		sites[i] = site.Site{
			ID: uint32(i), Kind: site.Kind(i % 11), Chain: []site.Frame{f, {Function: "main_kernel", File: "src/main.cu", Line: 77}}, Ordinal: int32(i) - 1,
			Compare: site.NoCompare, Text: "icmp slt i32",
			Operands: []site.Operand{{Role: "lhs", Type: "i32", Origin: site.FromArith, Inputs: []site.Operand{{Role: "value", Origin: site.FromLoad, Name: "x", Site: 9, Where: f}}}},
		}
		if i%2 == 0 {
			sites[i].Compare, sites[i].Operands, sites[i].Text = 40, nil, ""
		}
	}
	site.AssignKeys(sites)
	return sites
}

// writeV2 writes a recording; flush ends a block after each warp.
func writeV2(tb testing.TB, h Header, sites []site.Site, warps []*Warp, flush func(i int) bool) []byte {
	tb.Helper()
	return writeV2As(tb, h, sites, warps, flush, V2Options{})
}

func writeV2As(tb testing.TB, h Header, sites []site.Site, warps []*Warp, flush func(i int) bool, opt V2Options) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := CreateV2(&out, h, site.NewTable(sites), opt)
	if err != nil {
		tb.Fatal(err)
	}
	for i, warp := range warps {
		if err := w.Append(warp); err != nil {
			tb.Fatal(err)
		}
		if flush(i) {
			if err := w.flush(); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func never(int) bool { return false }

// warpDiff compares warps by what a file says of them: digests and the buffers' capacity are not part of that.
func warpDiff(want, got *Warp) string {
	w, g := *want, *got
	for _, x := range []*Warp{&w, &g} {
		x.Digest, x.Control, x.HasDigest = 0, 0, false
		x.Stored = max(x.Stored, x.Events)
		if len(x.History) == 0 {
			x.History = nil
		}
		if len(x.Snapshots) == 0 {
			x.Snapshots = nil
		}
	}
	return cmp.Diff(w, g)
}

func TestV2RoundTripsWhateverAWarpHolds(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		h := v2TestHeader(1 << 40)
		h.Taken = seed%2 == 0
		h.WaveSize = 32 << (seed / 2 % 2)
		sites := someSites(1 + rng.IntN(600))
		want := map[uint64]*Warp{}
		var warps []*Warp
		for range 1 + rng.IntN(9) {
			w := randomWarp(rng, rng.Uint64()>>(24+rng.IntN(40)), rng.IntN(200), len(sites), h.WaveSize)
			if want[w.Warp] == nil {
				want[w.Warp] = w
				warps = append(warps, w)
			}
		}
		trace := openV2Bytes(t, writeV2(t, h, sites, warps, func(i int) bool { return rng.IntN(3) == 0 }))
		index, err := trace.Index(context.Background())
		if err != nil || !slices.IsSortedFunc(index, func(a, b WarpInfo) int { return int(int64(a.Warp) - int64(b.Warp)) }) {
			t.Fatal(index, err)
		}
		var got Warp
		for _, w := range warps {
			if err := trace.ReadWarp(context.Background(), w.Warp, &got); err != nil {
				t.Fatal(err)
			}
			if d := warpDiff(w, &got); d != "" {
				t.Fatalf("seed %d, warp %d (-want +got):\n%s", seed, w.Warp, d)
			}
		}
		for i := range sites {
			if d := cmp.Diff(&sites[i], trace.Sites().At(i), asRecorded); d != "" {
				t.Fatalf("site %d (-want +got):\n%s", i, d)
			}
		}
	}
}

// TestV2SectionsAreWhatTheSpecificationSays decodes the events of a section as the document spells it, one number at a time.
func TestV2SectionsAreWhatTheSpecificationSays(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	sites := someSites(300)
	var facts v2SiteFacts
	for i := range sites {
		facts.add(&sites[i])
	}
	for round := range 20 {
		c := v2Codec{facts: &facts, wave: 64, taken: round%2 == 0}
		w := randomWarp(rng, 1, 1+rng.IntN(50), 300, 64)
		w.History, w.Snapshots = nil, nil
		if d := cmp.Diff(eventsBySpecification(c.encode(nil, w), w.Len(), sites, c.taken), [8][]uint64{
			widen(w.Site), widen(w.Kind), widen(w.Dir), widen(w.Aux), w.Active, w.Taken, w.Value, widen(w.Type),
		}); d != "" {
			t.Fatal(d)
		}
	}
}

func widen[T column](col []T) []uint64 {
	out := make([]uint64, len(col))
	for i, v := range col {
		out[i] = uint64(v)
	}
	return out
}

func eventsBySpecification(b []byte, n int, sites []site.Site, taken bool) (cols [8][]uint64) {
	at := 8
	for c := range cols {
		cols[c] = make([]uint64, n)
		for p := range 8 {
			if b[c]>>p&1 == 0 {
				continue
			}
			for i := range n {
				cols[c][i] += uint64(b[at]) << (8 * p)
				at++
			}
		}
	}
	before := func(c, i int, first uint64) uint64 {
		for j := i - 1; j >= 0; j-- {
			if cols[0][j] == cols[0][i] {
				return cols[c][j]
			}
		}
		return first
	}
	for i := range n {
		cols[1][i] ^= uint64(sites[cols[0][i]].Kind)
		cols[3][i] ^= before(3, i, 0)
		cols[4][i] ^= before(4, i, ^uint64(0))
		cols[5][i] ^= before(5, i, 0)
		z := cols[6][i]
		d := z / 2
		if z%2 == 1 {
			d = -d - 1
		}
		cols[6][i] = before(6, i, 0) + d
		cols[7][i] ^= before(7, i, 0)
		prediction := before(2, i, 0)
		if taken {
			prediction = 0
			for lane := 63; lane >= 0; lane-- {
				if cols[4][i]>>lane&1 == 1 {
					prediction = cols[5][i] >> lane & 1
				}
			}
		}
		cols[2][i] ^= prediction
	}
	return cols
}

func TestV2EmptyWarpsCostNothingAndDigestsAlone24Bytes(t *testing.T) {
	empty := &Warp{WarpInfo: WarpInfo{Warp: 5}}
	one := randomWarp(rand.New(rand.NewPCG(1, 1)), 3, 10, 4, 32)
	with := writeV2(t, v2TestHeader(1000), someSites(4), []*Warp{one, empty}, never)
	if without := writeV2(t, v2TestHeader(1000), someSites(4), []*Warp{one}, never); !bytes.Equal(with, without) {
		t.Errorf("an empty warp costs %d bytes", len(with)-len(without))
	}
	trace := openV2Bytes(t, with)
	var got Warp
	if err := trace.ReadWarp(context.Background(), 5, &got); err != nil || got.Len() != 0 {
		t.Errorf("got %d events, %v", got.Len(), err)
	}
	var digests []*Warp
	for n := range uint64(1000) {
		digests = append(digests, &Warp{WarpInfo: WarpInfo{Warp: n, Total: 70, Dropped: 70, Rolling: n * n * n, HasRolling: true}})
	}
	b := writeV2(t, v2TestHeader(1000), nil, digests, never)
	if most := 2*1000*(16+8+3) + 500; len(b) > most {
		t.Errorf("1000 digests take %d bytes, more than %d", len(b), most)
	}
	trace = openV2Bytes(t, b)
	if err := trace.ReadWarp(context.Background(), 999, &got); err != nil || got.Rolling != 999*999*999 || got.Total != 70 || !got.HasRolling {
		t.Errorf("got %+v, %v", got.WarpInfo, err)
	}
}

func TestV2HeaderSurvives(t *testing.T) {
	h := Header{
		Version: 2, Kernel: "softmax<float, 128>", KernelHash: 77, ModuleHash: "ab12", Grid: [3]uint32{4, 2, 1}, Cluster: [3]uint32{2, 1, 1}, Block: [3]uint32{128, 2, 1},
		WaveSize: 64, WarpsPerBlock: 4, WarpSlots: 32, EventsPerWarp: 4096, Arch: "gfx942", ArchNumber: 0x1942, Launch: 9, ArgumentDigest: 1 << 63,
		Arguments: []Argument{{Name: "x", Type: "*fp16", Digest: 5, Shape: []uint64{0}, Strides: []int64{-1}}, {Name: "n", Type: "i32", Value: "-3"}}, Mode: ModeValues, Means: MeansObserved, Keep: KeepWindow,
		SampleRate: 3, TimestampNS: 1_800_000_000_123_456_789, Taken: true, HistoryDepth: 8, SnapshotDepth: 4, Compressed: true, Producer: "prlx 1.0",
		Origin: someOrigin(t),
	}
	trace := openV2Bytes(t, writeV2(t, h, nil, nil, never))
	if d := cmp.Diff(&h, trace.Header()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	h.KernelHash = 0 // not known
	h.KernelHash = Hash64(h.Kernel)
	if got := openV2Bytes(t, writeV2(t, h, nil, nil, never)).Header().KernelHash; got != Hash64(h.Kernel) {
		t.Errorf("hash of the name: got %#x", got)
	}
}

func TestV2Losses(t *testing.T) {
	var out bytes.Buffer
	h := v2TestHeader(9)
	h.SampleRate = 4
	w, err := CreateV2(&out, h, nil, V2Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Note("the arena was full")
	for n := range uint64(3) {
		if err := w.Append(&Warp{WarpInfo: WarpInfo{Warp: n, Dropped: 10 * n}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := openV2Bytes(t, out.Bytes()).Losses(context.Background())
	want := Losses{Dropped: 30, WarpsWithDrops: 2, SampleRate: 4, Notes: []string{"the arena was full"}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func TestV2WriterRefuses(t *testing.T) {
	sites := someSites(3)
	good := func() *Warp { return randomWarp(rand.New(rand.NewPCG(1, 2)), 7, 5, 3, 32) }
	for name, spoil := range map[string]func(w *Warp){
		"a warp beyond the launch":                 func(w *Warp) { w.Warp = 8 },
		"a warp that was written":                  func(w *Warp) { w.Warp = 2 },
		"columns of two lengths":                   func(w *Warp) { w.Value = w.Value[1:] },
		"a site that was not added":                func(w *Warp) { w.Site[4] = 3 },
		"history of a site that was not added":     func(w *Warp) { w.History = []HistoryEntry{{Site: 3}} },
		"history of an event that does not exist":  func(w *Warp) { w.History = []HistoryEntry{{Event: 5}} },
		"a snapshot of a site that was not added":  func(w *Warp) { w.Snapshots = []Snapshot{{Site: 3}} },
		"a snapshot of no event that there can be": func(w *Warp) { w.Snapshots = []Snapshot{{Event: -2}} },
		"more lanes than a warp has":               func(w *Warp) { w.Snapshots = []Snapshot{{Lhs: make([]uint64, 33)}} },
	} {
		var out bytes.Buffer
		w, err := CreateV2(&out, v2TestHeader(8), site.NewTable(sites), V2Options{})
		if err != nil {
			t.Fatal(err)
		}
		two := good()
		two.Warp = 2
		bad := good()
		spoil(bad)
		if err := w.Append(two); err != nil {
			t.Fatal(err)
		}
		if err := w.Append(bad); !fault.Is(err, fault.Usage) {
			t.Errorf("%s: got %v, want a usage error", name, err)
		}
		if err := w.Append(good()); err != nil {
			t.Errorf("%s: the writer is of no use afterwards: %v", name, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := w.Append(bad); !fault.Is(err, fault.Usage) {
			t.Errorf("%s: after Close got %v", name, err)
		}
		if index, _ := openV2Bytes(t, out.Bytes()).Index(context.Background()); len(index) != 2 {
			t.Errorf("%s: the file has %d warps, want 2", name, len(index))
		}
	}
	if _, err := CreateV2(&bytes.Buffer{}, v2TestHeader(8), site.NewTable([]site.Site{sites[0], sites[0]}), V2Options{}); !fault.Is(err, fault.Usage) {
		t.Errorf("two sites with one key: got %v", err)
	}
	if _, err := CreateV2(&bytes.Buffer{}, Header{WaveSize: 16}, nil, V2Options{}); !fault.Is(err, fault.Usage) {
		t.Errorf("a wave of 16 lanes: got %v", err)
	}
	h := v2TestHeader(8)
	h.Kernel = strings.Repeat("k", v2MaxSmall)
	if _, err := CreateV2(&bytes.Buffer{}, h, nil, V2Options{}); !fault.Is(err, fault.Limit) {
		t.Errorf("a name of a mebibyte: got %v", err)
	}
	deep := site.Operand{}
	for range v2MaxNesting {
		deep = site.Operand{Inputs: []site.Operand{deep}}
	}
	if _, err := CreateV2(&bytes.Buffer{}, v2TestHeader(8), site.NewTable([]site.Site{{Key: 1, Operands: []site.Operand{deep}}}), V2Options{}); !fault.Is(err, fault.Limit) {
		t.Errorf("operands nested %d deep: got %v", v2MaxNesting+1, err)
	}
	if _, err := CreateV2(&bytes.Buffer{}, v2TestHeader(8), site.NewTable([]site.Site{{Key: 1, Operands: deep.Inputs}}), V2Options{}); err != nil {
		t.Errorf("operands nested %d deep: got %v", v2MaxNesting, err)
	}
	if _, err := CreateV2(failingWriter{}, v2TestHeader(8), nil, V2Options{}); !fault.Is(err, fault.IO) {
		t.Errorf("a disk that is full: got %v", err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, fmt.Errorf("no space left on device") }

func TestV2KeepsTheFirstOfEndlessNotes(t *testing.T) {
	var out bytes.Buffer
	w, err := CreateV2(&out, v2TestHeader(9), nil, V2Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		w.Note(strings.Repeat("x", 100_000))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if losses, err := openV2Bytes(t, out.Bytes()).Losses(context.Background()); err != nil || len(losses.Notes) != 5 {
		t.Errorf("got %d notes, %v, want 5", len(losses.Notes), err)
	}
}

func TestV2IsReadByManyAtOnce(t *testing.T) {
	b := structuredFile(t, 200, 3000, 0)
	trace := openV2Bytes(t, b)
	var read atomic.Int64
	g, ctx := safe.NewGroup(context.Background())
	for worker := range 8 {
		g.Go(func() error {
			var got, want Warp
			for n := range uint64(200) {
				n = (n*7 + uint64(worker)*31) % 200
				if err := trace.ReadWarp(ctx, n, &got); err != nil {
					return err
				}
				if structuredWarp(&want, n, 3000); !slices.Equal(want.Value, got.Value) {
					return fmt.Errorf("warp %d is another one's", n)
				}
				read.Add(1)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil || read.Load() != 1600 {
		t.Fatal(read.Load(), err)
	}
}

func TestV2IsSmallAndBounded(t *testing.T) {
	const warps, events = 64, benchEvents
	b := structuredFile(t, warps, events, 0)
	if v1 := warps * (v1WarpHead + events*v1EventBytes); len(b)*8 > v1 {
		t.Errorf("structured events take %d bytes, more than an eighth of the %d of v1", len(b), v1)
	}
	trace := openV2Bytes(t, b)
	blocks := trace.rec.(*v2).blocks
	for _, block := range blocks {
		if holdsWarps(block.head.kind) && block.head.count > v2BlockEvents/events {
			t.Errorf("a block holds %d warps of %d events", block.head.count, events)
		}
	}
}

// TestV2FileIsSpelledOut builds a tiny file from the words of docs/formats/prlx-v2.md, with either kind of block.
func TestV2FileIsSpelledOut(t *testing.T) {
	for _, sections := range []bool{false, true} {
		spelledOut(t, sections)
	}
}

func spelledOut(t *testing.T, sections bool) {
	t.Helper()
	h := Header{Kernel: "k", WaveSize: 32, WarpSlots: 6, Taken: true}
	h.KernelHash = Hash64("k")
	sites := []site.Site{{Key: 0x1122334455667788, Kind: site.Branch, Ordinal: -1, Compare: site.NoCompare}}
	w := &Warp{}
	w.reset(WarpInfo{Warp: 4, Dropped: 2}, 3)
	copy(w.Active, []uint64{0xffffffff, 0xffffffff, 0xfffffffe})
	copy(w.Taken, []uint64{0xffffffff, 0xffffffff, 0xfffffffe})
	copy(w.Dir, []uint8{1, 1, 1})
	copy(w.Value, []uint64{0, 1, 2})
	copy(w.Type, []ValueType{TypeI32, TypeI32, TypeI32})
	digest, control := digestOf(w, []uint64{uint64(sites[0].Key)})

	var want []byte
	u16 := func(v uint16) { want = binary.LittleEndian.AppendUint16(want, v) }
	u32 := func(v int) { want = binary.LittleEndian.AppendUint32(want, uint32(v)) }
	u64 := func(v uint64) { want = binary.LittleEndian.AppendUint64(want, v) }
	crc := func(from int) { want = binary.LittleEndian.AppendUint32(want, checksum(want[from:])) }
	block := func(kind, flags byte, inflated, count, directory int, payload []byte) (head []byte) {
		at := len(want)
		want = append(want, 'P', '2', 'B', 'K', kind, flags, 0, 0)
		u32(len(payload))
		u32(inflated)
		u32(count)
		u32(directory)
		want = binary.LittleEndian.AppendUint32(want, checksum(payload))
		crc(at)
		head = slices.Clone(want[at:])
		want = append(want, payload...)
		return head
	}
	want = append(want, 0x89, 'P', 'R', 'L', 'X', '2', 0x0a, 0x1a)
	if sections {
		u16(2)
	} else {
		u16(3)
	}
	u16(0)
	crc(0)
	header := []byte{0x0a, 1, 'k', 0x38, 32, 0x48, 6, 0xa8, 1, 1} // kernel, wave_size, warp_slots, taken
	block(1, 0, len(header), 1, 0, header)
	table := []byte{0x0a, 9, 0x11, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11}
	sitesAt := len(want)
	sitesHead := block(2, 0, len(table), 1, 0, table)
	kind, body := byte(3), []byte{
		0, 0, 0, 0, 0b1, 0b1111, 0b1, 0b1, // masks: of active the lowest plane, of taken four, of value and type one
		0, 0, 1,
		0xff, 0, 1, 0xff, 0, 0, 0xff, 0, 0, 0xff, 0, 0,
		0, 2, 2,
		4, 0, 0,
	}
	directory := []byte{1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 4, 3, 2, byte(len(body))} // masks; warp, events, dropped, section
	if !sections {
		kind, body = 10, []byte{
			1, 0, 0, 0, 0, 0b1, 1, // one site, with two symbols
			0, 0, 0, 0b1, 0, 0b1, 0, 1, 4, 0, // of which active and type are stored
			0, 0b1, 0, 1, 0, // the first event has a new symbol, the second that one again, the third another new one
			1, 0b1, 0, 0, 2, 2, // a column of values, as steps
			0, // nothing else belongs to the warp
		}
		directory = []byte{
			45, 0, 0, 0, 1, 0, 0, 0, // bytes that follow; one path
			0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, // masks of planes, whole and constant
			4, 2, 3, // warp, dropped, events of the path
		}
	}
	directory = binary.LittleEndian.AppendUint64(directory, digest)
	directory = binary.LittleEndian.AppendUint64(directory, control)
	warpsAt := len(want)
	warpsHead := block(kind, 0, len(body), 1, len(directory), append(slices.Clone(directory), body...))
	indexAt := len(want)
	index := append(binary.LittleEndian.AppendUint64(nil, uint64(sitesAt)), sitesHead...)
	index = append(binary.LittleEndian.AppendUint64(index, uint64(warpsAt)), warpsHead...)
	index = append(index, directory...)
	block(4, 0, len(index), 2, len(directory), index)
	endAt := len(want)
	end := []byte{8, 1, 16, 3, 24, 2, 32, 1}
	block(5, 0, len(end), 1, 0, end)
	trailerAt := len(want)
	u64(uint64(indexAt))
	u64(uint64(endAt))
	want = append(want, 0x1a, 0x0a, '2', 'X', 'L', 'R', 'P', 0x89, 0, 0, 0, 0)
	crc(trailerAt)

	if got := writeV2As(t, h, sites, []*Warp{w}, never, V2Options{Sections: sections}); !bytes.Equal(want, got) {
		t.Errorf("got\n% x\nwant\n% x", got, want)
	}
	var got Warp
	if err := openV2Bytes(t, want).ReadWarp(context.Background(), 4, &got); err != nil {
		t.Fatal(err)
	}
	w.Total, w.Events = 5, 3
	if d := warpDiff(w, &got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
