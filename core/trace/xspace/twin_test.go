package xspace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/sweep"
	"github.com/prlx-go/prlx/core/trace/clock"
)

func opened(t testing.TB, b []byte) *file.Source {
	t.Helper()
	src, err := file.FromBytes("test.xplane.pb", b)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func scan(t testing.TB, src *file.Source) *Space {
	t.Helper()
	s, err := Scan(context.Background(), src, ScanOptions{})
	if err != nil {
		t.Fatalf("scan: %v", err)
	}
	return s
}

// rewritten runs all three passes, sequentially and with three workers, and checks that both give the measured number of the
// same bytes.
func rewritten(t testing.TB, src *file.Source, s *Space, e *spaceEdit) ([]byte, *sizes) {
	t.Helper()
	ctx := context.Background()
	sizes, err := Measure(ctx, src, s, e)
	if err != nil {
		t.Fatalf("measure: %v", err)
	}
	var one bytes.Buffer
	if err := rewrite(ctx, src, s, e, sizes, &one); err != nil {
		t.Fatalf("rewrite: %v", err)
	}
	if int64(one.Len()) != sizes.Total {
		t.Fatalf("rewrite wrote %d bytes, measured %d", one.Len(), sizes.Total)
	}
	const shift = 7
	at := &memory{b: make([]byte, sizes.Total+shift)}
	if err := rewriteAt(ctx, src, s, e, sizes, at, shift, 3); err != nil {
		t.Fatalf("rewrite with workers: %v", err)
	}
	if !bytes.Equal(at.b[shift:], one.Bytes()) {
		t.Fatal("three workers write other bytes than one")
	}
	inOnePass(t, src, s, e, one.Bytes(), sizes)
	return one.Bytes(), sizes
}

// inOnePass checks that Write gives the bytes of Rewrite, or says that lengths moved and knows the sizes then.
func inOnePass(t testing.TB, src *file.Source, s *Space, e *spaceEdit, want []byte, sizes *sizes) {
	t.Helper()
	ctx := context.Background()
	at := &memory{b: make([]byte, 2*len(want)+4*emitSlack)}
	got, err := Write(ctx, src, s, e, at)
	if err != nil && err != errLengths {
		t.Fatalf("write: %v", err)
	}
	if got.Total != sizes.Total || got.counts != sizes.counts {
		t.Fatalf("write found %d bytes and %+v, measure %d and %+v", got.Total, got.counts, sizes.Total, sizes.counts)
	}
	if err == errLengths {
		var again bytes.Buffer
		if err := rewrite(ctx, src, s, e, got, &again); err != nil || !bytes.Equal(again.Bytes(), want) {
			t.Fatalf("rewrite with the sizes of write: other bytes, or %v", err)
		}
	} else if !bytes.Equal(at.b[:len(want)], want) {
		t.Fatal("one pass writes other bytes than two")
	}
}

// memory is an io.WriterAt of fixed size.
type memory struct{ b []byte }

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > int64(len(m.b)) {
		return 0, io.ErrShortWrite
	}
	return copy(m.b[off:], p), nil
}

// randomEdit is an edit of anything, with maps for about half of the lines.
func (q *quirky) randomEdit(s *Space) *spaceEdit {
	e := &spaceEdit{Planes: make([]planeEdit, q.IntN(len(s.Planes)+1)), Workers: 1 + q.IntN(3)}
	if q.chance(40) {
		e.CorrectionStat = []string{"stat3", "correction_ns"}[q.IntN(2)]
	}
	if q.chance(40) {
		e.BoundStat = []string{"stat4", "bound_ns"}[q.IntN(2)]
	}
	for i := range e.Planes {
		pe := &e.Planes[i]
		pe.Drop = q.chance(8)
		if q.chance(40) {
			pe.ID = ptr(q.number())
		}
		if q.chance(40) {
			pe.Name = ptr(string(q.word()))
		}
		for q.chance(30) {
			pe.AddStats = append(pe.AddStats, newStat{Name: fmt.Sprintf("stat%d", q.IntN(12)), Kind: statInt, Int: q.number()})
		}
		pe.Lines = make([]lineEdit, q.IntN(len(s.Planes[i].Lines)+1))
		for k := range pe.Lines {
			q.editLine(&pe.Lines[k])
		}
	}
	return e
}

func ptr[T any](v T) *T { return &v }

func (q *quirky) editLine(e *lineEdit) {
	e.Drop = q.chance(5)
	set := func(v **int64) {
		if q.chance(30) {
			*v = ptr(q.number())
		}
	}
	set(&e.ID)
	set(&e.DisplayID)
	set(&e.TimestampNS)
	if q.chance(30) {
		e.Name = ptr(string(q.word()))
	}
	if q.chance(30) {
		e.DisplayName = ptr(string(q.word()))
	}
	if q.chance(60) {
		e.Cursor = q.clockMap().Cursor(q.Int64N(1 << 20))
	}
	if e.Cursor != nil && q.chance(50) {
		e.Bounds = e.Cursor
	} else if q.chance(30) {
		e.Bounds = q.clockMap().Cursor(q.Int64N(1 << 20))
	}
	if q.chance(20) {
		e.KeepFromPS = ptr(q.number())
	}
	if q.chance(20) {
		e.KeepToPS = ptr(q.number())
	}
	if q.chance(20) {
		e.CorrectionBaseNS = q.Int64N(1 << 40)
	}
}

func (q *quirky) clockMap() *clock.Map {
	if q.chance(20) {
		return &clock.Map{}
	}
	knots := make([]clock.Knot, 1+q.IntN(6))
	var x, y int64
	for i := range knots {
		d := 1 + q.Int64N(1<<(1+q.IntN(30)))
		x, y = x+d, y+max(0, d+q.Int64N(200)-100)
		knots[i] = clock.Knot{X: x, Y: y, BoundNS: q.Int64N(1 << q.IntN(40))}
	}
	m, err := clock.New(knots)
	if err != nil {
		panic(err)
	}
	return m
}

// apply does to a decoded file what the edit asks for, field by field. id finds the metadata id that a plane's stat received.
func apply(e *spaceEdit, in node, id func(plane int, name string) int64) {
	var planes []node
	for i, p := range in.list("planes") {
		pe := e.Plane(i)
		if pe.Drop {
			continue
		}
		planes = append(planes, p)
		if pe.ID != nil {
			p.setInt("id", *pe.ID)
		}
		if pe.Name != nil {
			p.setStr("name", *pe.Name)
		}
		var lines []node
		moved, bounded := false, false
		for k, l := range p.list("lines") {
			le := pe.Line(k)
			if le.Drop {
				continue
			}
			lines = append(lines, l)
			m, b := applyLine(le, l, e, func(name string) int64 { return id(i, name) })
			moved, bounded = moved || m, bounded || b
		}
		p.setList("lines", lines)
		for _, st := range pe.AddStats {
			p.name(id(i, st.Name), st.Name)
			s := p.add("stats")
			s.setInt("metadata_id", id(i, st.Name))
			s.setInt("int64_value", st.Int)
		}
		if moved {
			p.name(id(i, e.CorrectionStat), e.CorrectionStat)
		}
		if bounded {
			p.name(id(i, e.BoundStat), e.BoundStat)
		}
	}
	in.setList("planes", planes)
}

// name adds an entry of stat metadata unless the id has one.
func (n node) name(id int64, name string) {
	m := n.Mutable(n.fd("stat_metadata")).Map()
	key := protoreflect.ValueOfInt64(id).MapKey()
	if m.Has(key) {
		return
	}
	v := node{dynamicpb.NewMessage(n.fd("stat_metadata").MapValue().Message())}
	v.setInt("id", id)
	v.setStr("name", name)
	m.Set(key, protoreflect.ValueOfMessage(v.Message))
}

// apply edits one line and reports whether it has timed events that receive the correction stat or the bound stat.
func applyLine(e *lineEdit, l node, all *spaceEdit, id func(string) int64) (moved, bounded bool) {
	var shift int64
	if e.TimestampNS != nil {
		shift = *e.TimestampNS - l.int("timestamp_ns")
		l.setInt("timestamp_ns", *e.TimestampNS)
	}
	for name, v := range map[string]*int64{"id": e.ID, "display_id": e.DisplayID} {
		if v != nil {
			l.setInt(name, *v)
		}
	}
	for name, v := range map[string]*string{"name": e.Name, "display_name": e.DisplayName} {
		if v != nil {
			l.setStr(name, *v)
		}
	}
	at := func(ps int64) int64 { return ps }
	if e.Cursor != nil {
		at = e.Cursor.Clone().Map
		if l.has("duration_ps") {
			l.setInt("duration_ps", subSat(at(l.int("duration_ps")), at(0)))
		}
	}
	var events []node
	for _, ev := range l.list("events") {
		if ev.has("num_occurrences") {
			events = append(events, ev)
			continue
		}
		moved, bounded = moved || all.CorrectionStat != "" && e.Moves(), bounded || all.BoundStat != "" && e.Bounds != nil
		off, dur := ev.int("offset_ps"), ev.int("duration_ps")
		newOff := at(off)
		newDur := dur
		if dur != 0 && e.Cursor != nil {
			if end := addSat(off, dur); end-off == dur {
				newDur = subSat(at(end), newOff)
			}
		}
		if e.KeepToPS != nil && newOff >= *e.KeepToPS || e.KeepFromPS != nil && addSat(newOff, max(newDur, 0)) <= *e.KeepFromPS && newOff < *e.KeepFromPS {
			continue
		}
		if newOff != off {
			ev.setInt("offset_ps", newOff)
		}
		ev.setInt("duration_ps", newDur)
		add := func(name string, v int64) {
			st := ev.add("stats")
			st.setInt("metadata_id", id(name))
			st.setInt("int64_value", v)
		}
		if all.CorrectionStat != "" && e.Moves() {
			add(all.CorrectionStat, e.CorrectionBaseNS+shift+roundPS(subSat(newOff, off)))
		}
		if all.BoundStat != "" && e.Bounds != nil {
			start, _ := e.Bounds.Clone().Quality(off)
			end := start
			if dur > 0 {
				end, _ = e.Bounds.Clone().Quality(addSat(off, dur))
			}
			add(all.BoundStat, max(start, end))
		}
		events = append(events, ev)
	}
	l.setList("events", events)
	return moved, bounded
}

// TestRewriteEqualsTheObviousEdit decodes quirky files with the protobuf library, edits them there, and compares with Rewrite.
func TestRewriteEqualsTheObviousEdit(t *testing.T) {
	for seed := range sweep.Of[uint64](400, 1500) {
		compareEdit(t, seed)
	}
}

func compareEdit(t *testing.T, seed uint64) {
	t.Helper()
	q := newQuirky(seed)
	q.big = seed%50 == 0
	in := q.space(60)
	src := opened(t, in)
	s := scan(t, src)
	e := q.randomEdit(s)
	out, sizes := rewritten(t, src, s, e)

	want, got := decode(t, in), decode(t, out)
	ids := newStatIDs(s, e, got)
	apply(e, want, ids.of)
	if d := difference(want, got); d != "" {
		t.Fatalf("seed %d: the rewritten file differs from the edited message at %s", seed, d)
	}
	if n := countEvents(got); n != sizes.Events {
		t.Fatalf("seed %d: %d events written, counted %d", seed, n, sizes.Events)
	}
	if sizes.Events+sizes.Dropped != s.Events {
		t.Fatalf("seed %d: %d events kept + %d dropped of %d", seed, sizes.Events, sizes.Dropped, s.Events)
	}
}

// statIDs finds in the output which id each plane's stat names have.
type statIDs struct {
	planes    map[int]map[int64]string
	lastPlane int // the answer before
	lastName  string
	lastID    int64
}

func newStatIDs(s *Space, e *spaceEdit, out node) *statIDs {
	ids := &statIDs{planes: map[int]map[int64]string{}}
	planes := out.list("planes")
	for i := range s.Planes {
		if e.Plane(i).Drop {
			continue
		}
		ids.planes[i] = planes[0].names("stat_metadata")
		planes = planes[1:]
	}
	return ids
}

func (s *statIDs) of(plane int, name string) int64 {
	if name != "" && s.lastPlane == plane && s.lastName == name {
		return s.lastID
	}
	for id, n := range s.planes[plane] {
		if n == name {
			s.lastPlane, s.lastName, s.lastID = plane, name, id
			return id
		}
	}
	return -1
}

func countEvents(space node) (n int64) {
	for _, p := range space.list("planes") {
		for _, l := range p.list("lines") {
			n += int64(l.get("events").List().Len())
		}
	}
	return n
}

// TestZeroEditIsIdentity runs the passes with nothing to change, and with edits that ask for what is there.
func TestZeroEditIsIdentity(t *testing.T) {
	for seed := range uint64(500) {
		q := newQuirky(seed)
		q.big = seed%25 == 0
		in := q.space(40)
		src := opened(t, in)
		s := scan(t, src)
		same := &spaceEdit{Planes: make([]planeEdit, len(s.Planes))}
		for i := range s.Planes {
			p := &s.Planes[i]
			same.Planes[i] = planeEdit{ID: &p.ID, Name: &p.Name, Lines: make([]lineEdit, len(p.Lines))}
			for k := range p.Lines {
				l := &p.Lines[k]
				same.Planes[i].Lines[k] = lineEdit{
					ID: &l.ID, DisplayID: &l.DisplayID, Name: &l.Name, DisplayName: &l.DisplayName, TimestampNS: &l.TimestampNS,
					Cursor: new(clock.Map).Cursor(0),
				}
				if len(l.Name) == maxTextLength { // a name longer than what Scan keeps is not the name
					same.Planes[i].Lines[k].Name = nil
				}
				if len(l.DisplayName) == maxTextLength {
					same.Planes[i].Lines[k].DisplayName = nil
				}
			}
			if len(p.Name) == maxTextLength {
				same.Planes[i].Name = nil
			}
		}
		for name, e := range map[string]*spaceEdit{"zero": {}, "nil": nil, "same values": same} {
			if out, _ := rewritten(t, src, s, e); !bytes.Equal(in, out) {
				t.Fatalf("seed %d: %s edit changed the file", seed, name)
			}
		}
	}
}

// TestScanAgreesWithTheSchema compares what Scan and Events find with what the protobuf library decodes.
func TestScanAgreesWithTheSchema(t *testing.T) {
	for seed := range uint64(500) {
		q := newQuirky(seed)
		q.big = seed%25 == 0
		in := q.space(40)
		src := opened(t, in)
		s, twin := scan(t, src), decode(t, in)
		if got, want := len(s.Planes), len(twin.list("planes")); got != want {
			t.Fatalf("seed %d: %d planes, want %d", seed, got, want)
		}
		for i, p := range twin.list("planes") {
			comparePlane(t, fmt.Sprintf("seed %d: plane %d", seed, i), src, &s.Planes[i], p)
		}
	}
}

func comparePlane(t *testing.T, at string, src *file.Source, got *Plane, want node) {
	t.Helper()
	if got.ID != want.int("id") || !sameText(got.Name, want.str("name")) || len(got.Lines) != len(want.list("lines")) {
		t.Fatalf("%s: got id %d, %d lines, want %d, %d", at, got.ID, len(got.Lines), want.int("id"), len(want.list("lines")))
	}
	stats := want.names("stat_metadata")
	for i, st := range want.list("stats") {
		compareStat(t, fmt.Sprintf("%s, stat %d", at, i), &got.Stats[i], st, stats)
	}
	events := want.names("event_metadata")
	for k, l := range want.list("lines") {
		compareLine(t, fmt.Sprintf("%s, line %d", at, k), src, got, &got.Lines[k], l, events, stats)
	}
}

func sameText(got, want string) bool {
	return got == want || len(got) == maxTextLength && got == want[:maxTextLength]
}

func compareLine(t *testing.T, at string, src *file.Source, p *Plane, got *Line, want node, events, stats map[int64]string) {
	t.Helper()
	if got.ID != want.int("id") || got.DisplayID != want.int("display_id") || got.TimestampNS != want.int("timestamp_ns") || got.DurationPS != want.int("duration_ps") ||
		!sameText(got.Name, want.str("name")) || !sameText(got.DisplayName, want.str("display_name")) {
		t.Fatalf("%s: header %+v, want %v", at, got, want.Interface())
	}
	list := want.list("events")
	if got.Events != int64(len(list)) {
		t.Fatalf("%s: %d events, want %d", at, got.Events, len(list))
	}
	var seen, aggregated int64
	var first, last int64
	sorted := true
	prev := int64(-1 << 63)
	err := EventsOf(context.Background(), src, p, got, EventOptions{}, func(e *Event) error {
		w := list[seen]
		seen++
		if e.MetadataID != w.int("metadata_id") || e.Name() != events[e.MetadataID] || e.DurationPS != w.int("duration_ps") || e.Aggregated != w.has("num_occurrences") {
			t.Fatalf("%s, event %d: got %+v, want %v", at, seen-1, e, w.Interface())
		}
		if e.Aggregated {
			aggregated++
			if e.Num != w.int("num_occurrences") {
				t.Fatalf("%s, event %d: num_occurrences %d, want %d", at, seen-1, e.Num, w.int("num_occurrences"))
			}
		} else {
			off := w.int("offset_ps")
			if e.OffsetPS != off {
				t.Fatalf("%s, event %d: offset_ps %d, want %d", at, seen-1, e.OffsetPS, off)
			}
			end := addSat(off, max(e.DurationPS, 0))
			if seen-aggregated == 1 {
				first, last = off, end
			}
			first, last, sorted, prev = min(first, off), max(last, end), sorted && off >= prev, off
		}
		wantStats := w.list("stats")
		n := 0
		for it := e.Stats(); it.Next(); n++ {
			compareStat(t, fmt.Sprintf("%s, event %d, stat %d", at, seen-1, n), it.Stat(), wantStats[n], stats)
		}
		if n != len(wantStats) {
			t.Fatalf("%s, event %d: %d stats, want %d", at, seen-1, n, len(wantStats))
		}
		return nil
	})
	if err != nil || seen != got.Events {
		t.Fatalf("%s: visited %d events of %d: %v", at, seen, got.Events, err)
	}
	if got.Aggregated != aggregated || got.MinOffsetPS != first || got.MaxEndPS != last || got.Sorted != sorted {
		t.Fatalf("%s: summary aggregated %d, %d..%d, sorted %v; want %d, %d..%d, %v", at, got.Aggregated, got.MinOffsetPS, got.MaxEndPS, got.Sorted, aggregated, first, last, sorted)
	}
}

func compareStat(t *testing.T, at string, got *xStat, want node, names map[int64]string) {
	t.Helper()
	if got.MetadataID != want.int("metadata_id") || got.Name != names[got.MetadataID] {
		t.Fatalf("%s: id %d name %q, want %d %q", at, got.MetadataID, got.Name, want.int("metadata_id"), names[want.int("metadata_id")])
	}
	ok := false
	switch f := want.WhichOneof(want.Descriptor().Oneofs().ByName("value")); {
	case f == nil:
		ok = got.Kind == statNone
	case f.Name() == "double_value":
		ok = got.Kind == statDouble && got.Double == want.Get(f).Float()
	case f.Name() == "uint64_value":
		ok = got.Kind == statUint && got.Uint == want.Get(f).Uint()
	case f.Name() == "int64_value":
		ok = got.Kind == statInt && got.Int == want.Get(f).Int()
	case f.Name() == "str_value":
		ok = got.Kind == statStr && sameText(string(got.Bytes), want.Get(f).String()) && got.Length == int64(len(want.Get(f).String()))
	case f.Name() == "bytes_value":
		ok = got.Kind == statBytes && sameText(string(got.Bytes), string(want.Get(f).Bytes())) && got.Length == int64(len(want.Get(f).Bytes()))
	case f.Name() == "ref_value":
		ok = got.Kind == statRef && got.Uint == want.Get(f).Uint() && got.Ref == names[int64(got.Uint)]
	}
	if !ok {
		t.Fatalf("%s: got %+v, want %v", at, got, want.Interface())
	}
}
