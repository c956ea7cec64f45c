package arena

import (
	"encoding/binary"
	"reflect"
	"testing"
)

// turnOf does what a recorder does that keeps the last events of a warp: the n-th that is kept, from 1, takes the place of the one a room before.
func (w *writer) turnOf(warp, n uint64, e Event) {
	index, length := warp-w.get(atFirst), w.get(atBudget)
	w.add(w.get(atDirectory)+index*entryBytes+entryTotal, 1)
	at := w.memory[w.get(atBase)+(index*length+(n-1)%length)*eventBytes:]
	for i, v := range []uint64{e.Active, e.Taken, e.Value, n<<32 | uint64(e.Site)} {
		binary.LittleEndian.PutUint64(at[8*i:], v)
	}
}

// operands puts what lanes held at an event, which is the n-th of its warp from 1, into a slot; element counts from 1.
func (w *writer) operands(slot, warp, n, element uint64, site uint32, active uint64) {
	at := w.memory[w.get(atOperands)+slot*operandBytes(32):]
	for i, v := range []uint64{n, active, warp - w.get(atFirst), element<<32 | uint64(site)} {
		binary.LittleEndian.PutUint64(at[8*i:], v)
	}
	for lane := range uint64(32) { // what is not active holds garbage
		binary.LittleEndian.PutUint64(at[32+16*lane:], 1000*n+lane)
		binary.LittleEndian.PutUint64(at[40+16*lane:], 2000*n+lane)
	}
	w.add(atOperandCursor, 1)
}

// all reads an arena: its warps, with events and operands.
func all(t *testing.T, memory []byte) (map[uint64]Warp, *Arena) {
	t.Helper()
	a, err := Open(memory)
	if err != nil {
		t.Fatal(err)
	}
	out := map[uint64]Warp{}
	if err := a.Warps(func(w *Warp) error {
		one := *w
		one.Events, one.Operands = append([]Event(nil), w.Events...), append([]Operands(nil), w.Operands...)
		out[w.Number] = one
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out, a
}

// TestTheLastEventsOfEachWarpAreKept: in their order, with how many came before.
func TestTheLastEventsOfEachWarpAreKept(t *testing.T) {
	w := prepared(t, 1<<14, Plan{Warps: 9, First: 5, Events: true, Last: true, Budget: 4})
	happened := map[uint64]uint64{5: 3, 6: 4, 8: 11} // warp 7 left nothing
	for warp, n := range happened {
		for k := range n {
			w.turnOf(warp, k+1, Event{Site: uint32(k), Value: 10*warp + k})
		}
	}
	got, _ := all(t, w.memory)
	if len(got) != len(happened) {
		t.Fatalf("%d warps left something", len(got))
	}
	for warp, n := range happened {
		one, first := got[warp], n-min(n, 4)
		if one.Total != n || one.Before != first || uint64(len(one.Events)) != n-first {
			t.Fatalf("warp %d: %+v", warp, one)
		}
		for i, e := range one.Events {
			if k := first + uint64(i); e.Site != uint32(k) || e.Value != 10*warp+k {
				t.Errorf("warp %d: event %d is %+v", warp, k, e)
			}
		}
	}
	w.memory[w.get(atBase)+3*4*eventBytes+28] = 1 // of warp 8 event 8 says that it is the first
	a, err := Open(w.memory)
	if err != nil {
		t.Fatal(err)
	}
	if a.Warps(func(*Warp) error { return nil }) == nil {
		t.Error("a gap in a ring is not noticed")
	}
}

// TestOperandsStandBesideTheirEvents: by event and element, whatever the order in which warps left them; of lanes that are not active there is nothing.
func TestOperandsStandBesideTheirEvents(t *testing.T) {
	p := Plan{Warps: 5, First: 2, Events: true, Operands: true, Sites: 5, Depth: 3}
	w := prepared(t, 1<<15, p)
	for warp := uint64(2); warp < 5; warp++ {
		for n := range uint32(3) {
			w.event(warp, Event{Site: n, Active: 5})
		}
	}
	w.operands(0, 3, 3, 2, 2, 5)
	w.operands(1, 4, 1, 1, 0, 5)
	w.operands(2, 3, 3, 1, 2, 1<<31)
	w.operands(3, 3, 1, 1, 0, 5)
	w.operands(4, 3, 2, 1, 4, 5) // of another site than the event has
	w.operands(5, 3, 9, 1, 2, 5) // of an event that is not there
	visits := w.get(atVisits)
	binary.LittleEndian.PutUint32(w.memory[visits+4*(1*8+2):], 7) // of warp 3, at site 2: four beyond the depth; rows are of eight
	binary.LittleEndian.PutUint32(w.memory[visits+4*(1*8+0):], 3)
	got, a := all(t, w.memory)
	if a.NoRoom != 0 || a.Orphans != 2 || a.Deep != 4 {
		t.Errorf("no room %d, orphans %d, deep %d", a.NoRoom, a.Orphans, a.Deep)
	}
	if n := len(got[2].Operands); n != 0 {
		t.Errorf("warp 2 has %d", n)
	}
	lanes := func(factor, n, active uint64) []uint64 {
		out := make([]uint64, 32)
		for lane := range uint64(32) {
			if active>>lane&1 != 0 {
				out[lane] = factor*n + lane
			}
		}
		return out
	}
	one := func(event int, site uint32, active uint64) Operands {
		n := uint64(event + 1)
		return Operands{event, site, active, lanes(1000, n, active), lanes(2000, n, active)}
	}
	if want := []Operands{one(0, 0, 5), one(2, 2, 1<<31), one(2, 2, 5)}; !reflect.DeepEqual(got[3].Operands, want) {
		t.Errorf("%+v\nwant %+v", got[3].Operands, want)
	}
	if want := []Operands{one(0, 0, 5)}; !reflect.DeepEqual(got[4].Operands, want) {
		t.Errorf("%+v", got[4].Operands)
	}
}

// TestOperandsWithoutRoomAreCounted: a recorder claims slots beyond the end, and writes nothing there.
func TestOperandsWithoutRoomAreCounted(t *testing.T) {
	w := prepared(t, 4096, Plan{Warps: 1, Events: true, Operands: true})
	room := w.get(atRoom)
	if room == 0 || room != (4096-w.get(atOperands))/544 {
		t.Fatalf("room for %d", room)
	}
	for n := range room {
		w.event(0, Event{Site: 1})
		w.operands(n, 0, n+1, 1, 1, 1)
	}
	w.add(atOperandCursor, 3)
	if got, a := all(t, w.memory); a.NoRoom != 3 || uint64(len(got[0].Operands)) != room {
		t.Errorf("%d had no room, %d are kept", a.NoRoom, len(got[0].Operands))
	}
}

// TestOperandsOfRings lie in the room of their warp, and those of events that were overwritten are left out.
func TestOperandsOfRings(t *testing.T) {
	w := prepared(t, 1<<15, Plan{Warps: 2, Events: true, Last: true, Budget: 4, Operands: true})
	room := w.get(atRoom)
	if room == 0 {
		t.Fatal("no room")
	}
	for n := range uint64(6) {
		w.turnOf(1, n+1, Event{Site: 7})
	}
	w.operands(room, 1, 1, 1, 7, 1) // its event has gone
	w.operands(room+1, 1, 5, 1, 7, 1)
	entry := w.get(atDirectory) + entryBytes
	w.add(entry+entryTurns, room+2)
	got, a := all(t, w.memory)
	if one := got[1]; one.Before != 2 || len(one.Operands) != 1 || one.Operands[0].Event != 2 || a.Orphans != 1 || a.NoRoom != 2 {
		t.Errorf("%+v; orphans %d, no room %d", one, a.Orphans, a.NoRoom)
	}
	w.operands(0, 1, 5, 1, 7, 1) // of warp 1, in the room of warp 0
	if _, err := Open(w.memory); err == nil {
		t.Error("operands in the room of another warp are believed")
	}
}

// TestOperandsOfNoEventAreAnError: a kernel wrote over them.
func TestOperandsOfNoEventAreAnError(t *testing.T) {
	for name, c := range map[string]struct{ warp, n, element uint64 }{"no element": {0, 1, 0}, "no event": {0, 0, 1}, "no warp": {2, 1, 1}} {
		w := prepared(t, 1<<14, Plan{Warps: 2, Events: true, Operands: true})
		w.event(0, Event{Site: 1})
		w.operands(0, c.warp, c.n, c.element, 1, 1)
		if _, err := Open(w.memory); err == nil {
			t.Errorf("%s: nobody noticed", name)
		}
	}
}

// TestOnlyPlansThatAskForOperandsHaveRoomForThem, and only those with a depth count visits.
func TestOnlyPlansThatAskForOperandsHaveRoomForThem(t *testing.T) {
	for _, c := range []struct {
		events, operands bool
		depth            uint32
		room, visits     bool
	}{{true, true, 2, true, true}, {true, true, 0, true, false}, {true, false, 2, false, false}, {false, true, 2, false, false}} {
		p := Plan{Warps: 2, Events: c.events, Operands: c.operands, Depth: c.depth, Sites: 3}
		if l := p.layout(1 << 15); l.room > 0 != c.room || p.visits() > 0 != c.visits {
			t.Errorf("%+v: room for %d, %d bytes of visits", c, l.room, p.visits())
		}
	}
	p := Plan{Warps: 2, Events: true, Operands: true, Depth: 1, Sites: 1} // 2 warps leave 32 at most
	if l := p.layout(1 << 20); l.room != 32 {
		t.Errorf("room for %d", l.room)
	}
	p.Last, p.Budget = true, 4
	if l := p.layout(1 << 20); l.room != 16 {
		t.Errorf("room for %d of each warp", l.room)
	}
	none := Plan{Warps: 2, First: 2, Events: true, Operands: true}
	if l := none.layout(1 << 15); l.room != 0 {
		t.Errorf("room for %d of no warp", l.room)
	}
}

// TestSumsHaveTheirLimits: just as many are summed, one more and none is.
func TestSumsHaveTheirLimits(t *testing.T) {
	pieces := func(n int) []Array { return []Array{{Pieces: make([]Piece, n)}} }
	for _, c := range []struct {
		plan Plan
		size uint64
		want bool
	}{
		{Plan{Known: make([]int32, maxSlots)}, 1 << 30, true},
		{Plan{Known: make([]int32, maxSlots+1)}, 1 << 30, false},
		{Plan{Known: make([]int32, 1), Arrays: pieces(maxPieces)}, 1 << 30, true},
		{Plan{Known: make([]int32, 1), Arrays: pieces(maxPieces + 1)}, 1 << 30, false},
		{Plan{Known: make([]int32, 1), Arrays: pieces(10)}, tableAt(1) + 10*placeBytes, true},
		{Plan{Known: make([]int32, 1), Arrays: pieces(10)}, tableAt(1) + 10*placeBytes - 1, false},
	} {
		if l := c.plan.layout(c.size); l.slots > 0 != c.want {
			t.Errorf("%d slots, %d pieces: %d and %d in %d bytes", c.plan.slots(), c.plan.pieces(), l.slots, l.pieces, c.size)
		}
	}
}

// TestNeedIsToldToTheByte of arenas that keep all, some, and one in three.
func TestNeedIsToldToTheByte(t *testing.T) {
	for name, c := range map[string]struct {
		plan   Plan
		totals []uint64
		want   Need
	}{
		"all":       {Plan{Warps: 2, Events: true}, []uint64{31, 32}, Need{Warps: 2, WarpBytes: 64, Bytes: headerBytes + 2*64 + 1024 + 3*1024, Events: 63, MostEvents: 32}},
		"a budget":  {Plan{Warps: 2, Events: true, Budget: 10}, []uint64{31, 5}, Need{Warps: 2, WarpBytes: 64, Bytes: headerBytes + 2*64 + 1024 + 2*1024, Events: 36, MostEvents: 31, NotAskedFor: 21}},
		"a rate":    {Plan{Warps: 1, Events: true, Rate: 3, Sites: 4}, []uint64{30}, Need{Warps: 1, WarpBytes: 80, Bytes: headerBytes + 80 + 1024 + 1024, Events: 30, MostEvents: 30, NotAskedFor: 20}},
		"very many": {Plan{Warps: 1, Events: true}, []uint64{maxEvents + 5}, Need{Warps: 1, WarpBytes: 64, Bytes: headerBytes + 64 + 1024 + (maxEvents+30)/31*1024, Events: maxEvents + 5, MostEvents: maxEvents + 5, NotAskedFor: 5}},
		"the last":  {Plan{Warps: 2, Events: true, Last: true, Budget: 8}, []uint64{30, 5}, Need{Warps: 2, WarpBytes: 64, Bytes: headerBytes + 2*64 + 1024 + 2*8*32, Events: 35, MostEvents: 30, NotAskedFor: 22}},
		"no sites":  {Plan{Warps: 1, Events: true, Operands: true, Depth: 2}, []uint64{30}, Need{Warps: 1, WarpBytes: 64, Bytes: headerBytes + 64 + 1024 + 1024 + 30*544, OperandBytes: 30 * 544, Events: 30, MostEvents: 30}},
	} {
		if got := c.plan.Need(c.totals, 1<<40); got != c.want {
			t.Errorf("%s: %+v\nwant %+v", name, got, c.want)
		}
	}
	ring := Plan{Warps: 2, Events: true, Last: true} // rings of all that there is room for
	size := uint64(headerBytes + 2*entryBytes)
	base := (size + chunkBytes - 1) / chunkBytes * chunkBytes
	if got := ring.Need([]uint64{30, 5}, base+2*8*eventBytes); got.LostEvents != 22 {
		t.Errorf("of 30 and 5 events with room for 8 each %d are lost", got.LostEvents)
	}
	if got := ring.Need([]uint64{30, 5}, base); got.LostEvents != 35 {
		t.Errorf("of 30 and 5 events without room %d are lost", got.LostEvents)
	}
}
