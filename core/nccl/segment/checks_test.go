package segment_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/nccl/segment"
	"github.com/prlx-go/prlx/core/testing/nccltest"
)

const at = int64(3_000_000_000_000)

// recorded is a recording of n collectives, whose last segment is open.
func recorded(n int) []byte { return recording(n, true) }

// recording is recorded, of a process that has ended or goes on.
func recording(n int, ended bool) []byte {
	f := nccltest.NewFile("alpha", 7)
	f.Level, f.WallNS, f.Heartbeat, f.Small, f.Ended = 1, 1_700_000_000_000_000_000, at+4_000_000_000, true, ended
	user := f.Thread()
	comm := f.Comm(0x77, "world", 2, 2, 1, at)
	f.Mask(at, 0xffff)
	for i := range n {
		op := user.Coll(at+int64(i)*1000, comm, 0, nccltest.Collective{Func: "AllReduce", Datatype: "ncclFloat32", Algorithm: "RING", Protocol: "LL", Sequence: uint64(i), Count: 8, Channels: 1})
		user.Stop(at+int64(i)*1000+500, op)
	}
	return f.Bytes()
}

// everything is all that a reader is told of a recording, as text; harmed: it was told that something is damaged.
func everything(t *testing.T, b []byte) (all string, harmed bool) {
	t.Helper()
	src, err := file.FromBytes("a.prlx-nccl", b)
	if err != nil {
		t.Fatal(err)
	}
	f, err := segment.FromSource(src)
	if err != nil {
		if !fault.Is(err, fault.Format) {
			t.Fatal(err)
		}
		return err.Error(), true
	}
	defer f.Close()
	var out strings.Builder
	fmt.Fprintln(&out, f.State, f.Clock, f.Cookie, f.Level, f.PID, f.TicksPerSecond, f.Host, f.BootID, f.Comms, f.Anchors, f.Masks)
	seen, err := f.Walk(context.Background(), func(from segment.Source, r *segment.Record) error {
		fmt.Fprintln(&out, from.Thread, *r)
		if r.Kind == segment.Start {
			e, _, err := f.Event(r)
			fmt.Fprintln(&out, e)
			return err
		}
		return nil
	})
	if err != nil {
		if !fault.Is(err, fault.Format) {
			t.Fatal(err)
		}
		return err.Error(), true
	}
	return out.String(), f.State == segment.Making || len(seen.Harm())+len(f.Harm) > 0
}

// TestWhatIsReadOfADamagedRecordingIsWhatWasRecordedOrItIsSaid flips each bit, zeroes each block and cuts at each length: whatever a reader is then
// told is what it is told of the whole file, or it is told of the damage, too.
func TestWhatIsReadOfADamagedRecordingIsWhatWasRecordedOrItIsSaid(t *testing.T) {
	b := recorded(40)
	want, harmed := everything(t, b)
	if harmed {
		t.Fatal("a whole file is called damaged")
	}
	try := func(what string, change func(b []byte) []byte) {
		if got, harmed := everything(t, change(append([]byte{}, b...))); !harmed && got != want {
			t.Errorf("%s: nothing is said, and something else is read", what)
		}
	}
	stride := 29
	if os.Getenv("PRLX_NCCL_ALL") != "" {
		stride = 1
	}
	for at := 0; at < len(b); at += stride {
		for _, bit := range []byte{1, 128} {
			try(fmt.Sprintf("byte %d of %d, bits %#x", at, len(b), bit), func(b []byte) []byte { b[at] ^= bit; return b })
		}
	}
	for _, size := range []int{64, 512, 4096} {
		for at := 0; at < len(b); at += size * stride / 10 {
			try(fmt.Sprintf("%d bytes from %d of %d", size, at, len(b)), func(b []byte) []byte { clear(b[at:min(at+size, len(b))]); return b })
		}
	}
	for n := range b {
		if n%(11*stride) == 0 {
			try(fmt.Sprintf("cut at byte %d of %d", n, len(b)), func(b []byte) []byte { return b[:n] })
		}
	}
}

// TestASegmentThatIsTakenWhileItIsReadIsNotGone: between the head of the file and those of its segments a recorder makes room.
func TestASegmentThatIsTakenWhileItIsReadIsNotGone(t *testing.T) {
	for _, counted := range []bool{true, false} {
		b := recording(40, false)
		src, err := file.FromBytes("a.prlx-nccl", b)
		if err != nil {
			t.Fatal(err)
		}
		f, err := segment.FromSource(src)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		all, err := f.Segments()
		if err != nil || len(all) < 2 {
			t.Fatalf("%d segments, %v", len(all), err)
		}
		size, from := int(binary.LittleEndian.Uint32(b[16:])), int(binary.LittleEndian.Uint64(b[32:]))
		first := b[from+all[0].Index*size:][:128]
		clear(first[16:24])   // committed
		clear(first[36:40])   // state
		clear(first[104:112]) // running checksum
		if counted {
			b[248]++ // overwritten segments
		}
		left, err := f.Segments()
		if err != nil || len(left) != len(all)-1 {
			t.Fatalf("%d of %d segments are left, %v", len(left), len(all), err)
		}
		seen, err := f.Walk(context.Background(), func(segment.Source, *segment.Record) error { return nil })
		if err != nil || seen.Gone != map[bool]int{true: 0, false: 1}[counted] {
			t.Errorf("counted as overwritten %t: %d segments are gone, %v", counted, seen.Gone, err)
		}
	}
}

// sparse is what Copy wrote.
type sparse struct{ b []byte }

func (s *sparse) WriteAt(p []byte, at int64) (int, error) {
	if end := int(at) + len(p); end > len(s.b) {
		s.b = append(s.b, make([]byte, end-len(s.b))...)
	}
	return copy(s.b[at:], p), nil
}

// TestAFileThatIsBeingMadeIsCopiedToItsLastByte, whatever its length.
func TestAFileThatIsBeingMadeIsCopiedToItsLastByte(t *testing.T) {
	whole := recorded(3)
	for _, n := range []int{4096, 1 << 16, 1<<16 + 1, 100_000, 1 << 17} {
		b := make([]byte, n)
		copy(b, whole[:min(n, len(whole))])
		binary.LittleEndian.PutUint32(b[44:], uint32(segment.Making))
		binary.LittleEndian.PutUint64(b[328:], 0) // no segment was opened
		b[n-1] = 0x5a
		src, err := file.FromBytes("a.prlx-nccl", b)
		if err != nil {
			t.Fatal(err)
		}
		f, err := segment.FromSource(src)
		if err != nil || f.State != segment.Making {
			t.Fatalf("%d bytes: %v", n, err)
		}
		out := &sparse{}
		copied, err := f.Copy(context.Background(), out)
		if err != nil || copied.Bytes != int64(n) || string(out.b) != string(b) {
			t.Errorf("%d bytes: %+v of %d, %v", n, copied, len(out.b), err)
		}
		f.Close()
	}
}
