package combine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"
)

// TestDigestIsOfWhatWasWritten overwrites every buffer as soon as it is the caller's again.
func TestDigestIsOfWhatWasWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for _, workers := range []int{1, 2, 5} {
		var out bytes.Buffer
		d := newDigester(context.Background(), &out, workers)
		taken, freed := 0, atomic.Int64{}
		for range 500 {
			p := make([]byte, r.IntN(2000))
			for i := range p {
				p[i] = byte(r.Uint32())
			}
			if r.IntN(3) == 0 {
				if n, err := d.Write(p); n != len(p) || err != nil {
					t.Fatalf("%d of %d bytes: %v", n, len(p), err)
				}
				clear(p)
				continue
			}
			taken++
			if err := d.take(p, func(b []byte) { clear(b); freed.Add(1) }); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := d.close(); err != nil {
				t.Fatal(err)
			}
		}
		want := sha256.Sum256(out.Bytes())
		if d.hex() != hex.EncodeToString(want[:]) || d.size != int64(out.Len()) {
			t.Errorf("%d workers: digest %s of %d bytes, want %x of %d", workers, d.hex(), d.size, want, out.Len())
		}
		if int(freed.Load()) != taken {
			t.Errorf("%d workers: %d buffers of %d were freed", workers, freed.Load(), taken)
		}
	}
}

type fullDisk struct{ left int }

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestDigestersEnd(t *testing.T) {
	for _, workers := range []int{1, 2} {
		d := newDigester(context.Background(), &fullDisk{left: 10}, workers)
		if err := d.take(make([]byte, 8), func([]byte) {}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Write(make([]byte, 8)); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%d workers: got %v, want the disk's error", workers, err)
		}
		if err := d.close(); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := newDigester(ctx, io.Discard, 2)
	stop := make(chan bool)
	if err := d.take([]byte("{}"), func([]byte) { <-stop }); err != nil { // the digest stands still
		t.Fatal(err)
	}
	cancel()
	var err error
	for k := 0; err == nil && k < 2+2*digestBehind; k++ {
		err = d.take([]byte("{}"), func([]byte) {})
	}
	close(stop)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
}
