package segment

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// readAll reads everything that a recording has.
func readAll(b []byte) (records int, err error) {
	src, err := file.FromBytes("fuzz.prlx-nccl", b)
	if err != nil {
		return 0, err
	}
	f, err := FromSource(src)
	if err != nil {
		src.Close()
		return 0, err
	}
	defer f.Close()
	_, err = f.Walk(context.Background(), func(_ Source, r *Record) error {
		records++
		if r.Kind == Start {
			_, _, err := f.Event(r)
			return err
		}
		return nil
	})
	return records, err
}

// small is a recording with a table entry of each kind and a segment of so many slots, which a test fills.
func small(slots int) []byte {
	b := make([]byte, 8192+4096*2)
	copy(b, Magic)
	put := binary.LittleEndian
	for at, v := range map[int]uint32{8: 2, 12: 4096, 16: 4096, 20: 32, 40: 1, 44: 1, 144: 0xabcd, 148: 1, 208: 1, 212: 1, 216: 1, 224: 1, 232: 8, 236: 4, 280: 22807, 304: 1} {
		put.PutUint32(b[at:], v)
	}
	put.PutUint64(b[32:], 12288)
	at := 4096
	for i, size := range []int{320, 64, 48, 32, 8, 1, 128} {
		entries := map[int]int{4: 64, 5: 16}[i]
		entries = max(entries, 1)
		section := 48 + 16*i
		if i == 6 {
			section = 288
		}
		put.PutUint64(b[section:], uint64(at))
		put.PutUint32(b[section+8:], uint32(size))
		put.PutUint32(b[section+12:], uint32(entries))
		at += size * entries
	}
	copy(b[put.Uint64(b[288:])+8:], "0000:17:00.0")
	texts := int(put.Uint64(b[112:]))
	put.PutUint32(b[texts+8:], 0x98323ab2)
	put.PutUint32(b[texts+8+4:], 9)
	put.PutUint32(b[texts+8+8:], 1)
	copy(b[texts+8+16:], "AllReduce")
	put.PutUint64(b[put.Uint64(b[80:]):], 1)
	put.PutUint64(b[put.Uint64(b[96:]):], 1)
	put.PutUint32(b[put.Uint64(b[64:])+16:], 1)
	s := b[12288:]
	put.PutUint32(s, segmentMagic)
	put.PutUint64(s[8:], 1)
	put.PutUint64(s[16:], uint64(slots))
	return b
}

// start puts the head of a start record into a slot.
func start(b []byte, slot int, slots, code, flags byte) []byte {
	r := b[12288+segmentHead+slot*slotBytes:]
	r[26], r[27], r[28], r[29] = byte(Start), slots, code, flags
	return r
}

func TestAWellFormedRecordingIsRead(t *testing.T) {
	b := small(7)
	start(b, 0, 1, 4, 5)
	binary.LittleEndian.PutUint32(start(b, 1, 5, 1, 5)[slotBytes+68:], 1)
	start(b, 6, 1, 0, 5)
	src, err := file.FromBytes("small", b)
	if err != nil {
		t.Fatal(err)
	}
	f, err := FromSource(src)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var names []string
	seen, err := f.Walk(context.Background(), func(_ Source, r *Record) error {
		e, ok, err := f.Event(r)
		if !ok {
			t.Errorf("no event is a record of code %d", r.Code)
		}
		names = append(names, e.Func.Text)
		return err
	})
	if err != nil || seen.Records != 3 || seen.Damaged != 0 || names[1] != "AllReduce" {
		t.Errorf("got %v, %+v, %v", names, seen, err)
	}
	if gpu, ok := f.GPU(); !ok || gpu.Bus != "0000:17:00.0" || f.NCCLVersion != 22807 {
		t.Errorf("GPU %+v, NCCL %d", f.GPUs, f.NCCLVersion)
	}
	if len(f.Anchors) != 1 || len(f.Masks) != 1 || len(f.Comms) != 1 || f.Comms[0].Name != "AllReduce" || len(f.Threads) != 1 {
		t.Errorf("tables: %+v", f)
	}
}

// TestLengthsAreNotBelieved: what cannot be is refused with its place, or ends a segment and is counted.
func TestLengthsAreNotBelieved(t *testing.T) {
	for name, change := range map[string]func(b []byte){
		"another file":               func(b []byte) { b[0] = 'X' },
		"another version":            func(b []byte) { b[8] = 9 },
		"segments of no size":        func(b []byte) { b[16], b[17] = 0, 0 },
		"a table beyond the end":     func(b []byte) { b[54] = 1 },
		"a table of 2^32 entries":    func(b []byte) { copy(b[60:], "\xff\xff\xff\xff") },
		"a table of 2^64 bytes":      func(b []byte) { copy(b[56:], "\xff\xff\xff\xff\xff\xff\xff\xff") },
		"entries that are too short": func(b []byte) { b[56] = 1; b[57] = 0 },
		"a text beyond its table":    func(b []byte) { b[binary.LittleEndian.Uint64(b[64:])+17] = 200 },
		"a text that is too long":    func(b []byte) { b[binary.LittleEndian.Uint64(b[112:])+8+6] = 1 },
	} {
		b := small(1)
		change(b)
		if _, err := readAll(b); !fault.Is(err, fault.Format) {
			t.Errorf("%s: got %v, want a Format error", name, err)
		}
	}
	for name, change := range map[string]func(b []byte){
		"no slots":          func(b []byte) { start(b, 0, 0, 4, 5) },
		"too many slots":    func(b []byte) { start(b, 0, 9, 4, 5) },
		"no such kind":      func(b []byte) { start(b, 0, 1, 4, 5)[26] = 99 },
		"no such version":   func(b []byte) { start(b, 0, 1, 4, 15) },
		"no room to extend": func(b []byte) { start(b, 0, 1, 4, 5|flagExtended) },
	} {
		b := small(1)
		change(b)
		src, _ := file.FromBytes("small", b)
		f, err := FromSource(src)
		if err != nil {
			t.Fatal(name, err)
		}
		seen, err := f.Walk(context.Background(), func(Source, *Record) error { return nil })
		if err != nil || seen.Damaged != 1 || seen.DamagedSlots != 1 || seen.Records != 0 {
			t.Errorf("%s: %+v, %v", name, seen, err)
		}
		f.Close()
	}
}

// seal makes a segment full and gives it its checksum.
func seal(b []byte, slots int) {
	s := b[12288:]
	s[36] = 2
	crc := crc32.Update(crc32.Checksum(s[:96], castagnoli), castagnoli, s[segmentHead:segmentHead+slots*slotBytes])
	binary.LittleEndian.PutUint32(s[96:], crc)
	s[100] = 1
}

// TestAChecksumTellsWhatWasChanged flips each bit of a full segment in turn: none goes unseen.
func TestAChecksumTellsWhatWasChanged(t *testing.T) {
	b := small(2)
	start(b, 0, 1, 4, 5)
	start(b, 1, 1, 4, 5)
	seal(b, 2)
	walk := func() Seen {
		src, _ := file.FromBytes("small", b)
		f, err := FromSource(src)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		seen, err := f.Walk(context.Background(), func(Source, *Record) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	if seen := walk(); seen.Checked != 1 || seen.Corrupt != 0 || seen.Records != 2 {
		t.Fatalf("unchanged: %+v", seen)
	}
	for bit := range (segmentHead + 2*slotBytes) * 8 {
		if at := bit / 8; at < 4 || at >= 16 && at < 24 || at >= 100 && at < segmentHead {
			continue // no segment at all, another number of slots, no checksum: told apart in other ways
		}
		b[12288+bit/8] ^= 1 << (bit % 8)
		if seen := walk(); seen.Corrupt != 1 || seen.CorruptSlots != 2 || seen.Records != 0 {
			t.Errorf("byte %d of the segment was changed: %+v", bit/8, seen)
		}
		b[12288+bit/8] ^= 1 << (bit % 8)
	}
}

func FuzzRead(f *testing.F) {
	b := small(7)
	start(b, 0, 1, 4, 5)
	start(b, 1, 5, 1, 7)
	start(b, 6, 1, 99, 2)
	f.Add(b)
	sealed := small(7)
	copy(sealed[12288:], b[12288:])
	seal(sealed, 7)
	f.Add(sealed)
	for _, code := range []byte{2, 3, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19} {
		b := small(6)
		start(b, 0, 6, code, 6|flagExtended)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := readAll(b); err != nil {
			if k := fault.Of(err).Kind; k == fault.Internal {
				t.Fatalf("%v", err)
			}
		}
	})
}

func TestWhatIsNotARecordingIsNotCalledShort(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": [1,`: "not a recording",
		"hi":        "not a recording",
		Magic + "x": "begins with 4096 bytes of header",
		Magic[:3]:   "begins with 4096 bytes of header",
	} {
		src, err := file.FromBytes("some", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := FromSource(src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
