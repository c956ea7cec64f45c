package warptracetest

import (
	"bytes"
	"context"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// V2Bytes is the recording as a file of format v2.
func (r *Recording) V2Bytes() ([]byte, error) {
	var b bytes.Buffer
	w, err := warptrace.CreateV2(&b, r.Header, r.Sites, warptrace.V2Options{})
	if err != nil {
		return nil, err
	}
	for i := range r.Warps {
		if err := w.Append(&r.Warps[i]); err != nil {
			return nil, err
		}
	}
	if r.Outputs != nil {
		if err := w.SetOutputs(r.Outputs); err != nil {
			return nil, err
		}
		for i := range r.Contents {
			if err := w.AddContents(&r.Contents[i]); err != nil {
				return nil, err
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// OpenV2 opens the recording as a file of format v2, in memory.
func (r *Recording) OpenV2(t testing.TB, name string) *warptrace.Trace {
	t.Helper()
	b, err := r.V2Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return Open(t, name, b)
}

// OpenV1 opens the recording as a file of format v1, in memory, with its sites.
func (r *Recording) OpenV1(t testing.TB, name string, f V1File) *warptrace.Trace {
	t.Helper()
	trace := Open(t, name, f.Bytes(r))
	trace.SetSites(r.Sites)
	return trace
}

// Open opens the bytes of a recording until the end of the test.
func Open(t testing.TB, name string, b []byte) *warptrace.Trace {
	t.Helper()
	src, err := file.FromBytes(name, b)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := warptrace.Open(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		trace.Close()
		src.Close()
	})
	return trace
}
