package segment

import (
	"encoding/binary"
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/nccltest"
)

// TestWordsOfAHeadNeedNotBeOfOneMoment: the process writes while the head of a segment is read, and is at any word when the slots are.
func TestWordsOfAHeadNeedNotBeOfOneMoment(t *testing.T) {
	const ns = int64(3_000_000_000_000)
	made := nccltest.NewFile("alpha", 7)
	made.Level, made.WallNS, made.Heartbeat, made.Small = 1, 1_700_000_000_000_000_000, ns+4_000_000_000, true
	thread, comm := made.Thread(), made.Comm(0x77, "world", 2, 2, 1, ns)
	for i := range 400 {
		op := thread.Coll(ns+int64(i)*1000, comm, 0, nccltest.Collective{Func: "AllReduce", Datatype: "ncclFloat32", Sequence: uint64(i), Count: 8})
		thread.Stop(ns+int64(i)*1000+500, op)
	}
	bytes := made.Bytes()
	for name, one := range map[string]struct {
		sealed bool
		torn   func(s *Segment)           // what of the head was read at another moment
		now    func(head []byte)          // what the process has written by the time that slots are read
		want   func(Segment) (int, found) // slots and what is said
	}{
		"the checksum was read before it was made":      {true, func(s *Segment) { s.crc = 0 }, nil, func(s Segment) (int, found) { return s.Slots, whole }},
		"slots were read before their checksum":         {false, func(s *Segment) { s.Slots-- }, nil, func(s Segment) (int, found) { return s.Slots, whole }},
		"the process takes the segment again":           {true, nil, func(head []byte) { clear(head[16:24]) }, func(Segment) (int, found) { return 0, retaken }},
		"the process takes it and removes its checksum": {true, nil, func(head []byte) { clear(head[16:24]); clear(head[100:104]) }, func(Segment) (int, found) { return 0, retaken }},
		"a record is another's":                         {true, nil, func(head []byte) { head[segmentHead+9] ^= 4 }, func(Segment) (int, found) { return 0, corrupt }},
	} {
		data := append([]byte{}, bytes...)
		src, err := file.FromBytes(filepath.Join("alpha", "a.prlx-nccl"), data)
		if err != nil {
			t.Fatal(err)
		}
		f, err := FromSource(src)
		if err != nil {
			t.Fatal(err)
		}
		all, err := f.Segments()
		if err != nil {
			t.Fatal(err)
		}
		tried := false
		for _, s := range all {
			if s.Checked != one.sealed || s.Slots < 2 || tried {
				continue
			}
			tried = true
			head := data[s.at:]
			if !s.Checked && int(binary.LittleEndian.Uint32(head[atRunning+4:])) != s.Slots {
				t.Fatalf("%s: the running checksum is of other slots", name)
			}
			wantSlots, want := one.want(s)
			if one.torn != nil {
				one.torn(&s)
			}
			if one.now != nil {
				one.now(head)
			}
			b, what, err := f.read(&s, make([]byte, f.size))
			if err != nil || what != want || len(b) != wantSlots*slotBytes {
				t.Errorf("%s: %d slots, %d, %v; want %d, %d", name, len(b)/slotBytes, what, err, wantSlots, want)
			}
		}
		if !tried {
			t.Errorf("%s: no such segment", name)
		}
	}
}
