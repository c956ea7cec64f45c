package cycle

import (
	"fmt"
	"math"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/cycle/structure"
	"github.com/prlx-go/prlx/core/testing/cycletest"
	"github.com/prlx-go/prlx/core/testing/sweep"
)

// check holds what must be true of every document, whatever the trace.
func check(t *testing.T, tr *kernels.Trace, d *cycledoc.Document) {
	t.Helper()
	bad := func(format string, args ...any) { t.Errorf(format+"\n%s", append(args, describeDoc(d))...) }
	share := func(what string, v float64) {
		if !(v >= 0 && v <= 1+1e-9) {
			bad("%s is %v", what, v)
		}
	}
	share("coverage", d.Coverage)
	share("confidence", d.Confidence)
	if (d.Status == cycledoc.StatusCycles) != (len(d.Levels) > 0) || (d.Selected != "") != (len(d.Levels) > 0) || len(d.Levels) > 4 {
		bad("status %s, selected %q, %d levels", d.Status, d.Selected, len(d.Levels))
	}
	ids, names := map[string]bool{}, map[string]bool{}
	for _, l := range d.Levels {
		for _, c := range l.Classes {
			if ids[c.ID] || names[c.Name] {
				bad("%s %q occurs twice", c.ID, c.Name)
			}
			ids[c.ID], names[c.Name] = true, true
		}
	}
	for li, l := range d.Levels {
		if l.Level != li+1 || len(l.Classes) == 0 {
			bad("level %d is called %d and has %d classes", li+1, l.Level, len(l.Classes))
		}
		share("coverage of "+l.Name, l.Coverage)
		for i := range l.Classes {
			checkClass(t, tr, &l.Classes[i], ids)
		}
	}
	for i, s := range d.Steps {
		if s.EndNS < s.StartNS || s.WallNS != s.BusyNS+s.GapNS || s.BusyNS > s.EndNS-s.StartNS {
			bad("step %d: %+v", i, s)
		}
		if i > 0 && d.Steps[i-1].Device == s.Device && d.Steps[i-1].Rank == s.Rank && s.StartNS < d.Steps[i-1].StartNS {
			bad("step %d starts before the one before it", i)
		}
		if s.Class != "" && !ids[s.Class] {
			bad("step %d is of class %s, which is not there", i, s.Class)
		}
	}
}

func checkClass(t *testing.T, tr *kernels.Trace, c *cycledoc.Class, ids map[string]bool) {
	t.Helper()
	if c.Period != len(c.Kernels) || int64(len(c.Borders))+c.BordersOmitted != c.Count || c.Edited > c.Count || (c.Edits > 0) != (c.Edited > 0) {
		t.Errorf("%s: %d kernels of a period of %d, %d borders and %d omitted of %d, %d edits in %d", c.Name, len(c.Kernels), c.Period, len(c.Borders), c.BordersOmitted, c.Count, c.Edits, c.Edited)
	}
	for _, times := range []cycledoc.Times{c.WallNS, c.BusyNS, c.KernelNS} {
		if times.Count != c.Count || times.Min > times.P50 || times.P50 > times.P99 || times.P99 > times.Max || times.StdDev < 0 || math.IsNaN(times.CV) {
			t.Errorf("%s: %+v", c.Name, times)
		}
	}
	if !near(c.WallNS.Mean, c.BusyNS.Mean+c.GapNS.Mean) || c.GapNS.Min < 0 || c.BusyNS.Mean > c.KernelNS.Mean+1e-6 {
		t.Errorf("%s: wall %v, busy %v, gap %v, kernels %v", c.Name, c.WallNS.Mean, c.BusyNS.Mean, c.GapNS.Mean, c.KernelNS.Mean)
	}
	sum := 0.0
	for _, s := range c.Kernels {
		sum += s.Share
		if s.Count > c.Count || s.Count > 0 && (s.MinNS > s.P50NS || s.P99NS > s.MaxNS || s.Name == "") {
			t.Errorf("%s slot %+v", c.Name, s)
		}
	}
	if c.KernelNS.Mean > 0 && !near(sum, 1) {
		t.Errorf("%s: shares make %v", c.Name, sum)
	}
	for i, b := range c.Borders {
		if b.First < 0 || b.End <= b.First || b.End > int64(tr.Kernels()) || b.EndNS < b.StartNS || b.WallNS < b.BusyNS {
			t.Errorf("%s border %d: %+v", c.Name, i, b)
		}
		if i > 0 && c.Borders[i-1].Device == b.Device && c.Borders[i-1].Rank == b.Rank && len(c.Ranks) == 1 && c.Borders[i-1].End > b.First {
			t.Errorf("%s border %d overlaps the one before it", c.Name, i)
		}
	}
	for _, ch := range c.Children {
		if !ids[ch.ID] || ch.Count < 1 {
			t.Errorf("%s has the child %+v", c.Name, ch)
		}
	}
	for _, p := range c.Parents {
		if !ids[p] {
			t.Errorf("%s has the parent %s", c.Name, p)
		}
	}
}

func TestEveryDocumentHolds(t *testing.T) {
	for _, family := range cycletest.Families() {
		for seed := range uint64(seeds(t, sweep.Of(1, 3))) {
			c := cycletest.Make(family, seed, cycletest.Options{Kernels: 3000, Noise: 0.1, Jitter: 0.3})
			for _, opt := range []Options{{}, {Keys: structure.KeysLoose}, {Streams: structure.StreamsMerged}, {EditPercent: -1}, {MaxLevels: 1}, {Compat: &cycledoc.CompatSettings{}}} {
				tr := traceOf(c, c)
				r := mustFind(t, tr, opt)
				d := r.Document()
				check(t, tr, d)
				if t.Failed() {
					t.Fatalf("%s, seed %d, %+v", family, seed, opt)
				}
			}
		}
	}
}

// FuzzFind reads bytes as kernels: 4 bits of name, 1 of stream, 3 of pause; and the first byte as what marks there are.
func FuzzFind(f *testing.F) {
	f.Add([]byte("\x00abcabcabcabcabcabcabcabcabcabcabc"))
	f.Add([]byte("\x09abcdefghijabcdefghijabcdefghijabcdefghij"))
	f.Add([]byte("\x03aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"))
	f.Add([]byte("\x05qwertyuiopasdfghjkqwertyuiopXsdfghjkqwertyuiopasdfghjkqwerty"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 2 || len(b) > 4096 {
			return
		}
		c := &cycletest.Case{}
		for i := range 16 {
			c.Names = append(c.Names, fmt.Sprintf("kernel_%c<%d>", 'a'+i/2, i))
		}
		now := int64(0)
		for _, x := range b[1:] {
			now += 100 + 1000*int64(x>>5&7)
			dur := int64(x)*7 + 50
			c.Symbols, c.StartNS, c.DurNS, c.Stream = append(c.Symbols, uint32(x&15)), append(c.StartNS, now), append(c.DurNS, dur), append(c.Stream, uint16(x>>4&1))
			if x&0x40 == 0 {
				now += dur // else kernels overlap
			}
		}
		tr := traceOf(c)
		if len(tr.Sequences[0].Streams) == 2 {
			tr.Sequences[0].Streams[1].Communication = b[0]&1 == 1
		}
		s := &tr.Sequences[0]
		if every := int(b[0]>>2) + 2; b[0]&2 == 2 {
			for i := 0; i+every <= s.Len(); i += every {
				tr.Marks = append(tr.Marks, kernels.Mark{Kind: kernels.ProfilerStep, Text: "ProfilerStep", Place: kernels.Launched, StartNS: s.StartNS[i], EndNS: s.EndNS(i + every - 1), Kernels: every, Step: int64(i)})
			}
		}
		for _, opt := range []Options{{}, {Compat: &cycledoc.CompatSettings{}}, {Streams: structure.StreamsMerged, Keys: structure.KeysLoose}} {
			r := mustFind(t, tr, opt)
			check(t, tr, r.Document())
			if d := mustCompare(t, r, r); d.Conclusion.Bad() {
				t.Errorf("compared with itself: %s: %s", d.Status, d.Verdict)
			}
		}
	})
}
