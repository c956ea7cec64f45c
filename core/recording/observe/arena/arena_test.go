package arena

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// writer does what a recorder does, one event after the other.
type writer struct{ memory []byte }

func (w *writer) get(at uint64) uint64 { return binary.LittleEndian.Uint64(w.memory[at:]) }

func (w *writer) add(at, n uint64) uint64 {
	v := w.get(at)
	binary.LittleEndian.PutUint64(w.memory[at:], v+n)
	return v
}

func (w *writer) event(warp uint64, e Event) {
	index := warp - w.get(atFirst)
	if index >= w.get(atWanted) {
		return
	}
	if index >= w.get(atWarps) {
		w.add(atOutside, 1)
		return
	}
	entry := w.get(atDirectory) + index*entryBytes
	if w.memory[atMode]&modeEvery != 0 {
		w.every(entry, index, e)
		return
	}
	number := w.add(entry+entryTotal, 1)
	if w.memory[atMode]&modeEvents == 0 {
		w.add(entry+entryHash, e.Value*number)
		return
	}
	if number >= w.get(atBudget) {
		return
	}
	state := w.add(entry, 1)
	chunk, slot := state>>32-1, state&(1<<32-1)
	if state>>32 == 0 || slot >= perChunk {
		if chunk = w.get(atCursor); chunk >= w.get(atChunks) {
			w.add(atFull, 1)
			return
		}
		w.add(atCursor, 1)
		before := w.get(entry)
		binary.LittleEndian.PutUint64(w.memory[entry:], (chunk+1)<<32|1)
		head := w.memory[w.get(atBase)+chunk*chunkBytes:]
		binary.LittleEndian.PutUint64(head, before)
		binary.LittleEndian.PutUint64(head[8:], index)
		slot = 0
	}
	at := w.memory[w.get(atBase)+chunk*chunkBytes+(slot+1)*eventBytes:]
	binary.LittleEndian.PutUint64(at, e.Active)
	binary.LittleEndian.PutUint64(at[8:], e.Taken)
	binary.LittleEndian.PutUint64(at[16:], e.Value)
	binary.LittleEndian.PutUint64(at[24:], uint64(e.Site)|1<<32)
}

// every does so where every event is kept.
func (w *writer) every(entry, index uint64, e Event) {
	state := w.add(entry+entryPlace, ^uint64(1<<placeShift-eventBytes)+1)
	at := state & (1<<placeShift - 1)
	if int64(state)>>placeShift <= 0 {
		if w.get(atCursor) >= w.get(atChunks) {
			w.add(atFull, 1)
			w.add(entry+entryTotal, 1)
			return
		}
		chunk := w.get(atBase) + w.add(atCursor, 1)*chunkBytes
		binary.LittleEndian.PutUint64(w.memory[chunk:], w.get(entry+entryPlace))
		binary.LittleEndian.PutUint64(w.memory[chunk+8:], index)
		binary.LittleEndian.PutUint64(w.memory[entry+entryPlace:], (perChunk-1)<<placeShift+chunk+2*eventBytes)
		at = chunk + eventBytes
	}
	for i, v := range []uint64{e.Active, e.Taken, e.Value, uint64(e.Site) | 1<<32} {
		binary.LittleEndian.PutUint64(w.memory[at+8*uint64(i):], v)
	}
}

func prepared(t *testing.T, size int, p Plan) *writer {
	t.Helper()
	memory := make([]byte, size)
	if err := Prepare(memory, p); err != nil {
		t.Fatal(err)
	}
	return &writer{memory}
}

// warps reads an arena back: events by warp.
func warps(t *testing.T, memory []byte) (map[uint64][]Event, map[uint64]uint64, *Arena) {
	t.Helper()
	a, err := Open(memory)
	if err != nil {
		t.Fatal(err)
	}
	events, totals := map[uint64][]Event{}, map[uint64]uint64{}
	if err := a.Warps(func(w *Warp) error {
		events[w.Number], totals[w.Number] = append([]Event(nil), w.Events...), w.Total
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return events, totals, a
}

func TestEventsComeBackInTheirOrder(t *testing.T) {
	w := prepared(t, 1<<20, Plan{Warps: 20, Events: true})
	want := map[uint64][]Event{}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 9000 {
		warp := rng.Uint64N(20)
		e := Event{Site: uint32(i), Active: rng.Uint64(), Taken: rng.Uint64(), Value: uint64(i) << 40}
		w.event(warp, e)
		want[warp] = append(want[warp], e)
	}
	got, totals, a := warps(t, w.memory)
	if fmt.Sprint(got) != fmt.Sprint(want) || a.Outside+a.Full != 0 {
		t.Errorf("what came back is not what was written; outside %d, full %d", a.Outside, a.Full)
	}
	for warp, n := range totals {
		if n != uint64(len(want[warp])) {
			t.Errorf("warp %d: %d events happened, want %d", warp, n, len(want[warp]))
		}
	}
}

func TestWhatHasNoRoomIsCounted(t *testing.T) {
	for _, size := range []int{headerBytes, headerBytes + 3*entryBytes, 2048, 4096, 1 << 14} {
		w := prepared(t, size, Plan{Warps: 10, Events: true})
		for i := range 1000 {
			w.event(uint64(i%10), Event{Site: uint32(i)})
		}
		got, totals, a := warps(t, w.memory)
		kept, happened := 0, uint64(0)
		for warp, events := range got {
			kept, happened = kept+len(events), happened+totals[warp]
			for i, e := range events {
				if e.Site != uint32(i*10)+uint32(warp) {
					t.Fatalf("%d bytes: warp %d has %d where its first events should be", size, warp, e.Site)
				}
			}
		}
		if happened+a.Outside != 1000 || uint64(kept)+a.Full+a.Outside != 1000 {
			t.Errorf("%d bytes: %d kept, %d full, %d outside, %d happened", size, kept, a.Full, a.Outside, happened)
		}
	}
}

func TestABudgetKeepsTheFirstEvents(t *testing.T) {
	w := prepared(t, 1<<16, Plan{Warps: 1, Events: true, Budget: 40})
	for i := range 100 {
		w.event(0, Event{Site: uint32(i)})
	}
	got, totals, _ := warps(t, w.memory)
	if len(got[0]) != 40 || got[0][39].Site != 39 || totals[0] != 100 {
		t.Errorf("%d of %d events are kept", len(got[0]), totals[0])
	}
}

func TestOnlyWantedWarpsAreRecorded(t *testing.T) {
	w := prepared(t, 1<<16, Plan{Warps: 100, First: 40, Wanted: 3, Events: true})
	for i := range uint64(100) {
		w.event(i, Event{Site: uint32(i)})
	}
	got, _, a := warps(t, w.memory)
	if len(got) != 3 || got[40] == nil || got[42] == nil || a.Outside != 0 {
		t.Errorf("warps are %v, %d outside", got, a.Outside)
	}
}

func TestDigestsHaveNoEvents(t *testing.T) {
	w := prepared(t, 1<<12, Plan{Warps: 2})
	w.event(1, Event{Value: 5})
	w.event(1, Event{Value: 7})
	a, err := Open(w.memory)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := a.Warps(func(w *Warp) error {
		if n++; w.Number != 1 || w.Total != 2 || w.Hash != 7 || len(w.Events) != 0 {
			t.Errorf("%+v", w)
		}
		return nil
	}); err != nil || n != 1 {
		t.Error(n, err)
	}
}

func TestAnArenaThatWasOverwrittenIsAnError(t *testing.T) {
	for what, change := range map[string]func(m []byte, base uint64){
		"no arena":                 func(m []byte, _ uint64) { m[0] = 0 },
		"arena of version 2":       func(m []byte, _ uint64) { m[atVersion] = 2 },
		"arena was overwritten":    func(m []byte, _ uint64) { m[atWarps+4] = 1 },
		"belongs to another warp":  func(m []byte, base uint64) { m[base+8] = 1 },
		"are not chained":          func(m []byte, base uint64) { binary.LittleEndian.PutUint64(m[base:], 1<<32|1) },
		"counted and not written":  func(m []byte, base uint64) { m[base+eventBytes+28] = 0 },
		"chunks are not chained":   func(m []byte, _ uint64) { m[headerBytes+entryPlace+7] = 0x7f },
		"first chunk is elsewhere": func(m []byte, base uint64) { binary.LittleEndian.PutUint64(m[base:], 9<<32) },
	} {
		w := prepared(t, 1<<14, Plan{Warps: 2, Events: true})
		w.event(0, Event{Site: 1})
		w.event(0, Event{Site: 2})
		change(w.memory, w.get(atBase))
		a, err := Open(w.memory)
		if err == nil {
			err = a.Warps(func(*Warp) error { return nil })
		}
		if err == nil {
			t.Errorf("%s: nobody noticed", what)
		} else if !strings.Contains(err.Error(), what) && what != "first chunk is elsewhere" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	w := &writer{make([]byte, 4096)}
	if err := Prepare(w.memory, Plan{Warps: 3, Events: true}); err != nil {
		f.Fatal(err)
	}
	for i := range 70 {
		w.event(uint64(i%4), Event{Site: uint32(i)})
	}
	f.Add(w.memory)
	f.Add([]byte("PRLXARE1"))
	deep := make([]byte, 1<<15)
	if err := Prepare(deep, Plan{Warps: 3, Events: true, Operands: true, Depth: 2, Sites: 5}); err != nil {
		f.Fatal(err)
	}
	(&writer{deep}).event(1, Event{Site: 4, Active: 3})
	at := binary.LittleEndian.Uint64(deep[atOperands:])
	binary.LittleEndian.PutUint64(deep[atOperandCursor:], 1)
	for i, v := range []uint64{1, 3, 1, 1<<32 | 4} {
		binary.LittleEndian.PutUint64(deep[at+8*uint64(i):], v)
	}
	f.Add(deep)
	f.Fuzz(func(t *testing.T, memory []byte) {
		a, err := Open(memory)
		if err != nil {
			return
		}
		n := 0
		if a.Warps(func(w *Warp) error { n += len(w.Events); return nil }) == nil && n*eventBytes > len(memory) {
			t.Errorf("%d events of %d bytes", n, len(memory))
		}
	})
}

// TestSumsComeBack writes sums as a recorder does: they are those of their slots, and of more elements than can be counted there are no values.
func TestSumsComeBack(t *testing.T) {
	arrays := []Array{{ID: 7, Width: 2, Pieces: []Piece{{64, 64}}}, {ID: 3, Width: 1, Pieces: []Piece{{128, 64}}}, {ID: 9, Width: 8, Pieces: []Piece{{256, 64}}}}
	w := prepared(t, 1<<13, Plan{Warps: 2, Known: []int32{9, 3, 5, 7}, Sought: 2, Arrays: arrays})
	for slot, want := range []uint32{8, 255, 255, 2, 2, 255, 8, 2, 255, 8} {
		if got := binary.LittleEndian.Uint32(w.memory[headerBytes+widthBytes*slot:]); got != want {
			t.Errorf("elements of sum %d have %d bytes, want %d", slot, got, want)
		}
	}
	if at := w.get(atTable); at != headerBytes+64 || w.get(at) != 64 {
		t.Errorf("the table of arrays is at %d", at)
	}
	counts := [2]uint64{5, mostCounted + 1}
	for warp, count := range counts {
		at := w.get(atSums) + uint64(warp*10+6)*sumBytes
		for i, v := range []uint64{count, 11, 12, 13, 15<<32 | 14} {
			w.add(at+uint64(8*i), v)
		}
	}
	a, err := Open(w.memory)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := a.Warps(func(w *Warp) error {
		want := Sum{6, counts[w.Number], 11, warptrace.ValueSums{Hash: 12, Bits: 13, Tops: 14, Specials: 15}, w.Number == 1}
		if n++; len(w.Sums) != 1 || w.Sums[0] != want {
			t.Errorf("warp %d: %+v, want %+v", w.Number, w.Sums, want)
		}
		return nil
	}); err != nil || n != 2 {
		t.Error(n, err)
	}
}

// TestAnArenaIsPreparedAgain with arrays for which there is no room: nothing of the first time is left.
func TestAnArenaIsPreparedAgain(t *testing.T) {
	p := Plan{Warps: 2, Events: true, Known: make([]int32, 40), Sought: maxSlots}
	w := prepared(t, 1<<13, p)
	p.Arrays = []Array{{Pieces: []Piece{{64, 64}}}}
	if err := Prepare(w.memory, p); err != nil {
		t.Fatal(err)
	}
	fresh := prepared(t, 1<<13, p)
	if !bytes.Equal(w.memory, fresh.memory) {
		t.Error("an arena that was prepared twice is not what it is after once")
	}
}

// TestWhatIsUsedIsAllThatMatters copies the parts of an arena that are said to be used, and nothing else: it reads the same.
func TestWhatIsUsedIsAllThatMatters(t *testing.T) {
	for what, plan := range map[string]Plan{
		"chunks": {Warps: 6, Events: true}, "few warps": {Warps: 6, Events: true, Wanted: 2}, "counts": {Warps: 6, Known: []int32{1, 2}},
		"a ring": {Warps: 6, Events: true, Last: true, Budget: 3}, "operands": {Warps: 6, Events: true, Operands: true},
		"operands of a ring": {Warps: 6, Events: true, Last: true, Budget: 3, Operands: true},
	} {
		w := prepared(t, 1<<16, plan)
		events := 70
		if plan.Last {
			events = 0 // this recorder has no rings
			for i := range 6 {
				w.add(w.get(atBase)+uint64(i)*w.get(atBudget)*eventBytes+24, 1<<32|uint64(i))
				w.add(w.get(atDirectory)+uint64(i)*entryBytes+entryTotal, 1)
			}
		}
		for i := range events {
			w.event(uint64(i%6), Event{Site: uint32(i), Value: uint64(i)})
		}
		used, err := Used(w.memory[:headerBytes])
		if err != nil {
			t.Fatal(what, err)
		}
		brought, n := make([]byte, len(w.memory)), uint64(0)
		for _, part := range used {
			n += uint64(copy(brought[part[0]:part[0]+part[1]], w.memory[part[0]:]))
		}
		if !plan.Last && n > 1<<15 {
			t.Errorf("%s: %d bytes of %d are used", what, n, len(w.memory))
		}
		want, totals, _ := warps(t, w.memory)
		got, theirs, _ := warps(t, brought)
		if fmt.Sprint(got, theirs) != fmt.Sprint(want, totals) || len(totals) == 0 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	for at := 0; at < headerBytes; at += 4 { // whatever stands there, no part is outside
		w := prepared(t, 1<<14, Plan{Warps: 2, Events: true, Operands: true})
		binary.LittleEndian.PutUint32(w.memory[at:], 0xfffffff0)
		used, err := Used(w.memory[:headerBytes])
		for _, part := range used {
			if n := w.get(atCapacity); err == nil && (part[0] > n || part[1] > n-part[0]) {
				t.Errorf("at %d: %v of %d bytes", at, part, n)
			}
		}
	}
}
