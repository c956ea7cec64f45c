package segment

import (
	"encoding/binary"
	"hash/crc32"
	"time"
)

// Kind is what a record tells.
type Kind uint8

// The kinds of records.
const (
	Start    Kind = iota + 1
	Stop          // of a handle
	Update        // recordEventState
	Loss          // callbacks that are not in the file
	Thread_       // another thread goes on in the entry
	Init          // of a communicator
	Finalize      // of a communicator
)

// Record is one record of a thread: the head that all kinds have, the extension where there is one, and the body. Body is valid until the
// visitor returns.
type Record struct {
	Kind    Kind
	Version int // of NCCL's interface, 1 to 7; 0 of losses and threads
	Code    int // Start: the event's; Stop and Finalize: the handle's; Loss: what was lost. -1 of an Update
	State   uint32
	Ticks   uint64
	ID      uint64 // the handle; the context of Init and Finalize; Loss: how many; Thread_: its number
	Value   uint64 // the parent; what args say; NCCL's number of the communicator; Loss: ticks of the first; Thread_: its generation
	Extra   uint16 // a step or a channel where it fits; Update: the handle's code
	Comm    int    // index in File.Comms, -1 where the context is another

	HasArgs, Raw bool
	Extended     bool
	Context      uint64 // the extension's
	RawType      uint64 // type or state as NCCL passed it
	Rank, Number int32
	RankZero     bool

	Body []byte // whole slots
}

const (
	flagExtended = 0x10
	flagRankZero = 0x20
	flagArgs     = 0x40
	flagRaw      = 0x80
	elsewhere    = 0xffff
)

// decode reads the record that slots begin with. It returns how many slots it has, 0 where they do not hold one.
func decode(b []byte, r *Record) int {
	slots := int(b[27])
	if slots == 0 || slots*slotBytes > len(b) {
		return 0
	}
	flags, code := b[29], b[28]
	*r = Record{
		Kind: Kind(b[26]), Version: int(flags & 15), Code: int(code), Ticks: u64(b, 0), ID: u64(b, 8), Value: u64(b, 16), Extra: binary.LittleEndian.Uint16(b[30:]),
		Comm: int(binary.LittleEndian.Uint16(b[24:])), HasArgs: flags&flagArgs != 0, Raw: flags&flagRaw != 0, Extended: flags&flagExtended != 0, RankZero: flags&flagRankZero != 0,
	}
	if r.Kind < Start || r.Kind > Finalize || r.Version > 7 {
		return 0
	}
	if r.Comm == elsewhere {
		r.Comm = -1
	}
	at := 1
	if r.Extended {
		if slots < 2 {
			return 0
		}
		x := b[slotBytes:]
		r.Context, r.RawType, r.Rank, r.Number = u64(x, 0), u64(x, 8), int32(u32(x, 16)), int32(u32(x, 20))
		at = 2
	}
	if r.Kind == Update {
		r.State, r.Code = uint32(code), -1
		if code == 0xff {
			r.State = uint32(r.RawType)
		}
	}
	r.Body = b[at*slotBytes : slots*slotBytes]
	return slots
}

// Segment is where records stand.
type Segment struct {
	Index                 int
	Thread                int // index in File.Threads
	ThreadGeneration, TID uint32
	Order                 uint64 // segments of a process by when they were opened
	Opened                Anchor
	Slots                 int  // that are whole
	Sealed                bool // no more will follow
	Checked               bool // it has a checksum
	crc                   uint32
	running               uint64
	generation            uint64
	at                    int64
}

// Segments reads the heads of all segments that were opened, in the order in which they were.
func (f *File) Segments() ([]Segment, error) {
	all, _, err := f.heads()
	return all, err
}

// heads reads the heads of segments, and counts those that were opened and are not there: what stands in their place is no segment, or lies beyond the
// end of the file. A process that records may be opening one just now.
func (f *File) heads() (all []Segment, gone int, err error) {
	for try := range sameAgain {
		if try > 0 {
			time.Sleep(meanwhile)
		}
		absent := 0
		if all, absent, err = f.headsOnce(); err != nil {
			return nil, 0, err
		}
		taken := f.OverwrittenSegments
		if f.Opened > 0 && f.State != Ended { // a segment is counted before it is taken
			var now [8]byte
			if err = f.fill(now[:], atTaken); err != nil {
				return nil, 0, err
			}
			taken = max(taken, binary.LittleEndian.Uint64(now[:]))
		}
		if gone = f.gone(all, absent, taken); gone == 0 || f.State == Ended {
			break
		}
	}
	return all, gone, nil
}

func (f *File) headsOnce() (all []Segment, absent int, err error) {
	head := make([]byte, segmentHead)
	for i := range f.segments {
		at := f.offset + int64(i)*f.size
		if at+segmentHead > f.src.Size() {
			return sorted(all), absent + f.segments - i, nil
		}
		if err := f.fill(head, at); err != nil {
			return nil, 0, err
		}
		s := f.segment(i, head)
		switch {
		case u32(head, 0) != segmentMagic || at+segmentHead+int64(s.Slots)*slotBytes > f.src.Size():
			absent++
		case s.Slots > 0 || u32(head, 36) != 0 || s.running != 0:
			all = append(all, s)
		}
	}
	return sorted(all), absent, nil
}

func (f *File) segment(index int, head []byte) Segment {
	return Segment{
		Index: index, Thread: int(u32(head, 24)), ThreadGeneration: u32(head, 28), TID: u32(head, 32), Sealed: u32(head, 36) == 2, Order: u64(head, 40),
		Opened: anchor(head[48:]), Slots: f.slots(head), generation: u64(head, 8), at: f.offset + int64(index)*f.size,
		Checked: u32(head, 100) == 1, crc: u32(head, 96), running: running(head),
	}
}

// slots are how many of a segment are whole, by its head.
func (f *File) slots(head []byte) int {
	return int(min(u64(head, 16), uint64(f.size-segmentHead)/slotBytes))
}

// What a look at a segment found.
type found int

const (
	whole     found = iota
	retaken         // the recorder has taken the segment again meanwhile
	corrupt         // its checksum is another's
	unchecked       // a part of it should be in a checksum, and is not
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// read returns the records of a segment that can be believed, as bytes. Words of a head that were read at once need not be of one moment while the
// process writes: what seems damaged of a process that records is looked at again, with its head.
func (f *File) read(s *Segment, buf []byte) (records []byte, what found, err error) {
	for try := range sameAgain {
		if try > 0 {
			time.Sleep(meanwhile)
			head := buf[:segmentHead]
			if err := f.fill(head, s.at); err != nil {
				return nil, whole, err
			}
			if again := f.segment(s.Index, head); again.generation == s.generation && again.Slots >= s.Slots {
				*s = again
			}
		}
		if records, what, err = f.look(s, buf); err != nil || what == whole || what == retaken || f.State == Ended {
			break
		}
	}
	return records, what, err
}

// look is one try of read.
func (f *File) look(s *Segment, buf []byte) ([]byte, found, error) {
	b := buf[:segmentHead+s.Slots*slotBytes]
	if err := f.fill(b, s.at); err != nil {
		return nil, whole, err
	}
	var now [8]byte
	if err := f.fill(now[:], s.at+8); err != nil {
		return nil, whole, err
	}
	if binary.LittleEndian.Uint64(now[:]) != s.generation || u64(b, 8) != s.generation || f.slots(b) < s.Slots { // slots go away first
		return nil, retaken, nil
	}
	slots, what := f.trust(s, b)
	return b[segmentHead : segmentHead+slots*slotBytes], what, nil
}
