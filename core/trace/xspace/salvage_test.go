package xspace

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/testing/xspacetest"
	"github.com/prlx-go/prlx/core/trace/source"
)

// linesOf lists the events of every line, without their names, by plane and line.
func linesOf(t *testing.T, src *file.Source, s *Space) map[[2]int][]string {
	t.Helper()
	out := map[[2]int][]string{}
	err := Events(context.Background(), src, s, nil, func(p *Plane, l *Line, e *Event) error {
		key := [2]int{p.Index, l.Index}
		out[key] = append(out[key], fmt.Sprint(e.MetadataID, e.OffsetPS, e.DurationPS, e.Num))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWhatIsCompleteInACutFileIsSalvaged: a file cut anywhere is whole, or it is refused as before, or what is salvaged of it begins like
// the whole: every plane and line in its place, with the first of its events.
func TestWhatIsCompleteInACutFileIsSalvaged(t *testing.T) {
	var small bytes.Buffer
	if err := xspacetest.New(xspacetest.Config{Nodes: 1, GPUs: 2, EventsPerGPU: 40, SnapshotNS: 1e6, Seed: 3}).Write(0, &small); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"generated": small.Bytes()}
	for _, name := range []string{"jax_skew/p2/node0.xplane.pb", "xplane/AMD-AGI+TraceLens__jax_conv_minimal_08__tw003.xplane.pb"} {
		b, err := os.ReadFile(filetest.Data(t, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = b
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for name, b := range files {
		whole := opened(t, b)
		all := linesOf(t, whole, scan(t, whole))
		if said, _, err := salvageSpace(t.Context(), whole); said != nil || err != nil {
			t.Errorf("%s: whole, and yet %+v, %v", name, said, err)
		}
		var cuts []int
		if len(b) < 10_000 {
			for at := range b {
				cuts = append(cuts, at)
			}
		} else {
			for range 150 {
				cuts = append(cuts, rng.IntN(len(b)))
			}
		}
		salvaged, events := 0, 0
		for _, at := range cuts {
			src := opened(t, b[:at])
			out, said, err := source.Salvage(t.Context(), src, false, salvageSpace)
			if err != nil {
				t.Fatalf("%s cut at %d: %v", name, at, err)
			}
			s, err := Scan(t.Context(), out, ScanOptions{})
			if said == nil {
				continue // between two planes, or in front of all
			}
			if err != nil {
				t.Fatalf("%s cut at %d: salvaged, and then %v", name, at, err)
			}
			if salvaged++; said.KeptBytes+said.LeftOutBytes != int64(at) || said.KeptBytes != out.Size() || said.MissingBytes < 0 || said.MissingBytes > int64(len(b)-at) {
				t.Fatalf("%s cut at %d: %+v", name, at, said)
			}
			found := linesOf(t, out, s)
			for key, got := range found {
				if want := all[key]; len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
					t.Fatalf("%s cut at %d: plane %d, line %d has %d events that are not the first of %d", name, at, key[0], key[1], len(got), len(want))
				}
				events += len(got)
			}
			short := 0 // lines in front of the last one that is there have all their events
			for key, want := range all {
				if got, ok := found[key]; ok && len(got) < len(want) {
					short++
				}
			}
			if short > 1 {
				t.Errorf("%s cut at %d: %d lines lost events", name, at, short)
			}
		}
		if salvaged < len(cuts)*3/4 || events == 0 {
			t.Errorf("%s: %d of %d cuts were salvaged, with %d events", name, salvaged, len(cuts), events)
		}
	}
}

// TestWhatIsDamagedAndNotCutIsNotSalvaged: the scan says what is wrong with it.
func TestWhatIsDamagedAndNotCutIsNotSalvaged(t *testing.T) {
	good := msg(1, appendBytes(nil, 2, "/host:CPU"))
	for name, b := range map[string][]byte{
		"nothing":                   {},
		"cut in its first field":    {0x0a, 0x7f},
		"a group":                   append(bytes.Clone(good), bytes.Repeat([]byte{0x13}, 100)...),
		"a plane of 2^60 bytes":     append(bytes.Clone(good), 0x0a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10, 0x08, 0x01),
		"a line beyond its plane":   append(bytes.Clone(good), msg(1, []byte{0x1a, 0x7f}, bytes.Repeat([]byte{8, 1}, 30))...),
		"whole":                     good,
		"names of a text, no plane": []byte("{\"traceEvents\": [{\"ph\": \"X\""),
	} {
		if said, _, err := salvageSpace(t.Context(), opened(t, b)); said != nil || err != nil {
			t.Errorf("%s: %+v, %v", name, said, err)
		}
	}
}

func TestACutFileSaysHowToReadWhatIsComplete(t *testing.T) {
	good := msg(1, appendBytes(nil, 2, "/host:CPU"))
	for name, c := range map[string]struct {
		bytes []byte
		hint  bool
	}{
		"cut":                     {append(bytes.Clone(good), good[:len(good)-3]...), true},
		"a line beyond its plane": {append(msg(1, []byte{0x1a, 0x7f}, bytes.Repeat([]byte{8, 1}, 30)), good...), false},
	} {
		_, err := Scan(t.Context(), opened(t, c.bytes), ScanOptions{})
		if err == nil || strings.Contains(fault.Of(err).Hint, "--salvage") != c.hint {
			t.Errorf("%s: %v, hint %q", name, err, fault.Of(err).Hint)
		}
	}
}
