package collective

import (
	"cmp"
	"context"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/trace/event"
)

// how says by what executions were matched.
type how uint8

// The ways to match.
const (
	byRun   how = iota // by the launch's run id, equal on all nodes
	byOrder            // the k-th execution on each device
)

// Member is one execution in a group.
type Member struct {
	Span        int32 // index into Matched.Part.Spans
	Participant int64 // -1 where it could not be told
}

// Group is executions that belong together: one operation, one launch, one replica group.
type Group struct {
	Op         int32 // index into Matched.Part.Ops: one of the members' ops
	Occurrence int   // 0 for the first time its replica group executed the operation, and so on
	How        how
	Missing    int   // members that no trace has
	Replicas   int32 // number of its replica group
	Members    []Member
}

// Matched is the result of Match.
type Matched struct {
	Part        *Part
	Groups      []Group // by key, then occurrence, then first member
	Unmatched   []Unmatched
	Assumptions []string // what had to be assumed about who is who

	loose  []loose // the executions that Unmatched counts
	doubts *doubts
}

// loose is an execution without partners.
type loose struct {
	span    int32
	because Unmatched // without its count
}

// Unmatched counts executions of one operation that have no partners.
type Unmatched struct {
	Key    string
	Reason string
	Count  int
}

// UnmatchedCount returns how many executions are unmatched.
func (m *Matched) UnmatchedCount() int {
	n := 0
	for _, u := range m.Unmatched {
		n += u.Count
	}
	return n
}

// Reasons for unmatched executions.
const (
	reasonAlone    = "no trace has the partners"
	reasonCut      = "the partners lie outside the time range"
	reasonCounts   = "devices executed it a different number of times and nothing tells which one is missing"
	reasonJumbled  = "they are too many to keep all, and were not recorded in the order of their begin, so it is not known which were left out"
	reasonSizes    = "message sizes differ, so the order is lost"
	reasonUnequal  = "they carry one number, but their message sizes differ"
	reasonNamesake = "its communicator's numbers name other operations on other devices"
	reasonGaps     = "its communicator's numbers leave out most of what they count, as those of a counter that communicators share"
	reasonChain    = "its communicator's operations are not the same, in the same order, on all devices"
	reasonRepeated = "its device carries the number more often than the others"
	reasonWho      = "it is not recorded which device is which participant"
)

// bucket is the executions among which partners are looked for.
type bucket struct {
	key  string
	how  how
	spec uint64 // of devices, groups and pairs: programs that differ in them do not belong together
	vari uint64
	op   int32
	list []int32 // spans
}

// Match finds the executions that belong together. It reads part and does not change it.
func Match(ctx context.Context, part *Part) (*Matched, error) {
	return match(ctx, part, newDoubts())
}

// match does what Match does, knowing what was found out in other executions of the same operations, and adds to that.
func match(ctx context.Context, part *Part, d *doubts) (*Matched, error) {
	m := &Matched{Part: part, doubts: d}
	everyone := part.everyone
	if everyone == nil {
		everyone = slotsOf(part, nil)
	}
	for chain, reason := range misnumbered(part) {
		d.distrusted[chain] = reason
	}
	lost, distrusted := d.lost, d.distrusted
	for _, b := range buckets(part) {
		if reason := distrusted[part.Ops[b.op].Chain]; reason != "" && b.how == byRun {
			m.release(Unmatched{Key: b.key, Reason: reason}, b.list)
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m.matchBucket(&b, everyone, func(reason string, spans []int32) {
			m.release(Unmatched{Key: b.key, Reason: reason}, spans)
			if chain := part.Ops[b.op].Chain; chain != "" && b.how == byOrder && (reason == reasonCounts || reason == reasonSizes) {
				lost[chain] = true
			}
		})
	}
	m.dropChains(lost, func(key string, spans []int32) { m.release(Unmatched{Key: key, Reason: reasonChain}, spans) })
	m.countLoose()
	slices.Sort(m.Assumptions)
	m.Assumptions = slices.Compact(m.Assumptions)
	return m, nil
}

// release notes executions that have no partners.
func (m *Matched) release(because Unmatched, spans []int32) {
	for _, i := range spans {
		m.loose = append(m.loose, loose{i, because})
	}
}

// countLoose makes Unmatched of the executions without partners.
func (m *Matched) countLoose() {
	counts := map[Unmatched]int{}
	for i := range m.loose {
		counts[m.loose[i].because]++
	}
	m.Unmatched = nil
	for u, n := range counts {
		u.Count = n
		m.Unmatched = append(m.Unmatched, u)
	}
	slices.SortFunc(m.Unmatched, func(a, b Unmatched) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Reason, b.Reason))
	})
}

// Within returns what is left of the matches when only those executions are kept that overlap [fromNS, toNS) on clock.
// Which belong together was decided on all of them, so a cut shifts no order.
func (m *Matched) Within(clock Clock, fromNS, toNS int64) *Matched {
	kept := func(i int32) bool {
		s := &m.Part.Spans[i]
		start, _ := clock(s, s.StartNS)
		end, _ := clock(s, s.EndNS)
		return start < toNS && (start >= fromNS || end > fromNS)
	}
	out := &Matched{Part: m.Part, Assumptions: m.Assumptions}
	for _, g := range m.Groups {
		all := len(g.Members)
		g.Members = slices.DeleteFunc(slices.Clone(g.Members), func(member Member) bool { return !kept(member.Span) })
		switch g.Missing += all - len(g.Members); len(g.Members) {
		case 0:
		case 1:
			out.release(Unmatched{Key: m.Part.Ops[g.Op].Key, Reason: reasonCut}, []int32{g.Members[0].Span})
		default:
			out.Groups = append(out.Groups, g)
		}
	}
	for _, l := range m.loose {
		if kept(l.span) {
			out.loose = append(out.loose, l)
		}
	}
	out.countLoose()
	return out
}

// buckets sorts executions by operation; the order of buckets is that of their keys.
func buckets(part *Part) []bucket {
	specs := make([]uint64, len(part.Ops))
	for i := range part.Ops {
		specs[i] = part.Ops[i].spec()
	}
	type id struct {
		key        string
		how        how
		spec, vari uint64
	}
	index := map[id]int{}
	var out []bucket
	for i := range part.Spans {
		s := &part.Spans[i]
		o := &part.Ops[s.Op]
		k := id{key: o.Key, spec: specs[s.Op], how: byRun}
		if !s.HasRun {
			k.how, k.vari = byOrder, o.Variant
		}
		at, ok := index[k]
		if !ok {
			at = len(out)
			index[k] = at
			out = append(out, bucket{key: k.key, how: k.how, spec: k.spec, vari: k.vari, op: s.Op})
		}
		out[at].list = append(out[at].list, int32(i))
	}
	slices.SortStableFunc(out, func(a, b bucket) int {
		return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.how, b.how), cmp.Compare(a.vari, b.vari), cmp.Compare(a.spec, b.spec))
	})
	return out
}

// spec is a hash of what must be equal on all nodes for executions to belong together.
func (o *Op) spec() uint64 {
	h := fnv.New64a()
	var b [8]byte
	num := func(v int64) {
		binary.LittleEndian.PutUint64(b[:], uint64(v))
		h.Write(b[:])
	}
	list := func(l []int64) {
		num(int64(len(l)))
		for _, v := range l {
			num(v)
		}
	}
	num(int64(o.Kind))
	num(int64(len(o.Groups)))
	for _, g := range o.Groups {
		list(g)
	}
	num(int64(len(o.Pairs)))
	for _, p := range o.Pairs {
		num(p.Source)
		num(p.Target)
	}
	list(o.Devices)
	num(int64(o.Size))
	num(o.Root)
	h.Write([]byte(o.Broken))
	return h.Sum64()
}

// slotsOf lists the devices that executed any of the spans of list (nil: of all), in order.
func slotsOf(part *Part, list []int32) []Slot {
	seen := map[Slot]bool{}
	if list == nil {
		for i := range part.Spans {
			seen[Slot{part.Spans[i].Node, part.Spans[i].Device}] = true
		}
	}
	for _, i := range list {
		seen[Slot{part.Spans[i].Node, part.Spans[i].Device}] = true
	}
	out := make([]Slot, 0, len(seen))
	for s := range seen {
		out = append(out, s)
	}
	slices.SortFunc(out, compareSlots)
	return out
}

// placed is a span with what it is sorted by: everything with equal run and group may belong together.
type placed struct {
	span  int32
	group int32
	sends bool
	who   int64 // participant, -1 unknown
	slot  Slot
	run   int64
	start int64
	end   int64
}

func (m *Matched) matchBucket(b *bucket, everyone []Slot, unmatched func(reason string, spans []int32)) {
	part := m.Part
	op := &part.Ops[b.op]
	if op.Broken != "" {
		unmatched(op.Broken, b.list)
		return
	}
	who := identify(part, op, slotsOf(part, b.list), everyone)
	if who.reason != "" {
		unmatched(who.reason, b.list)
		return
	}
	list := make([]placed, 0, len(b.list))
	for _, i := range b.list {
		s := &part.Spans[i]
		slot := Slot{s.Node, s.Device}
		if who.out[slot] {
			unmatched(reasonWho, []int32{i})
			continue
		}
		g, ok := who.groupOf(slot)
		if !ok {
			continue // in a group of its own, or in none: nothing to compare with
		}
		p := placed{span: i, group: g, sends: part.Ops[s.Op].Sends, who: who.participant(slot), slot: slot, start: s.StartNS, end: s.EndNS}
		if b.how == byRun {
			p.run = s.Run
		}
		list = append(list, p)
	}
	if who.assumed != "" && len(list) > 0 {
		m.Assumptions = append(m.Assumptions, who.assumed)
	}
	slices.SortFunc(list, comparePlaced)
	first := len(m.Groups)
	for i := 0; i < len(list); {
		j := i
		for j < len(list) && list[j].run == list[i].run && list[j].group == list[i].group {
			j++
		}
		m.matchRun(b, list[i:j], who.size(list[i].group), unmatched)
		i = j
	}
	m.number(m.Groups[first:], b.how)
}

func comparePlaced(a, b placed) int {
	sends := 0
	if a.sends != b.sends {
		sends = 1
		if a.sends {
			sends = -1
		}
	}
	return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.group, b.group), cmp.Compare(a.slot.Node, b.slot.Node),
		cmp.Compare(a.slot.Device, b.slot.Device), sends, cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.span, b.span))
}

// matchRun matches the executions of one launch (or of the whole trace, without run ids) within one replica group.
func (m *Matched) matchRun(b *bucket, list []placed, size int, unmatched func(string, []int32)) {
	var seats []turn
	for i := range list {
		if i == 0 || list[i].slot != list[i-1].slot || list[i].sends != list[i-1].sends {
			seats = append(seats, turn{i, i})
		}
		seats[len(seats)-1].to = i + 1
	}
	if b.how == byRun && m.Part.Ops[b.op].Ranked {
		seats = withoutRepeats(list, seats, func(s turn) { unmatched(reasonRepeated, spansOf(list[s.from:s.to])) })
	}
	devices := 0
	for i := range seats {
		if i == 0 || list[seats[i].from].slot != list[seats[i-1].from].slot {
			devices++
		}
	}
	if devices < 2 {
		for _, s := range seats {
			unmatched(reasonAlone, spansOf(list[s.from:s.to]))
		}
		return
	}
	if b.how == byOrder && m.Part.Halvings > 0 {
		if reason := m.outOfTurn(len(seats), func(i int) *event.Span { return &m.Part.Spans[list[seats[i].from].span] }); reason != "" {
			unmatched(reason, spansOf(list))
			return
		}
	}
	times := seats[0].to - seats[0].from
	for _, s := range seats {
		if s.to-s.from == times {
			continue
		}
		if m.Part.Dropped == 0 || b.how == byRun {
			unmatched(reasonCounts, spansOf(list))
			return
		}
		times = min(times, s.to-s.from) // the latest executions of each device were left out, the earliest still belong together
	}
	missing := 0
	if size > devices {
		missing = size - devices
	}
	for k := range times {
		agree := sizesAgree(m.Part, list, seats[0].from+k, len(seats), func(i int) int { return seats[i].from + k })
		if b.how == byRun && !agree {
			for _, s := range seats {
				unmatched(reasonUnequal, spansOf(list[s.from+k:s.from+k+1]))
			}
			continue
		}
		if !agree {
			var rest []int32
			for _, s := range seats {
				rest = append(rest, spansOf(list[s.from+k:s.from+times])...)
			}
			unmatched(reasonSizes, rest)
			return
		}
		g := Group{Op: b.op, How: b.how, Missing: missing, Replicas: list[0].group, Members: make([]Member, len(seats))}
		for i, s := range seats {
			g.Members[i] = Member{Span: list[s.from+k].span, Participant: list[s.from+k].who}
		}
		m.Groups = append(m.Groups, g)
	}
}

// turn is the executions of one device and side, in a list.
type turn struct{ from, to int }

// withoutRepeats leaves out what a device recorded twice under a number that names one execution: a record that is there again with the same times,
// and, where most devices have one, all of a device that has several.
func withoutRepeats(list []placed, turns []turn, leftOut func(t turn)) []turn {
	once := 0
	for i := range turns {
		t := &turns[i]
		for t.to-t.from > 1 && list[t.to-1].start == list[t.from].start && list[t.to-1].end == list[t.from].end {
			leftOut(turn{t.to - 1, t.to})
			t.to--
		}
		if t.to-t.from == 1 {
			once++
		}
	}
	if once == len(turns) || 2*once <= len(turns) {
		return turns
	}
	return slices.DeleteFunc(turns, func(t turn) bool {
		several := t.to-t.from > 1
		if several {
			leftOut(t)
		}
		return several
	})
}

// outOfTurn says why the turns of executions of which some were left out do not tell which belong together; "" where they do.
func (m *Matched) outOfTurn(seats int, first func(int) *event.Span) string {
	var want Turn
	for i := range seats {
		s := first(i)
		got := m.Part.Turns[Seat{s.Op, Slot{s.Node, s.Device}}]
		switch {
		case got.Jumbled:
			return reasonJumbled
		case i > 0 && got.Count != want.Count:
			return reasonCounts
		}
		want = got
	}
	return ""
}

func spansOf(list []placed) []int32 {
	out := make([]int32, len(list))
	for i := range list {
		out[i] = list[i].span
	}
	return out
}

// sizesAgree compares the recorded message sizes of an operation in which all members must have the same.
func sizesAgree(part *Part, list []placed, first, n int, at func(int) int) bool {
	s := &part.Spans[list[first].span]
	switch part.Ops[s.Op].Kind {
	case event.AllReduce, event.Broadcast, event.Reduce:
	default:
		return true
	}
	want := s.Size
	for i := range n {
		got := part.Spans[list[at(i)].span].Size
		if want == 0 {
			want = got
		}
		if got != 0 && got != want {
			return false
		}
	}
	return true
}

// number gives occurrences to the groups of one bucket: in order of their first member's start within each replica group.
func (m *Matched) number(groups []Group, how how) {
	start := func(g *Group) int64 { return m.Part.Spans[g.Members[0].Span].StartNS }
	if how == byRun {
		slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(start(&a), start(&b)) })
	}
	next := map[int32]int{}
	for i := range groups {
		g := &groups[i]
		g.Occurrence = next[g.Replicas]
		next[g.Replicas]++
	}
	slices.SortStableFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Occurrence, b.Occurrence), cmp.Compare(a.Replicas, b.Replicas))
	})
}
