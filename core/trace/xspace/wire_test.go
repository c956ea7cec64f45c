package xspace

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/testing/xspacetest"
)

// values are the neighbours of every power of two and some of everything between.
func values() []uint64 {
	var v []uint64
	r := rand.New(rand.NewPCG(5, 6))
	for bit := range 64 {
		p := uint64(1) << bit
		v = append(v, p-1, p, p+1, p|r.Uint64N(p))
	}
	return append(v, math.MaxUint64)
}

func TestVarintsAgreeWithProtowire(t *testing.T) {
	for _, v := range values() {
		want := protowire.AppendVarint(nil, v)
		b := make([]byte, pad*2)
		if n := putUvarint(b, 3, v) - 3; !bytes.Equal(b[3:3+n], want) || uvarintSize(v) != len(want) {
			t.Errorf("%#x: wrote % x of size %d, want % x", v, b[3:3+n], uvarintSize(v), want)
		}
		for long := len(want); long <= maxVarint-1; long++ { // the same value in more bytes than it needs
			copy(b, want)
			for k := len(want); k < long; k++ {
				b[k-1] |= 0x80
				b[k] = 0
			}
			b[long] = 0xff // what follows does not matter
			if got, n := uvarint(b, 0); got != v || n != long {
				t.Errorf("%#x in %d bytes: read %#x of %d bytes", v, long, got, n)
			}
		}
	}
	for _, b := range [][]byte{bytes.Repeat([]byte{0x80}, 10), append(bytes.Repeat([]byte{0xff}, 9), 2), bytes.Repeat([]byte{0xff}, 11)} {
		if v, n := uvarint(append(b, make([]byte, pad)...), 0); n != 0 {
			t.Errorf("% x: read %#x of %d bytes, want none", b, v, n)
		}
	}
}

func TestCopyShortCopiesAllSizes(t *testing.T) {
	src := make([]byte, 1024)
	for i := range src {
		src[i] = byte(i*7 + 1)
	}
	for n := range 600 {
		dst := make([]byte, 1024)
		if got := copyShort(dst, 5, src, 9, 9+n); got != 5+n || !bytes.Equal(dst[5:5+n], src[9:9+n]) || !bytes.Equal(dst[:5], make([]byte, 5)) {
			t.Fatalf("copy of %d bytes ends at %d or copies other bytes", n, got)
		}
	}
}

// TestUsualAgreesWithGeneral parses events with both readers, whole and cut.
func TestUsualAgreesWithGeneral(t *testing.T) {
	usual := 0
	for seed := range uint64(20_000) {
		q := newQuirky(seed)
		e := q.event(q.Int64N(1 << (1 + q.IntN(60))))
		if q.chance(20) {
			e = e[:q.IntN(len(e)+1)]
		}
		b := append(append([]byte{9}, e...), bytes.Repeat([]byte{byte(q.IntN(256))}, pad)...)
		var fast, slow eventFields
		if !parseUsual(b, 1, 1+len(e), &fast) {
			continue
		}
		usual++
		if bad := parseEvent(b, 1, 1+len(e), &slow); bad != nil {
			t.Fatalf("seed %d: the fast reader took % x, in which %s", seed, e, bad.what)
		}
		if fast.off != slow.off || fast.dur != slow.dur || fast.aggregated != slow.aggregated ||
			fast.offPos != slow.offPos || fast.offEnd != slow.offEnd || fast.durPos != slow.durPos || fast.durEnd != slow.durEnd {
			t.Fatalf("seed %d: % x: fast %+v, slow %+v", seed, e, fast, slow)
		}
	}
	if usual < 1000 {
		t.Fatalf("only %d events were usual", usual)
	}
}

func TestOnlyVisitsWhatWasAskedFor(t *testing.T) {
	in := appendBytes(nil, 1, appendBytes(nil, 3, func() (l []byte) {
		for _, id := range []int64{1, 5, 127, 128, 300, 16_383, 16_384, 1 << 19, 1 << 20, 1 << 40, -1, 0} {
			for _, more := range [][]byte{nil, num(2, 77), append(num(2, 1<<40), num(3, 9)...)} {
				l = append(l, msg(4, num(1, id), more)...)
			}
			l = append(l, msg(4, num(2, 3), num(1, id))...)
		}
		return l
	}()))
	src := opened(t, in)
	s := scan(t, src)
	p := &s.Planes[0]
	for _, want := range [][]int64{{1}, {0}, {127, 16_384}, {128, 1 << 20, -1}, {16_383, 1 << 40}, {99}, {}} {
		only := &idSet{}
		for _, id := range want {
			only.add(id)
			only.add(id)
		}
		seen := map[int64]int{}
		err := EventsOf(context.Background(), src, p, &p.Lines[0], EventOptions{Only: only}, func(e *Event) error {
			seen[e.MetadataID]++
			if e.Index%4 == 1 && e.OffsetPS != 77 {
				t.Errorf("event %d has offset %d, want 77", e.Index, e.OffsetPS)
			}
			return nil
		})
		present := 0
		for _, id := range want {
			if id != 99 {
				present++
				if seen[id] != 4 {
					t.Errorf("only %v: saw %d events of id %d, want 4", want, seen[id], id)
				}
			}
		}
		if err != nil || len(seen) != present || only.len() != len(want) {
			t.Errorf("only %v: saw %v, %v", want, seen, err)
		}
	}
}

func TestNamesAreBoundedAndByID(t *testing.T) {
	var plane []byte
	for id := range int64(1000) {
		plane = append(plane, newQuirky(1).metadata(4, id<<12, string(binary.AppendUvarint([]byte("name"), uint64('a'+id%26))))...)
	}
	src := opened(t, msg(1, plane))
	p := &scan(t, src).Planes[0]
	ctx := context.Background()
	all, err := LoadEventNames(ctx, src, p, NameOptions{})
	if err != nil || all.len() != 1000 || all.name(3<<12) != "named" || all.name(999<<12) != "namel" {
		t.Fatalf("all: %d names, %q %q, %v", all.len(), all.name(3<<12), all.name(999<<12), err)
	}
	few, err := LoadEventNames(ctx, src, p, NameOptions{IDs: map[int64]bool{3 << 12: true, 7: true}})
	if _, ok := few.lookup(7); err != nil || few.len() != 1 || ok {
		t.Fatalf("by id: %d names, %v", few.len(), err)
	}
	small, err := LoadEventNames(ctx, src, p, NameOptions{LimitBytes: 100 * (textOverhead + 5)})
	if err != nil || small.len() != 100 || small.Omitted != 900 {
		t.Fatalf("bounded: %d names, %d left out, %v", small.len(), small.Omitted, err)
	}
}

// TestMemoryDoesNotGrowWithTheFile counts what the passes allocate for a small and for a larger file, and for a large table.
func TestMemoryDoesNotGrowWithTheFile(t *testing.T) {
	ctx := context.Background()
	for name, in := range map[string][]byte{
		"400_000 events":         generated(t, 50_000),
		"300_000 metadata names": msg(1, bytes.Repeat(newQuirky(1).metadata(4, 1<<20, "some_fusion_or_other.123"), 300_000)),
		"one message of 20 MB":   append(append(num(7, 1), msg(1, num(1, 1), appendBytes(nil, 99, make([]byte, 20<<20)))...), msg(4, []byte("h"))...),
	} {
		src := opened(t, in)
		var s *Space
		if n := allocated(func() { s = scan(t, src) }); n > 2<<20 {
			t.Errorf("%s: scan allocates %d bytes for a file of %d", name, n, len(in))
		}
		e := shifted(t, s)
		var sizes *sizes
		var err error
		n := allocated(func() {
			if sizes, err = Measure(ctx, src, s, e); err == nil {
				err = rewrite(ctx, src, s, e, sizes, &failing{math.MaxInt})
			}
		})
		if err != nil || n > 5<<20 {
			t.Errorf("%s: measure and rewrite allocate %d bytes for a file of %d: %v", name, n, len(in), err)
		}
	}
}

func generated(t testing.TB, eventsPerGPU int64) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := xspacetest.New(xspacetest.Config{Nodes: 1, EventsPerGPU: eventsPerGPU}).Write(0, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// len returns the number of entries.
func (t *names) len() int { return len(t.text) }
