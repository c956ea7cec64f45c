package arena

import "encoding/binary"

// Move says to a kernel that it will find the arrays of its arena elsewhere than was prepared: where a device gives them addresses of its own. to
// is where what was at an address is, 0 where it stays. Memory that is not a prepared arena is left alone.
func Move(memory []byte, to func(address uint64) uint64) {
	if len(memory) < headerBytes || binary.LittleEndian.Uint64(memory[atMagic:]) != magic {
		return
	}
	from, rows := binary.LittleEndian.Uint64(memory[atTable:]), uint64(binary.LittleEndian.Uint32(memory[atPlaces:]))
	if rows == 0 || from > uint64(len(memory)) || rows > (uint64(len(memory))-from)/placeBytes {
		return
	}
	low, high := ^uint64(0), uint64(0)
	for row := memory[from : from+rows*placeBytes]; len(row) > 0; row = row[placeBytes:] {
		at := binary.LittleEndian.Uint64(row)
		if moved := to(at); moved != 0 {
			binary.LittleEndian.PutUint64(row[16:], binary.LittleEndian.Uint64(row[16:])-at+moved)
			at = moved
			binary.LittleEndian.PutUint64(row, at)
		}
		low, high = min(low, at), max(high, at+binary.LittleEndian.Uint64(row[8:]))
	}
	binary.LittleEndian.PutUint64(memory[atLow:], low)
	binary.LittleEndian.PutUint64(memory[atSpan:], high-low)
}
