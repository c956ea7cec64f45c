package xspace

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
)

// sizes are the lengths of every message under an Edit, and what the edit does to events. They belong to the Space and the
// Edit they were measured with.
type sizes struct {
	Total  int64 // bytes that Rewrite writes
	counts       // over the file
	planes []planeLayout
}

// plane returns what the edit does to the events of one plane.
func (s *sizes) plane(plane int) (c counts) {
	for i := range s.planes[plane].lines {
		c.add(s.planes[plane].lines[i].counts)
	}
	return c
}

type layoutMode uint8

const (
	copied  layoutMode = iota // as it is
	edited                    // written anew, piece by piece
	dropped                   // left out
)

type planeLayout struct {
	mode   layoutMode
	length int64  // of the message
	head   []byte // fields written before all others, because the input lacks them
	tail   []byte // fields written after all others
	marks  []replacement
	stats  eventStats // of its events
	lines  []lineLayout
}

type lineLayout struct {
	mode     layoutMode
	walk     bool  // every segment must be walked, also those without a header field
	length   int64 // of the message
	head     []byte
	marks    []replacement
	segments []int64 // new lengths
	counts   counts
}

// replacement is new bytes for the source range [start, end), a whole field.
type replacement struct {
	start, end int64
	b          []byte
}

func (r replacement) growth() int64 { return int64(len(r.b)) - (r.end - r.start) }

// measure computes the sizes of the output of an edit. It reads the events of those lines whose events the edit touches.
// It shows the operations in the lines whose events it reads, when somebody asks and one worker does it.
func measure(ctx context.Context, src *file.Source, space *Space, edit *spaceEdit, operations *source.OperationReading) (*sizes, error) {
	m, err := newMeasurer(ctx, src, space, edit)
	if err != nil {
		return nil, err
	}
	if operations != nil {
		m.operations = space.operations(ctx, src, operations)
	}
	err = inParallel(ctx, max(m.edit.Workers, 1), len(m.todo), func(ctx context.Context, next func() (int, bool)) error {
		var buf []byte
		batch := &usualBatch{}
		for i, ok := next(); ok; i, ok = next() {
			if err := m.measureLine(ctx, m.todo[i], &buf, batch); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	m.addUp()
	return m.sizes, nil
}

// newMeasurer decides what becomes of every plane and line; what is left open is the lengths of the edited ones.
func newMeasurer(ctx context.Context, src *file.Source, space *Space, edit *spaceEdit) (*measurer, error) {
	if edit == nil {
		edit = &spaceEdit{}
	}
	if err := check(edit, space); err != nil {
		return nil, err
	}
	m := &measurer{src: src, space: space, edit: edit, sizes: &sizes{planes: make([]planeLayout, len(space.Planes))}}
	for i := range space.Planes {
		if err := m.preparePlane(ctx, i); err != nil {
			return nil, err
		}
	}
	return m, nil
}

type measurer struct {
	src   *file.Source
	space *Space
	edit  *spaceEdit
	sizes *sizes
	todo  []lineRef // edited lines

	operations *operationReader // nil: nobody asked
}

type lineRef struct{ plane, line int }

// preparePlane decides what becomes of a plane and its lines and writes the fields that are new.
func (m *measurer) preparePlane(ctx context.Context, i int) error {
	p, e, out := &m.space.Planes[i], m.edit.Plane(i), &m.sizes.planes[i]
	out.lines = make([]lineLayout, len(p.Lines))
	if e.Drop {
		out.mode = dropped
		for k := range p.Lines {
			out.lines[k] = lineLayout{mode: dropped, counts: counts{Dropped: p.Lines[k].Events}}
		}
		return nil
	}
	var stats eventStats
	for k := range p.Lines {
		l, le, lo := &p.Lines[k], e.Line(k), &out.lines[k]
		switch {
		case le.Drop:
			*lo = lineLayout{mode: dropped, counts: counts{Dropped: l.Events}}
		case le.Active():
			lo.mode = edited
			m.todo = append(m.todo, lineRef{i, k})
			stats.hasCorrection = stats.hasCorrection || m.edit.CorrectionStat != "" && le.Moves() && l.Timed() > 0
			stats.hasBound = stats.hasBound || m.edit.BoundStat != "" && le.Bounds != nil && l.Timed() > 0
		default:
			lo.counts = counts{Events: l.Events, Aggregated: l.Aggregated}
		}
	}
	if !e.Active() {
		return nil
	}
	out.mode = edited
	if e.ID != nil {
		out.set(p.marks[markPlaneID], 1, uint64(p.ID), uint64(*e.ID))
	}
	if e.Name != nil {
		out.marks, out.head = setText(out.marks, out.head, p.marks[markPlaneName], 2, p.Name, *e.Name)
	}
	added := e.AddStats
	for i := range e.SetStats {
		if !out.setStat(p, &e.SetStats[i]) {
			added = append(slices.Clip(added), e.SetStats[i])
		}
	}
	sortReplacements(out.marks)
	return m.prepareStats(ctx, p, added, out, stats)
}

// setStat gives every stat of a name its new value, in its place; it reports whether the plane has one.
func (out *planeLayout) setStat(p *Plane, n *newStat) bool {
	found := false
	for i := range p.Stats {
		if st := &p.Stats[i]; st.Name == n.Name {
			found = true
			out.marks = append(out.marks, replacement{st.field.start, st.field.end, appendBytes(nil, 6, message(n, st.MetadataID))})
		}
	}
	return found
}

func (out *planeLayout) set(at mark, num int, old, v uint64) {
	out.marks, out.head = setVarint(out.marks, out.head, at, num, old, v)
}

// setVarint changes a varint field in place, or adds it to the head when the input lacks it.
func setVarint(marks []replacement, head []byte, at mark, num int, old, v uint64) ([]replacement, []byte) {
	switch {
	case v == old:
	case at.end == 0:
		head = appendVarint(head, num, v)
	default:
		marks = append(marks, replacement{at.start, at.end, appendVarint(nil, num, v)})
	}
	return marks, head
}

// setText does the same for a string field. A name that holds a replacement character may stand for damaged bytes, so it is
// always written.
func setText(marks []replacement, head []byte, at mark, num int, old, v string) ([]replacement, []byte) {
	switch {
	case v == old && at.end-at.val == int64(len(v)) && !strings.ContainsRune(v, '\uFFFD'):
	case at.end == 0 && v == "":
	case at.end == 0:
		head = appendBytes(head, num, v)
	default:
		marks = append(marks, replacement{at.start, at.end, appendBytes(nil, num, v)})
	}
	return marks, head
}

func sortReplacements(r []replacement) {
	sort.Slice(r, func(i, j int) bool { return r[i].start < r[j].start })
}

// prepareStats gives ids to the new stats and writes the plane's tail: metadata entries that the plane lacks, then stats.
func (m *measurer) prepareStats(ctx context.Context, p *Plane, added []newStat, out *planeLayout, stats eventStats) error {
	if stats.none() && len(added) == 0 {
		return nil
	}
	names := make([]string, 0, len(added)+2)
	for i := range added {
		names = append(names, added[i].Name)
	}
	if stats.hasCorrection {
		names = append(names, m.edit.CorrectionStat)
	}
	if stats.hasBound {
		names = append(names, m.edit.BoundStat)
	}
	ids, err := m.statIDs(ctx, p, names)
	if err != nil {
		return err
	}
	next := max(p.maxStatKey, 0)
	for _, name := range names {
		if _, known := ids[name]; known {
			continue
		}
		if next == math.MaxInt64 {
			return fault.New(fault.Limit, "xspace: plane %d (%s) uses stat metadata id %d: no id is left for stat %q", p.Index, p.Name, p.maxStatKey, name).WithPath(m.src.Path())
		}
		next++
		ids[name] = next
		meta := appendBytes(appendVarint(nil, 1, uint64(next)), 2, name)
		out.tail = appendBytes(out.tail, 5, appendBytes(appendVarint(nil, 1, uint64(next)), 2, meta))
	}
	for i := range added {
		out.tail = appendBytes(out.tail, 6, message(&added[i], ids[added[i].Name]))
	}
	out.stats = stats
	if stats.hasCorrection {
		out.stats.correction = ids[m.edit.CorrectionStat]
	}
	if stats.hasBound {
		out.stats.bound = ids[m.edit.BoundStat]
	}
	return nil
}

// statIDs finds the ids that a plane's stat metadata already has for names.
func (m *measurer) statIDs(ctx context.Context, p *Plane, names []string) (map[string]int64, error) {
	want := make(map[string]bool, len(names))
	for _, n := range names {
		want[n] = true
	}
	ids := make(map[string]int64, len(names))
	err := walkTable(ctx, m.src, p, 5, p.statNames, func(r *reader, id int64, value field) error {
		name, err := r.metadataName(value)
		if err != nil {
			return err
		}
		for n, known := range ids { // a later entry of an id replaces an earlier one
			if known == id && n != name {
				delete(ids, n)
			}
		}
		if _, have := ids[name]; want[name] && !have {
			ids[name] = id
		}
		return nil
	})
	return ids, err
}

// measureLine fills in the layout of an edited line.
func (m *measurer) measureLine(ctx context.Context, ref lineRef, buf *[]byte, batch *usualBatch) error {
	l := &m.space.Planes[ref.plane].Lines[ref.line]
	out, t := m.begin(ref)
	visitor, err := m.operations.visitorOf(ref.plane, l)
	if err != nil {
		return err
	}
	for i := range l.segments {
		seg := &l.segments[i]
		n := seg.n
		switch {
		case seg.plain && !out.walk:
		case seg.big:
			if err = visitor.also(seg, nil); err == nil {
				n, err = m.measureBig(ctx, ref, seg, t, out)
			}
		default:
			var b []byte
			if b, err = loadSegment(ctx, m.src, buf, seg.off, seg.n); err == nil {
				err = visitor.also(seg, b)
			}
			if err == nil {
				n, err = measureSegment(m.src, ref, seg, b, t, out, batch)
			}
		}
		if err != nil {
			return err
		}
		out.segments[i] = n
		out.length += n - seg.n
		if m.edit.Progress != nil {
			m.edit.Progress(seg.n)
		}
	}
	out.finish(l, t)
	return nil
}

// begin decides the header fields of an edited line; its length grows with its segments.
func (m *measurer) begin(ref lineRef) (*lineLayout, *transform) {
	l, e := &m.space.Planes[ref.plane].Lines[ref.line], m.edit.Plane(ref.plane).Line(ref.line)
	plane := &m.sizes.planes[ref.plane]
	out := &plane.lines[ref.line]
	out.prepare(l, e)
	t := newTransform(l, e, plane.stats)
	out.walk = e.Eventwise() || !t.stats.none()
	out.segments = make([]int64, len(l.segments))
	out.length = l.Length + int64(len(out.head))
	return out, t
}

func (out *lineLayout) finish(l *Line, t *transform) {
	out.counts = t.counts
	if !out.walk {
		out.counts = counts{Events: l.Events, Aggregated: l.Aggregated}
	}
}

// prepare writes the new header fields of a line.
func (out *lineLayout) prepare(l *Line, e *lineEdit) {
	varint := func(m, num int, old, v int64) {
		out.marks, out.head = setVarint(out.marks, out.head, l.marks[m], num, uint64(old), uint64(v))
	}
	text := func(m, num int, old, v string) {
		out.marks, out.head = setText(out.marks, out.head, l.marks[m], num, old, v)
	}
	if e.ID != nil {
		varint(markLineID, 1, l.ID, *e.ID)
	}
	if e.Name != nil {
		text(markLineName, 2, l.Name, *e.Name)
	}
	if e.TimestampNS != nil {
		varint(markLineTimestamp, 3, l.TimestampNS, *e.TimestampNS)
	}
	if e.Cursor != nil && l.marks[markLineDuration].end != 0 {
		c := e.Cursor.Clone()
		start := c.Map(0)
		varint(markLineDuration, 9, l.DurationPS, subSat(c.Map(l.DurationPS), start))
	}
	if e.DisplayID != nil {
		varint(markLineDisplayID, 10, l.DisplayID, *e.DisplayID)
	}
	if e.DisplayName != nil {
		text(markLineDisplayName, 11, l.DisplayName, *e.DisplayName)
	}
	sortReplacements(out.marks)
}

// replaced returns the replacement of the field that starts at an offset.
func replaced(marks []replacement, start int64) *replacement {
	for i := range marks {
		if marks[i].start == start {
			return &marks[i]
		}
	}
	return nil
}

// changed is the error of a pass that reads other bytes than Scan did.
func changed(src *file.Source, ref lineRef, off int64) error {
	at := place{plane: ref.plane, line: ref.line, event: -1}
	return fault.Formatf(src.Path(), off, "%sthe file changed while it was read", at).WithHint("run again when nothing writes to the file")
}

// measureSegment returns the new length of a segment.
func measureSegment(src *file.Source, ref lineRef, seg *segment, b []byte, t *transform, out *lineLayout, m *usualBatch) (int64, error) {
	n := int(seg.n)
	size := n
	batches := seg.usual && t.onlyMaps()
	var ev eventFields
	for i := 0; i < n; {
		if batches {
			if next := m.read(b, i, n); next > i {
				t.mapBatch(m)
				size += m.grown(&t.counts)
				i = next
				continue
			}
		}
		var p, e int
		if b[i] == 4<<3|wireLen {
			if p, e = payload(b, i+1); e < p || e > n {
				return 0, changed(src, ref, seg.off+int64(i))
			}
		} else {
			f, bad := parseTag(b, i, n)
			if bad != nil {
				return 0, changed(src, ref, seg.off+int64(i))
			}
			if f.num != 4 || f.wire != wireLen {
				if r := replaced(out.marks, seg.off+int64(i)); r != nil {
					size += int(r.growth())
				}
				i = f.end
				continue
			}
			p, e = f.val, f.end
		}
		if !parseUsual(b, p, e, &ev) && parseEvent(b, p, e, &ev) != nil {
			return 0, changed(src, ref, seg.off+int64(i))
		}
		grow, keep := t.event(&ev)
		if !keep {
			size -= e - i
		} else if grow != 0 {
			size += eventSize(e-p+grow) - (e - i)
		}
		i = e
	}
	return int64(size), nil
}

// eventSize is the size of an event field with a message of n bytes.
func eventSize(n int) int { return 1 + uvarintSize(uint64(n)) + n }

// measureBig returns the new length of a segment that holds one long field.
func (m *measurer) measureBig(ctx context.Context, ref lineRef, seg *segment, t *transform, out *lineLayout) (int64, error) {
	f, ev, err := readBig(ctx, m.src, ref, seg)
	if err != nil {
		return 0, err
	}
	if !f.is(4, wireLen) {
		if r := replaced(out.marks, f.start); r != nil {
			return seg.n + r.growth(), nil
		}
		return seg.n, nil
	}
	grow, keep := t.event(&ev.eventFields)
	if !keep {
		return 0, nil
	}
	if grow == 0 {
		return seg.n, nil
	}
	n := f.length() + int64(grow)
	return 1 + int64(uvarintSize(uint64(n))) + n, nil
}

// readBig walks the field of a big segment.
func readBig(ctx context.Context, src *file.Source, ref lineRef, seg *segment) (f field, ev bigEvent, err error) {
	r := newReader(ctx, src, place{plane: ref.plane, line: ref.line, event: seg.events})
	r.seek(seg.off)
	f, ok, err := r.next(seg.off + seg.n)
	if err == nil && (!ok || f.end != seg.off+seg.n) {
		err = changed(src, ref, seg.off)
	}
	if err == nil && f.is(4, wireLen) {
		ev, err = r.bigEvent(f)
	}
	return f, ev, err
}

// addUp computes the lengths of planes and of the file.
func (m *measurer) addUp() {
	s := m.sizes
	s.Total = m.space.Bytes
	for i := range s.planes {
		p, out := &m.space.Planes[i], &s.planes[i]
		s.counts.add(s.plane(i))
		switch out.mode {
		case dropped:
			s.Total -= p.Offset + p.Length - p.tag
		case edited:
			out.addUp(p)
			s.Total += out.length - p.Length + prefixGrowth(p.tag, p.Offset, p.Length, out.length)
		}
	}
}

// addUp computes the length of an edited plane from its lines.
func (out *planeLayout) addUp(p *Plane) {
	out.length = p.Length + int64(len(out.head)+len(out.tail))
	for _, r := range out.marks {
		out.length += r.growth()
	}
	for k := range out.lines {
		out.length += out.lines[k].growth(&p.Lines[k])
	}
}

func (out *lineLayout) growth(l *Line) int64 {
	switch out.mode {
	case dropped:
		return -(l.Offset + l.Length - l.tag)
	case edited:
		return out.length - l.Length + prefixGrowth(l.tag, l.Offset, l.Length, out.length)
	}
	return 0
}

// prefixGrowth is how much longer tag and length of a message become: nothing when its length stays.
func prefixGrowth(tag, payload, old, length int64) int64 {
	if old == length {
		return 0
	}
	return int64(1+uvarintSize(uint64(length))) - (payload - tag)
}

// prefix is the tag and length of a message.
func prefix(num int, length int64) []byte {
	return binary.AppendUvarint(appendTag(nil, num, wireLen), uint64(length))
}
