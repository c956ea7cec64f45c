package device

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

// pipe reads what somebody sent, and keeps what is answered.
type pipe struct {
	io.Reader
	answered bytes.Buffer
}

func (p *pipe) Write(b []byte) (int, error) { return p.answered.Write(b) }

func request(op, text string) []byte {
	b := binary.LittleEndian.AppendUint32([]byte("PRV1"), uint32(len(op)))
	return append(append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), op...), text...)
}

// FuzzServe sends anything: nothing panics, every request that is whole is asked once and answered, and memory stays in proportion.
func FuzzServe(f *testing.F) {
	f.Add(request("simulate_load", `{"ptx": ""}`))
	f.Add(append(request("a", ""), request("b", "{}")...))
	f.Add([]byte("PRV1\x01\x00\x00\x00\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		p, asked := &pipe{Reader: bytes.NewReader(sent)}, 0
		err := Serve(t.Context(), p, func(_ context.Context, op string, request []byte) []byte {
			if asked++; op == "" || len(op) > mostName || len(op)+len(request)+frameHead > len(sent) {
				t.Fatalf("asked %q with %d bytes out of %d", op, len(request), len(sent))
			}
			return []byte{0, '{', '}'}
		})
		if err != nil && !fault.Is(err, fault.Format) && !fault.Is(err, fault.IO) {
			t.Fatal(err)
		}
		if want := asked * 7; p.answered.Len() != want {
			t.Fatalf("%d requests, %d bytes of answers", asked, p.answered.Len())
		}
	})
}

func TestAWindowShowsWhatBothShare(t *testing.T) {
	shared := make([]byte, 100)
	see := Window(1000, shared)
	for _, c := range []struct {
		address uint64
		n, want int
	}{{1000, 100, 100}, {1000, 101, 0}, {1099, 1, 1}, {1099, 2, 0}, {1100, 0, 0}, {999, 1, 0}, {1101, 0, 0}, {1 << 63, 1, 0}, {1000, -1, 0}} {
		if got := see(c.address, c.n); len(got) != c.want {
			t.Errorf("%+v: %d bytes", c, len(got))
		}
	}
	see(1010, 1)[0] = 5
	if shared[10] != 5 {
		t.Error("what is seen is a copy")
	}
}
