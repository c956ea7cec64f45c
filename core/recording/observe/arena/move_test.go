package arena

import (
	"bytes"
	"encoding/binary"
	"testing"
)

func TestMovedArraysAreFoundWhereTheyAre(t *testing.T) {
	memory := make([]byte, 4096)
	arrays := []Array{
		{ID: 7, Base: 1000, Width: 4, Pieces: []Piece{{1000, 64}}},
		{ID: 3, Base: 1990, Width: 4, Pieces: []Piece{{2000, 32}}},
		{ID: 9, Base: 3000, Width: 4, Pieces: []Piece{{3000, 8}}},
	}
	if err := Prepare(memory, Plan{Warps: 1, Events: true, Budget: 1, Sought: 1, Arrays: arrays}); err != nil {
		t.Fatal(err)
	}
	Move(memory, func(address uint64) uint64 { return map[uint64]uint64{1000: 1 << 40, 2000: 1 << 41}[address] })
	table := memory[binary.LittleEndian.Uint64(memory[atTable:]):]
	for i, want := range [][2]uint64{{1 << 40, 1 << 40}, {1 << 41, 1<<41 - 10}, {3000, 3000}} {
		row := table[i*placeBytes:]
		if got := [2]uint64{binary.LittleEndian.Uint64(row), binary.LittleEndian.Uint64(row[16:])}; got != want {
			t.Errorf("row %d begins at, and counts from, %d, want %d", i, got, want)
		}
	}
	low, span := binary.LittleEndian.Uint64(memory[atLow:]), binary.LittleEndian.Uint64(memory[atSpan:])
	if low != 3000 || low+span != 1<<41+32 {
		t.Errorf("arrays lie from %d to %d", low, low+span)
	}
}

func TestMemoryThatIsNoArenaStays(t *testing.T) {
	prepared := make([]byte, 4096)
	if err := Prepare(prepared, Plan{Warps: 1, Sought: 1, Arrays: []Array{{Pieces: []Piece{{64, 64}}}}}); err != nil {
		t.Fatal(err)
	}
	lying := bytes.Clone(prepared)
	binary.LittleEndian.PutUint32(lying[atPlaces:], 1<<31)
	far := bytes.Clone(prepared)
	binary.LittleEndian.PutUint64(far[atTable:], ^uint64(0)-8)
	for _, memory := range [][]byte{nil, make([]byte, 100), make([]byte, 4096), lying, far, prepared[:headerBytes]} {
		before := bytes.Clone(memory)
		Move(memory, func(uint64) uint64 { return 1 })
		if !bytes.Equal(memory, before) {
			t.Errorf("%d bytes were changed", len(memory))
		}
	}
}
