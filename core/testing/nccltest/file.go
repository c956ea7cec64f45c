// Package nccltest makes recordings of NCCL's events whose truth is known, for tests: a writer of the format as docs/formats/nccl-segments.md
// describes it, and a simulator of jobs. It knows nothing of the rules that analyses apply.
package nccltest

import (
	"encoding/binary"
	"hash/crc32"
	"hash/fnv"
	"os"
	"slices"
	"testing"
)

const (
	slot         = 32
	segmentBytes = 131072
	leastSegment = 4096 // that readers accept
	header       = 4096
	threadEntry  = 320
	textBytes    = 1 << 16
)

var (
	le         = binary.LittleEndian
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// checksum is that of parts, one after the other.
func checksum(parts ...[]byte) uint32 {
	crc := uint32(0)
	for _, p := range parts {
		crc = crc32.Update(crc, castagnoli, p)
	}
	return crc
}

// File is a recording in the making. Ticks are nanoseconds of CLOCK_MONOTONIC unless Rate says otherwise.
type File struct {
	Host, BootID string
	PID          uint32
	Cookie       uint16
	Level        uint32
	Ended        bool
	WallNS       int64 // CLOCK_REALTIME less CLOCK_MONOTONIC
	Heartbeat    int64 // the last sign of life, CLOCK_MONOTONIC
	SkewNS       int64 // how far the clock of its host is ahead of the first one's: truth, and not in the recording
	LostByCode   map[int]uint64
	Lose         func() bool // whether the next record finds no room; nil: none does
	Overwritten  map[int]uint64
	Unchecked    bool // as recorders wrote that made no checksums but of full segments
	Small        bool // segments as short as they may be, and no room for more texts: a few kB in all, for fuzzing

	comms   [][]byte
	masks   [][]byte
	texts   []byte
	known   map[string]uint32
	threads []*Thread
	next    uint64
}

// NewFile begins a recording.
func NewFile(host string, pid uint32) *File {
	return &File{Host: host, BootID: "boot-of-" + host, PID: pid, Cookie: uint16(pid%65535 + 1), texts: make([]byte, 8), known: map[string]uint32{}, next: 1}
}

// Thread writes the records of one thread.
type Thread struct {
	f     *File
	slots []byte
	lost  map[int][3]int64 // by code: how many, from when, to when
}

// Thread begins another thread.
func (f *File) Thread() *Thread {
	t := &Thread{f: f}
	f.threads = append(f.threads, t)
	return t
}

// Handle makes a handle of a code.
func (f *File) Handle(code int) uint64 {
	f.next++
	return uint64(f.Cookie)<<48 | uint64(code)<<42 | f.next - 1
}

// Context is the handle of a communicator, by its number.
func (f *File) Context(comm int) uint64 { return uint64(f.Cookie)<<48 | 22<<42 | uint64(comm+1) }

// Text is the number of a text.
func (f *File) Text(s string) uint32 {
	if s == "" {
		return 0
	}
	if n, ok := f.known[s]; ok {
		return n
	}
	n := uint32(len(f.texts) / 8)
	e := make([]byte, 16, 16+len(s)+8)
	hash := fnv.New32a()
	hash.Write([]byte(s))
	le.PutUint32(e, hash.Sum32())
	le.PutUint32(e[4:], uint32(len(s)))
	le.PutUint32(e[8:], 1)
	e = append(e, s...)
	for len(e)%8 != 0 {
		e = append(e, 0)
	}
	f.texts = append(f.texts, e...)
	f.known[s] = n
	return n
}

// Comm adds a communicator and returns its number.
func (f *File) Comm(id uint64, name string, nodes, ranks, rank int, initNS int64) int {
	e := make([]byte, 64)
	le.PutUint64(e, f.Context(len(f.comms)))
	le.PutUint64(e[8:], id)
	le.PutUint32(e[16:], f.Text(name))
	le.PutUint32(e[20:], uint32(nodes))
	le.PutUint32(e[24:], uint32(ranks))
	le.PutUint32(e[28:], uint32(rank))
	le.PutUint32(e[32:], 6)
	le.PutUint32(e[36:], 1)
	le.PutUint64(e[40:], uint64(initNS))
	f.comms = append(f.comms, e)
	return len(f.comms) - 1
}

// Finalized marks a communicator as finalized.
func (f *File) Finalized(comm int, ns int64) {
	le.PutUint32(f.comms[comm][36:], 2)
	le.PutUint64(f.comms[comm][48:], uint64(ns))
}

// Mask says which codes are recorded from an instant on.
func (f *File) Mask(ns int64, codes uint32) {
	e := make([]byte, 32)
	le.PutUint64(e, uint64(len(f.masks)+1))
	le.PutUint64(e[8:], uint64(ns))
	le.PutUint32(e[16:], codes)
	le.PutUint32(e[20:], codes)
	le.PutUint32(e[24:], 1)
	f.masks = append(f.masks, e)
}

// Before makes of the recording one of another job, which ran so much earlier on the same host.
func (f *File) Before(ns int64) {
	f.WallNS -= ns
	f.PID += 5000
	for _, e := range f.comms {
		le.PutUint64(e[8:], le.Uint64(e[8:])+1_000_000)
	}
}

// Record is a record as the format has it.
type Record struct {
	NS      int64
	Handle  uint64
	Value   uint64
	Comm    int // -1: elsewhere
	Kind    uint8
	Code    uint8
	Version uint8
	Args    bool
	Extra   uint16
	Body    []byte
}

// Add writes a record, unless File.Lose loses it: then it is counted, and the next record says so.
func (t *Thread) Add(r Record) {
	if t.f.Lose != nil && r.Kind <= stateEvent && t.f.Lose() {
		code := int(r.Handle >> 42 & 63)
		if t.lost == nil {
			t.lost = map[int][3]int64{}
		}
		had := t.lost[code]
		if had[0] == 0 {
			had[1] = r.NS
		}
		t.lost[code] = [3]int64{had[0] + 1, had[1], r.NS}
		if t.f.LostByCode == nil {
			t.f.LostByCode = map[int]uint64{}
		}
		t.f.LostByCode[code]++
		return
	}
	for code := range 20 {
		if l, ok := t.lost[code]; ok {
			delete(t.lost, code)
			t.write(Record{NS: l[2], Handle: uint64(l[0]), Value: uint64(l[1]), Comm: -1, Kind: 4, Code: uint8(code)})
		}
	}
	t.write(r)
}

func (t *Thread) write(r Record) {
	body := (len(r.Body) + slot - 1) / slot
	b := make([]byte, (1+body)*slot)
	le.PutUint64(b, uint64(r.NS))
	le.PutUint64(b[8:], r.Handle)
	le.PutUint64(b[16:], r.Value)
	comm := uint16(0xffff)
	if r.Comm >= 0 {
		comm = uint16(r.Comm)
	}
	le.PutUint16(b[24:], comm)
	flags := r.Version
	if flags == 0 {
		flags = 6
	}
	if r.Args {
		flags |= 0x40
	}
	b[26], b[27], b[28], b[29] = r.Kind, uint8(1+body), r.Code, flags
	le.PutUint16(b[30:], r.Extra)
	copy(b[slot:], r.Body)
	t.slots = append(t.slots, b...)
}

// Bytes is the whole file.
func (f *File) Bytes() []byte {
	tables := [][]byte{nil, f.checked(f.comms, 64, 64, 72), nil, f.checked(f.masks, 28, 28, 32), nil, nil}
	sizes := []uint32{threadEntry, 72, 56, 32, 8, 1}
	if f.Unchecked {
		sizes[1], sizes[2] = 64, 48
	}
	tables[0] = make([]byte, threadEntry*len(f.threads))
	for code, n := range f.LostByCode {
		le.PutUint64(tables[0][64+8*code:], n)
	}
	wall := func(ns int64) []byte {
		a := make([]byte, 40)
		le.PutUint64(a, uint64(ns))
		le.PutUint64(a[8:], uint64(ns))
		le.PutUint64(a[16:], uint64(ns+f.WallNS))
		le.PutUint64(a[24:], uint64(ns))
		le.PutUint64(a[32:], 50)
		return a
	}
	first := f.first()
	var readings [][]byte
	for last, ns := max(f.Heartbeat, first), first; ; ns = min(ns+1_000_000_000, last) {
		readings = append(readings, append(le.AppendUint64(nil, uint64(len(readings)+1)), wall(ns)...))
		if ns == last {
			break
		}
	}
	anchors := len(readings)
	tables[2] = f.checked(readings, 48, 48, 56)
	tables[4] = slices.Clone(f.texts)
	if !f.Small {
		tables[4] = append(tables[4], make([]byte, max(0, textBytes-len(f.texts)))...)
	}
	h := make([]byte, header)
	copy(h, "PRLXNCCL")
	for at, v := range map[int]uint32{8: 2, 12: header, 16: uint32(f.segment()), 20: slot, 44: 1, 144: uint32(f.Cookie), 148: 3, 160: f.PID, 164: f.Level, 208: uint32(len(f.threads)), 212: uint32(len(f.comms)), 232: uint32(len(f.texts) / 8)} {
		le.PutUint32(h[at:], v)
	}
	if f.Ended {
		le.PutUint32(h[44:], 2)
		le.PutUint64(h[200:], uint64(f.Heartbeat))
	}
	le.PutUint64(h[24:], 1<<28)
	le.PutUint64(h[288:], header) // no GPUs
	le.PutUint32(h[296:], 128)
	le.PutUint64(h[152:], 1_000_000_000)
	le.PutUint64(h[184:], uint64(first+f.WallNS))
	le.PutUint64(h[192:], uint64(f.Heartbeat))
	le.PutUint64(h[216:], uint64(anchors))
	le.PutUint64(h[224:], uint64(len(f.masks)))
	copy(h[512:768], f.Host)
	copy(h[768:808], f.BootID)
	for code, n := range f.Overwritten {
		le.PutUint64(h[1024+8*code:], n)
	}
	out := h
	for i, t := range tables {
		le.PutUint64(out[48+16*i:], uint64(len(out)))
		le.PutUint32(out[56+16*i:], sizes[i])
		le.PutUint32(out[60+16*i:], uint32(len(t)/int(sizes[i])))
		out = append(out, t...)
	}
	for len(out)%4096 != 0 {
		out = append(out, 0)
	}
	segments := f.segments(wall)
	le.PutUint64(out[32:], uint64(len(out)))
	le.PutUint32(out[40:], uint32(len(segments)/f.segment()))
	if !f.Unchecked {
		le.PutUint64(out[328:], uint64(len(segments)/f.segment()))
		le.PutUint32(out[336:], checksum(out[:40], out[48:192], out[280:284], out[288:308], out[512:1024]))
		le.PutUint32(out[340:], 1)
	}
	return append(out, segments...)
}

// checked gives entries of a table the checksum of their first bytes, at a place, and their length.
func (f *File) checked(entries [][]byte, of, at, length int) (out []byte) {
	for _, e := range entries {
		if f.Unchecked {
			out = append(out, e...)
			continue
		}
		full := append(slices.Clone(e), make([]byte, length-len(e))...)
		le.PutUint32(full[at:], checksum(full[:of]))
		if length > at+4 {
			le.PutUint32(full[at+4:], 1)
		}
		out = append(out, full...)
	}
	return out
}

func (f *File) first() int64 {
	first := f.Heartbeat
	for _, t := range f.threads {
		if len(t.slots) > 0 {
			first = min(first, int64(le.Uint64(t.slots)))
		}
	}
	return first
}

// segment is the size of one.
func (f *File) segment() int {
	if f.Small {
		return leastSegment
	}
	return segmentBytes
}

// segments are those of all threads, in the order of their first records.
func (f *File) segments(wall func(int64) []byte) []byte {
	type piece struct {
		thread int
		slots  []byte
		full   bool
	}
	var all []piece
	room := f.segment() - 128
	for i, t := range f.threads {
		for b := t.slots; len(b) > 0; {
			n := 0
			for n < len(b) && n+int(b[n+27])*slot <= room {
				n += int(b[n+27]) * slot
			}
			all = append(all, piece{i, b[:n], n < len(b)})
			b = b[n:]
		}
	}
	slices.SortStableFunc(all, func(a, b piece) int { return int(int64(le.Uint64(a.slots)) - int64(le.Uint64(b.slots))) })
	out := make([]byte, len(all)*f.segment())
	for i, p := range all {
		s := out[i*f.segment():]
		state := uint32(1)
		if p.full {
			state = 2
		}
		for at, v := range map[int]uint32{0: 0x314c5850, 4: uint32(i), 24: uint32(p.thread), 28: 1, 32: f.PID + uint32(p.thread), 36: state} {
			le.PutUint32(s[at:], v)
		}
		le.PutUint64(s[8:], 1)
		le.PutUint64(s[16:], uint64(len(p.slots)/slot))
		le.PutUint64(s[40:], uint64(i))
		copy(s[48:], wall(int64(le.Uint64(p.slots))))
		copy(s[128:], p.slots)
		if p.full {
			le.PutUint32(s[96:], checksum(s[:96], p.slots))
			le.PutUint32(s[100:], 1)
		}
		if !f.Unchecked {
			le.PutUint64(s[104:], uint64(len(p.slots)/slot)<<32|uint64(checksum(s[:16], s[24:36], s[40:88], p.slots)))
		}
	}
	return out
}

// Write writes the file.
func (f *File) Write(t testing.TB, path string) {
	t.Helper()
	if err := os.WriteFile(path, f.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
