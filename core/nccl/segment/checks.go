package segment

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"slices"
	"time"

	"github.com/prlx-go/prlx/core/fault"
)

// What tells damage from what was recorded: checksums of what never changes, of entries of tables and of segments, full and open, and the number of
// segments that were opened. Recorders before them wrote none of it but the checksums of full segments; then less can be told.

const (
	atFacts       = 336 // in the header: CRC-32C of what never changes, then 1 where it is there
	atTaken       = 248 // segments that made room for others
	atOpened      = 328 // segments that were opened
	atRunning     = 104 // in a segment: the checksum of what was whole when the clocks were last read, and of how many slots it is
	commChecked   = 72  // bytes of an entry that has a checksum
	anchorChecked = 56
	sameAgain     = 4                    // reads of what changes while it is read
	meanwhile     = 2 * time.Millisecond // between these
)

// factsOf are the parts of the header that never change.
var factsOf = [][2]int{{0, 40}, {48, 192}, {280, 284}, {288, 308}, {512, 1024}}

// facts is the checksum of what never changes of a recording: parts of its header, the environment, the GPUs.
func facts(header, environment, gpus []byte) uint32 {
	crc := uint32(0)
	for _, part := range factsOf {
		crc = crc32.Update(crc, castagnoli, header[part[0]:part[1]])
	}
	return crc32.Update(crc32.Update(crc, castagnoli, environment), castagnoli, gpus)
}

// checkFacts compares the checksum of what never changes, where there is one.
func (f *File) checkFacts(h []byte) error {
	if !f.Checked {
		return nil
	}
	var parts [2][]byte
	for i, table := range []struct {
		at, least int
		used      uint32
	}{{128, 1, u32(h, 236)}, {288, 128, u32(h, 304)}} {
		s, err := f.section(h, table.at, table.least)
		if err != nil {
			return err
		}
		parts[i] = make([]byte, min(int(table.used), s.entries)*s.entry)
		if err := f.fill(parts[i], s.offset); err != nil {
			return err
		}
	}
	if facts(h, parts[0], parts[1]) != u32(h, atFacts) {
		return f.damaged(0, "its head has the checksum of another")
	}
	state, ended := State(u32(h, 44)), u64(h, 200)
	if state > Ended || state == Ended && ended == 0 {
		return f.damaged(44, "its state is %d, and its end at %d", state, ended)
	}
	return nil
}

func (f *contents) damaged(at int64, format string, args ...any) error {
	return fault.Formatf(f.src.Path(), at, "the recording is damaged: %s", fmt.Sprintf(format, args...)).WithHint("copy it again from the host that wrote it")
}

// settled reads an entry that its process may be writing, until it has its checksum.
func (f *File) settled(e []byte, at int64, sound func(e []byte) bool) (bool, error) {
	for try := range sameAgain {
		if sound(e) {
			return true, nil
		}
		if try > 0 {
			time.Sleep(meanwhile)
		}
		if err := f.fill(e, at); err != nil {
			return false, err
		}
	}
	return sound(e), nil
}

// checkComm compares the checksum of a communicator's entry. One that was never entered is all zeros.
func (f *File) checkComm(e []byte, number int, at int64) error {
	if !f.Checked || len(e) < commChecked {
		return nil
	}
	ok, err := f.settled(e, at, func(e []byte) bool {
		return !slices.ContainsFunc(e, func(b byte) bool { return b != 0 }) || crc32.Checksum(e[:64], castagnoli) == u32(e, 64)
	})
	if err == nil && !ok {
		err = f.damaged(at, "communicator %d has the checksum of another", number)
	}
	return err
}

// soundAnchor reports whether an entry of the table of anchors is one that was written whole.
func (f *File) soundAnchor(e []byte) bool {
	return !f.Checked || len(e) < anchorChecked || crc32.Checksum(e[:48], castagnoli) == u32(e, 48)
}

func (f *File) soundMask(e []byte) bool {
	return !f.Checked || crc32.Checksum(e[:28], castagnoli) == u32(e, 28)
}

// checkText compares the hash that all entries of texts have.
func checkText(text []byte, hash uint32) bool {
	h := fnv.New32a()
	h.Write(text) // never fails
	return h.Sum32() == hash
}

// isRunning is the checksum of the first slots of a segment that may be open: of them, and of what never changes of its head.
func isRunning(head, slots []byte) uint32 {
	crc := uint32(0)
	for _, part := range [][2]int{{0, 16}, {24, 36}, {40, 88}} {
		crc = crc32.Update(crc, castagnoli, head[part[0]:part[1]])
	}
	return crc32.Update(crc, castagnoli, slots)
}

// trust says how many slots of a segment can be believed.
func (f *File) trust(s *Segment, b []byte) (slots int, what found) {
	head, rest := b[:segmentHead], b[segmentHead:]
	if s.Checked {
		if crc32.Update(crc32.Checksum(head[:96], castagnoli), castagnoli, rest) != s.crc {
			return 0, corrupt
		}
		return s.Slots, whole
	}
	if !f.Checked {
		if s.running != 0 { // a recorder that makes these says so in the header
			return 0, corrupt
		}
		return s.Slots, whole
	}
	covered := int(s.running >> 32)
	if covered > s.Slots || covered > 0 && isRunning(head, rest[:covered*slotBytes]) != uint32(s.running) {
		return 0, corrupt
	}
	if covered < s.Slots && u64(rest, covered*slotBytes) < f.due() {
		return covered, unchecked
	}
	return s.Slots, whole
}

// due is before when records are old enough to be in a checksum, in ticks; 0: none is. The recorder makes them before it reads the clocks, which it
// does each second: what is older than the last reading but for a second is in them.
func (f *File) due() uint64 {
	if f.NoKeeper || len(f.Anchors) == 0 {
		return 0
	}
	last := f.Anchors[len(f.Anchors)-1].MonotonicNS
	for _, a := range slices.Backward(f.Anchors) {
		if last-a.MonotonicNS >= int64(time.Second) {
			return a.Ticks
		}
	}
	return 0
}

// gone counts the segments that were opened and are not in the file, neither they nor what took their place: taken of them did until after the heads
// were read. Of a process that records it may be too many by those that are being opened just now.
func (f *File) gone(all []Segment, absent int, taken uint64) int {
	opened, last := f.Opened, uint64(0)
	if opened > 0 {
		here := uint64(0)
		for i := range all {
			if all[i].Order < opened {
				here++
			}
		}
		if n := opened - min(opened, here+taken); n > 0 {
			return int(min(n, mostSegments))
		}
		return 0
	}
	for i := range all { // recorders that do not say it: those that are absent may have been opened after the last
		last = max(last, all[i].Order+1)
	}
	gap := 0
	if n := uint64(len(all)) + taken; last > n {
		gap = int(min(last-n, mostSegments))
	}
	return max(gap, absent)
}

// running is the checksum of an open segment, and of how many slots it is.
func running(head []byte) uint64 { return binary.LittleEndian.Uint64(head[atRunning:]) }
