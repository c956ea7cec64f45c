package xspace

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/clock"
)

func msg(num int, parts ...[]byte) []byte { return appendBytes(nil, num, bytes.Join(parts, nil)) }
func num(field int, v int64) []byte       { return appendVarint(nil, field, uint64(v)) }

func TestDamageIsAFormatErrorWithItsPlace(t *testing.T) {
	good := msg(4, num(1, 1), num(2, 10), num(3, 5))
	deep := []byte{0x08, 0x01}
	for range 2000 {
		deep = msg(4, deep)
	}
	deep = msg(1, msg(3, deep))
	for _, c := range []struct {
		name   string
		in     []byte
		offset int64
		says   string
	}{
		{"empty file", nil, 0, "empty"},
		{"text", []byte("{\"traceEvents\": []}"), 0, "wire type 3"},
		{"field number 0", []byte{0x02, 0x00}, 0, "field number 0"},
		{"group", []byte{0x0b, 0x0c}, 0, "wire type 3"},
		{"group in a plane", msg(1, []byte{0x13}), 2, "plane 0: field 2 has wire type 3"},
		{"plane longer than the file", []byte{0x0a, 0x7f, 0x08}, 0, "claims 127 bytes"},
		{"line longer than its plane", append(msg(1, []byte{0x1a, 0x05, 0x08}), 0, 0, 0, 0, 0, 0), 2, "plane 0: field 3 claims 5 bytes"},
		{"length near 2^64", msg(1, append([]byte{0x1a}, binary.AppendUvarint(nil, math.MaxUint64)...)), 2, "claims 18446744073709551615"},
		{"length of eleven bytes", append([]byte{0x0a}, bytes.Repeat([]byte{0xff}, 11)...), 1, "longer than 64 bits"},
		{"event longer than its line", msg(1, msg(3, good, []byte{0x22, 0x09, 0x08})), 12, "plane 0, line 0: event 1: a field claims more bytes"},
		{"event cut in a varint", msg(1, msg(3, good, good, msg(4, []byte{0x10, 0x80}))), 24, "event 2: a field is cut off"},
		{"event with a varint of eleven bytes", msg(1, msg(3, msg(4, append([]byte{0x10}, bytes.Repeat([]byte{0x80}, 11)...)))), 6, "event 0: a varint is longer"},
		{"stat longer than its event", msg(1, msg(3, msg(4, []byte{0x22, 0x40}))), 6, "event 0: a field claims more bytes"},
		{"group in an event", msg(1, msg(3, msg(4, []byte{0x13}))), 6, "event 0: field 2 has wire type 3"},
		{"field number 0 in an event", msg(1, msg(3, msg(4, []byte{0x00}))), 6, "event 0: field number 0"},
		{"fixed value cut off", msg(1, msg(3, msg(4, []byte{0x11, 1, 2, 3}))), 6, "cut off"},
		{"stat of a plane cut off", msg(1, msg(6, []byte{0x08})), 5, "plane 0: value is cut off"},
		{"file cut in a tag", []byte{0x22, 0x00, 0x80}, 2, "cut off"},
		{"two thousand levels", deep, 0, ""},
		{"lengths beyond each other", bytes.Repeat([]byte{0x0a, 0xff, 0xff, 0x03}, 50_000), 4, "plane 0: field 1 claims 65535 bytes, but only 65531"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Scan(context.Background(), opened(t, c.in), ScanOptions{})
			e := fault.Of(err)
			if c.says == "" {
				if err != nil && e.Kind != fault.Format {
					t.Fatalf("got %v, want a format error or none", err)
				}
				return
			}
			if err == nil || e.Kind != fault.Format || e.Offset != c.offset || !strings.Contains(e.Msg, c.says) {
				t.Fatalf("got %v (kind %v, offset %d), want %q at byte %d", err, e.Kind, e.Offset, c.says, c.offset)
			}
		})
	}
}

func TestLimitsAreErrors(t *testing.T) {
	lines := msg(1, bytes.Repeat(msg(3), 100))
	for name, c := range map[string]struct {
		in  []byte
		opt ScanOptions
	}{
		"lines":     {lines, ScanOptions{MaxLines: 99}},
		"planes":    {bytes.Repeat(msg(1), 100), ScanOptions{MaxPlanes: 99}},
		"texts":     {bytes.Repeat(msg(4, make([]byte, 1000)), 100), ScanOptions{MaxTextBytes: 50_000}},
		"snapshots": {snapshotFile(100, 0), ScanOptions{MaxSnapshots: 99}},
	} {
		if _, err := Scan(context.Background(), opened(t, c.in), c.opt); !fault.Is(err, fault.Limit) {
			t.Errorf("%s: got %v, want a limit error", name, err)
		}
		if _, err := Scan(context.Background(), opened(t, c.in), ScanOptions{}); err != nil {
			t.Errorf("%s: %v with default limits", name, err)
		}
	}
}

// snapshotFile has n clock snapshots, 1 ms apart, on a line based at timestamp_ns, and a session that starts at 5e18.
func snapshotFile(n int, timestamp int64) []byte {
	line := [][]byte{append(appendBytes(nil, 2, "Clock Snapshots"), num(3, timestamp)...)}
	for i := range int64(n) {
		line = append(line, msg(4, num(1, 1), num(2, i*1_000_000_000), msg(4, num(1, 7), num(3, 40_000+i*1_000_001))))
	}
	entry := msg(5, num(1, 7), msg(2, num(1, 7), appendBytes(nil, 2, "rocm_ns")))
	plane := msg(1, append(appendBytes(nil, 2, "/host:snapshots"), entry...), msg(3, line...))
	env := msg(1, appendBytes(nil, 2, "Task Environment"), msg(5, num(1, 1), msg(2, appendBytes(nil, 2, "profile_start_time"))), msg(6, num(1, 1), num(3, 5e18)))
	return append(plane, env...)
}

func TestSnapshotsAreAbsolute(t *testing.T) {
	for _, c := range []struct {
		name      string
		timestamp int64
		added, y0 int64
	}{
		{"normalised line", 3_000_000, 5e18, 5e18 + 3_000_000},
		{"absolute line", 4e18, 0, 4e18},
	} {
		s := scan(t, opened(t, snapshotFile(3, c.timestamp)))
		want := []clock.Pair{{X: 40_000, Y: c.y0}, {X: 1_040_001, Y: c.y0 + 1_000_000}, {X: 2_040_002, Y: c.y0 + 2_000_000}}
		if len(s.Snapshots) != 3 || s.Snapshots[0] != want[0] || s.Snapshots[1] != want[1] || s.Snapshots[2] != want[2] {
			t.Errorf("%s: got %v, want %v", c.name, s.Snapshots, want)
		}
		if !s.SnapshotsAbsolute || s.SnapshotsAddedNS != c.added || s.SnapshotsLineTimestampNS != c.timestamp {
			t.Errorf("%s: absolute %v, added %d, line %d", c.name, s.SnapshotsAbsolute, s.SnapshotsAddedNS, s.SnapshotsLineTimestampNS)
		}
	}
}

// busyFile is a quirky file with several planes and lines.
func busyFile(events int) []byte {
	q := newQuirky(4)
	return append(append(q.plane3(events), q.plane3(events)...), q.space(events)...)
}

// TestCutAndFlippedFiles cuts and damages a quirky file everywhere: every pass either works or gives a typed error.
func TestCutAndFlippedFiles(t *testing.T) {
	in := busyFile(30)
	for cut := range len(in) {
		try(t, in[:cut])
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		b := append([]byte(nil), in...)
		for range 1 + r.IntN(3) {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		try(t, b)
	}
}

// try runs everything over b. Errors must be typed; what works must be consistent.
func try(t testing.TB, b []byte) {
	t.Helper()
	ctx := context.Background()
	src, err := sourceOf(b)
	if err != nil {
		return
	}
	s, err := Scan(ctx, src, ScanOptions{Workers: 2, MaxLines: 1 << 12})
	if err != nil {
		typed(t, err)
		return
	}
	if out, _ := rewritten(t, src, s, &spaceEdit{}); !bytes.Equal(out, b) {
		t.Fatal("an edit of nothing changed the file")
	}
	e := shifted(t, s)
	sizes, err := Measure(ctx, src, s, e)
	if err != nil { // damaged name tables are seen here first
		typed(t, err)
		return
	}
	var out bytes.Buffer
	if err := rewrite(ctx, src, s, e, sizes, &out); err != nil {
		t.Fatalf("rewrite after measure: %v", err)
	}
	again, err := Scan(ctx, opened(t, out.Bytes()), ScanOptions{})
	if err != nil {
		t.Fatalf("the output does not scan: %v", err)
	}
	if again.Events != s.Events || len(again.Planes) != len(s.Planes) || again.LineCount != s.LineCount {
		t.Fatalf("%d events, %d planes, %d lines became %d, %d, %d", s.Events, len(s.Planes), s.LineCount, again.Events, len(again.Planes), again.LineCount)
	}
	visit(t, src, s)
}

func visit(t testing.TB, src *fileSource, s *Space) {
	t.Helper()
	err := Events(context.Background(), src, s, nil, func(_ *Plane, _ *Line, e *Event) error {
		for it := e.Stats(); it.Next(); {
			_ = it.Stat().Text()
		}
		return nil
	})
	if err != nil {
		typed(t, err)
	}
	for i := range s.Planes {
		if err := EventMetadata(context.Background(), src, &s.Planes[i], func(*EventMeta) error { return nil }); err != nil {
			typed(t, err)
		}
	}
}

func typed(t testing.TB, err error) {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) || e.Kind != fault.Format && e.Kind != fault.Limit {
		t.Fatalf("%v (%T) is not a format or limit error", err, err)
	}
}

// failing refuses to take more than n bytes.
type failing struct{ n int }

var errFull = errors.New("disk full")

func (f *failing) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func (f *failing) WriteAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > int64(f.n) {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteErrorsComeBack(t *testing.T) {
	src := opened(t, busyFile(30))
	s := scan(t, src)
	e := shifted(t, s)
	sizes, err := Measure(context.Background(), src, s, e)
	if err != nil {
		t.Fatal(err)
	}
	n := int(sizes.Total) - 1
	if err := rewrite(context.Background(), src, s, e, sizes, &failing{n}); !errors.Is(err, errFull) {
		t.Errorf("Rewrite: got %v", err)
	}
	if err := rewriteAt(context.Background(), src, s, e, sizes, &failing{n}, 0, 2); !errors.Is(err, errFull) {
		t.Errorf("RewriteAt: got %v", err)
	}
}

func TestCancelledPassesStop(t *testing.T) {
	src := opened(t, busyFile(30))
	s := scan(t, src)
	e := shifted(t, s)
	sizes, err := Measure(context.Background(), src, s, e)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, scanErr := Scan(ctx, src, ScanOptions{})
	_, measureErr := Measure(ctx, src, s, e)
	for name, err := range map[string]error{
		"Scan": scanErr, "Measure": measureErr,
		"Rewrite":   rewrite(ctx, src, s, e, sizes, io.Discard),
		"RewriteAt": rewriteAt(ctx, src, s, e, sizes, &failing{1 << 30}, 0, 2),
	} {
		if !fault.Is(err, fault.Cancelled) {
			t.Errorf("%s: got %v, want cancelled", name, err)
		}
	}
}

// TestAFileThatChangesIsNoticed measures one file and rewrites another of the same length.
func TestAFileThatChangesIsNoticed(t *testing.T) {
	in := busyFile(30)
	s := scan(t, opened(t, in))
	e := shifted(t, s)
	sizes, err := Measure(context.Background(), opened(t, in), s, e)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		b := append([]byte(nil), in...)
		for range 1 + r.IntN(20) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		var out bytes.Buffer
		if err := rewrite(context.Background(), opened(t, b), s, e, sizes, &out); err != nil {
			if k := fault.Of(err).Kind; k != fault.Format {
				t.Fatalf("got %v (%v), want a format error", err, k)
			}
		} else if int64(out.Len()) != sizes.Total {
			t.Fatalf("wrote %d bytes, measured %d", out.Len(), sizes.Total)
		}
	}
}
