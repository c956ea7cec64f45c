package warptrace

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/recording/site"
)

// v1Shape is a combination of flags.
type v1Shape struct {
	name      string
	compress  bool
	history   uint32
	snapshots uint32
	sample    uint32
}

// v1Shapes are all combinations of flags that are written.
var v1Shapes = func() []v1Shape {
	var shapes []v1Shape
	for flags := range 16 {
		s := v1Shape{name: "plain", sample: 1}
		if flags&1 != 0 {
			s.name, s.compress = "zstd", true
		}
		if flags&2 != 0 {
			s.name, s.history = s.name+", history", 3
		}
		if flags&4 != 0 {
			s.name, s.snapshots = s.name+", snapshots", 2
		}
		if flags&8 != 0 {
			s.name, s.sample = s.name+", sampled", 4
		}
		shapes = append(shapes, s)
	}
	return shapes
}()

// someWarps makes warps that leave gaps, with rings that wrap.
func someWarps(rng *rand.Rand, slots, capacity int) []Warp {
	var warps []Warp
	for w := range slots {
		if w%3 == 1 {
			continue
		}
		n := rng.IntN(capacity) + 1
		warp := Warp{}
		warp.reset(WarpInfo{Warp: uint64(w), Events: uint32(n), Total: uint64(n), Stored: uint32(n)}, n)
		for i := range n {
			warp.Site[i], warp.Kind[i], warp.Dir[i] = 100+uint32(rng.IntN(5)), site.Kind(rng.IntN(7)), uint8(rng.IntN(2))
			warp.Aux[i], warp.Active[i], warp.Value[i] = uint16(rng.IntN(1<<16)), uint64(rng.Uint32()), uint64(rng.Uint32())
			warp.Type[i], warp.Taken[i] = TypeBits, 0
		}
		for k := range rng.IntN(6) {
			warp.History = append(warp.History, HistoryEntry{Site: 7, Value: uint64(k), Seq: uint32(k), Event: -1})
		}
		for e := range n {
			s := Snapshot{Site: warp.Site[e], Event: int32(e), Seq: uint32(e), Active: 5, Compare: 40, Type: TypeBits, Lhs: make([]uint64, 32), Rhs: make([]uint64, 32)}
			s.Lhs[e%32], s.Rhs[31] = uint64(e), 9
			warp.Snapshots = append(warp.Snapshots, s)
		}
		warps = append(warps, warp)
	}
	return warps
}

func writeV1(t testing.TB, h Header, compress bool, warps []Warp) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := CreateV1(&out, h, V1Options{Compress: compress})
	if err != nil {
		t.Fatal(err)
	}
	for i := range warps {
		if err := w.Append(&warps[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func openBytes(b []byte) (*Trace, error) {
	src, err := file.FromBytes("test.prlx", b)
	if err != nil {
		return nil, err
	}
	return Open(context.Background(), src)
}

func v1TestHeader(slots, capacity int) Header {
	return Header{
		Version: 1, Kernel: "softmax_kernel", Grid: [3]uint32{2, 1, 1}, Block: [3]uint32{64, 1, 1}, WarpsPerBlock: 2, WarpSlots: uint64(slots),
		EventsPerWarp: uint32(capacity), ArchNumber: 80, SampleRate: 1, TimestampNS: 1_700_000_000_000_000_000,
	}
}

func TestV1RoundTripsInEveryShape(t *testing.T) {
	for _, shape := range v1Shapes {
		t.Run(shape.name, func(t *testing.T) {
			warps := someWarps(rand.New(rand.NewPCG(1, 2)), 10, 9)
			h := v1TestHeader(10, 9)
			h.HistoryDepth, h.SnapshotDepth, h.SampleRate = shape.history, shape.snapshots, shape.sample
			trace, err := openBytes(writeV1(t, h, shape.compress, warps))
			if err != nil {
				t.Fatal(err)
			}
			defer trace.Close()
			got := trace.Header()
			if got.Kernel != h.Kernel || got.KernelHash != Hash64(h.Kernel) || got.Grid != h.Grid || got.Block != h.Block || got.Arch != "sm_80" ||
				got.WaveSize != 32 || got.SampleRate != shape.sample || got.TimestampNS != h.TimestampNS || got.Compressed != shape.compress {
				t.Errorf("header is %+v", got)
			}
			index, err := trace.Index(context.Background())
			if err != nil || len(index) != len(warps) {
				t.Fatalf("index has %d warps (%v), want %d", len(index), err, len(warps))
			}
			for i := range warps {
				checkV1Warp(t, trace, &warps[i], shape.history, shape.snapshots, shape.sample)
			}
			var empty Warp
			if err := trace.ReadWarp(context.Background(), 1, &empty); err != nil || empty.Len() != 0 {
				t.Errorf("a warp that recorded nothing has %d events (%v)", empty.Len(), err)
			}
		})
	}
}

func checkV1Warp(t *testing.T, trace *Trace, want *Warp, history, snapshots, sample uint32) {
	t.Helper()
	var got Warp
	if err := trace.ReadWarp(context.Background(), want.Warp, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Site, want.Site) || !reflect.DeepEqual(got.Kind, want.Kind) || !reflect.DeepEqual(got.Dir, want.Dir) ||
		!reflect.DeepEqual(got.Aux, want.Aux) || !reflect.DeepEqual(got.Active, want.Active) || !reflect.DeepEqual(got.Value, want.Value) {
		t.Errorf("warp %d: events differ", want.Warp)
	}
	if n := min(len(want.History), int(history)); len(got.History) != n || n > 0 && !reflect.DeepEqual(got.History, want.History[len(want.History)-n:]) {
		t.Errorf("warp %d: history is %v, want the newest %d of %v", want.Warp, got.History, n, want.History)
	}
	n := min(len(want.Snapshots), int(snapshots))
	if len(got.Snapshots) != n {
		t.Fatalf("warp %d: %d snapshots, want %d", want.Warp, len(got.Snapshots), n)
	}
	for i, s := range got.Snapshots {
		w := want.Snapshots[len(want.Snapshots)-n+i]
		if sample > 1 { // which event it belongs to is not certain then
			w.Event = -1
		}
		if !reflect.DeepEqual(s, w) {
			t.Errorf("warp %d, snapshot %d: %+v, want %+v", want.Warp, i, s, w)
		}
	}
}

func TestV1BytesAreAsSpecified(t *testing.T) {
	w := Warp{}
	w.reset(WarpInfo{Warp: 0, Events: 1, Total: 1}, 1)
	w.Site[0], w.Kind[0], w.Dir[0], w.Aux[0], w.Active[0], w.Value[0] = 0x11223344, site.Atomic, 1, 0x5566, 0xfffffffe, 0xdeadbeef
	h := Header{Kernel: "k", Grid: [3]uint32{1, 2, 3}, Block: [3]uint32{4, 5, 6}, WarpsPerBlock: 7, WarpSlots: 1, EventsPerWarp: 2, ArchNumber: 90, TimestampNS: 5e9}
	want := "00000000584c5250" + "01000000" + "00000000"
	got := writeV1(t, h, false, []Warp{w})
	if head := hex.EncodeToString(got[:16]); head != want {
		t.Errorf("magic, version, flags are %s, want %s", head, want)
	}
	if len(got) != 160+16+2*16 {
		t.Fatalf("%d bytes, want header, one warp of two events", len(got))
	}
	for _, field := range []struct {
		name string
		at   int
		want string
	}{
		{"kernel_name", 24, "6b00"},
		{"grid", 88, "010000000200000003000000"},
		{"block", 100, "040000000500000006000000"},
		{"warps, slots, capacity", 112, "070000000100000002000000"},
		{"timestamp", 128, "0500000000000000"},
		{"arch, history depth and offset, sample rate", 136, "5a000000" + "00000000" + "00000000" + "01000000"},
		{"warp header", 160, "01000000" + "00000000" + "01000000" + "01000000"},
		{"event", 176, "44332211" + "02" + "01" + "6655" + "feffffff" + "efbeadde"},
		{"unused slot", 192, strings.Repeat("00", 16)},
	} {
		if s := hex.EncodeToString(got[field.at : field.at+len(field.want)/2]); s != field.want {
			t.Errorf("%s is %s, want %s", field.name, s, field.want)
		}
	}
}

// readAll reads everything that a Trace offers; what it returns must be an error with a kind, or nil.
func readAll(b []byte) error {
	trace, err := openBytes(b)
	if err != nil {
		return err
	}
	defer trace.Close()
	ctx := context.Background()
	index, err := trace.Index(ctx)
	if err != nil {
		return err
	}
	var w, x Warp
	for i := range index[:min(len(index), 64)] {
		if err := trace.ReadWarp(ctx, index[i].Warp, &w); err != nil {
			return err
		}
	}
	_, err = Walk(ctx, trace, trace, WalkOptions{All: true, Rings: true}, func(p *Pair) error { return p.Decode(&w, &x) })
	return err
}

func TestV1CutAnywhereIsAnErrorOrLacksOnlyRings(t *testing.T) {
	for _, shape := range v1Shapes {
		h := v1TestHeader(4, 3)
		h.HistoryDepth, h.SnapshotDepth, h.SampleRate = shape.history, shape.snapshots, shape.sample
		whole := writeV1(t, h, shape.compress, someWarps(rand.New(rand.NewPCG(3, 4)), 4, 3))
		for n := range len(whole) {
			err := readAll(whole[:n])
			eventsEnd := v1Header + 4*(v1WarpHead+3*v1EventBytes)
			if cut := shape.compress || n < eventsEnd; cut && err == nil {
				t.Fatalf("%s cut to %d of %d bytes was read", shape.name, n, len(whole))
			} else if !cut && err != nil {
				t.Fatalf("%s cut to %d bytes, events end at %d: %v", shape.name, n, eventsEnd, err)
			}
			if err != nil && fault.Of(err).Kind != fault.Format && fault.Of(err).Kind != fault.Limit {
				t.Fatalf("%s cut to %d bytes: %v is a %s error", shape.name, n, err, fault.Of(err).Kind)
			}
		}
	}
}

func TestV1LiesAreRefusedWithoutRoomForThem(t *testing.T) {
	whole := writeV1(t, v1TestHeader(2, 2), false, nil)
	for _, lie := range []struct {
		name string
		at   int
		put  uint32
		want string
	}{
		{"version", 8, 7, "version is 7"},
		{"slots", 116, 0xffffffff, "cut short"},
		{"capacity", 120, 0xffffffff, "events_per_warp"},
	} {
		b := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(b[lie.at:], lie.put)
		if err := readAll(b); err == nil || !strings.Contains(err.Error(), lie.want) {
			t.Errorf("%s: got %v, want %q", lie.name, err, lie.want)
		}
	}
	t.Run("ring depth", func(t *testing.T) {
		b := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(b[12:], v1FlagHistory)
		binary.LittleEndian.PutUint32(b[140:], 0xffffffff)
		if err := readAll(b); !fault.Is(err, fault.Limit) {
			t.Errorf("got %v, want a limit error", err)
		}
	})
}

func TestV1OldFilesWithZeroSampleRateKeepEveryEvent(t *testing.T) {
	b := writeV1(t, v1TestHeader(2, 2), false, nil)
	binary.LittleEndian.PutUint32(b[148:], 0)
	trace, err := openBytes(b)
	if err != nil || trace.Header().SampleRate != 1 {
		t.Errorf("sample rate is %v (%v), want 1", trace.Header().SampleRate, err)
	}
}

func TestKernelsAreTheSameByEitherHash(t *testing.T) {
	compiled := &Header{Version: 1, Kernel: "k", KernelHash: Hash64("k")}
	nvbit := &Header{Version: 1, Kernel: "k", KernelHash: Hash32("k")}
	other := &Header{Version: 1, Kernel: "j", KernelHash: Hash64("j")}
	ours := &Header{Version: 2, Kernel: "k"}
	for _, c := range []struct {
		a, b *Header
		want bool
	}{{compiled, nvbit, true}, {compiled, ours, true}, {nvbit, ours, true}, {compiled, other, false}, {ours, other, false}} {
		if got := SameKernel(c.a, c.b); got != c.want {
			t.Errorf("%s %x and %s %x: same is %v", c.a.Kernel, c.a.KernelHash, c.b.Kernel, c.b.KernelHash, got)
		}
	}
}

func FuzzOpenV1(f *testing.F) {
	for i, shape := range v1Shapes {
		h := v1TestHeader(3, 4)
		h.HistoryDepth, h.SnapshotDepth, h.SampleRate = shape.history, shape.snapshots, shape.sample
		f.Add(writeV1(f, h, shape.compress, someWarps(rand.New(rand.NewPCG(5, 6)), 3, 4)))
		f.Add(randomV1(rand.New(rand.NewPCG(uint64(i), 7))).bytes(f))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := readAll(b); err != nil {
			if fault.Of(err).Kind == fault.Internal {
				t.Fatalf("an error without a kind: %v", err)
			}
			return
		}
		trace, err := openBytes(b)
		if err != nil {
			t.Fatalf("opened once, but not twice: %v", err)
		}
		defer trace.Close()
		opt := WalkOptions{Values: true, All: true, Rings: true}
		checked := 0
		stats, err := Walk(context.Background(), trace, trace, opt, func(p *Pair) error {
			if checked++; checked > 16 {
				return nil
			}
			return checkDecoded(p, trace, trace, opt)
		})
		if err != nil || stats.Equal != stats.Warps || stats.EventsA != stats.EventsB {
			t.Fatalf("walked against itself: %+v (%v)", stats, err)
		}
	})
}
