package combine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

func rangeOf(from, to int64) []*int64 { return []*int64{&from, &to} }

// TestARangeFromTheStartKeepsWhatIsThere: 300ms:600ms, as the command line sends it, against the recording's own events.
func TestARangeFromTheStartKeepsWhatIsThere(t *testing.T) {
	inputs, probes, _ := jax(t, "p2")
	out := filepath.Join(t.TempDir(), "run")
	all := combined(t, 2, Request{Inputs: inputs, Probes: probes, Output: filepath.Join(t.TempDir(), "all")})
	doc := combined(t, 2, Request{Inputs: inputs, Probes: probes, Output: out, TimeRange: rangeOf(300e6, 600e6)})
	for k, n := range doc.Nodes {
		kept := n.Events - n.EventsDropped
		if whole := all.Nodes[k].Events; kept < whole/20 || kept > whole/2 {
			t.Errorf("node %d: %d of %d events kept", k, kept, whole)
		}
	}
}

// TestACutCountsTheCollectivesThatItKeeps: the document counts what validate finds in the files that were written.
func TestACutCountsTheCollectivesThatItKeeps(t *testing.T) {
	inputs, probes, _ := jax(t, "p4")
	for name, r := range map[string]Request{
		"run":       {Output: filepath.Join(t.TempDir(), "run")},
		"json":      {Output: filepath.Join(t.TempDir(), "all.json"), Format: FormatChrome},
		"unaligned": {Output: filepath.Join(t.TempDir(), "raw"), Method: MethodWall},
	} {
		r.Inputs, r.Probes, r.TimeRange = inputs, probes, rangeOf(300e6, 600e6)
		got := combined(t, 2, r).Collectives
		if got.Groups < 20 || got.Groups > 200 || got.After.Violated+got.After.Consistent+got.After.Undecidable != got.Groups {
			t.Errorf("%s: %+v of 240 groups", name, got)
		}
		if before := got.Before; before.Violated+before.Consistent+before.Undecidable != got.Groups {
			t.Errorf("%s: before counts other groups: %+v", name, got)
		}
	}
}

// TestNothingKeptIsAnErrorAndWritesNothing: a range beyond the recording, and traces without an event.
func TestNothingKeptIsAnErrorAndWritesNothing(t *testing.T) {
	inputs, probes, _ := jax(t, "p2")
	chrome := `{"baseTimeNanoseconds": 1700000000000000000, "traceEvents": [%]}`
	named := `{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"p"}}`
	timed := named + `,{"ph":"X","pid":1,"tid":1,"ts":5.5,"dur":1.25,"name":"a"}`
	dir := t.TempDir()
	json := func(name, events string) []Input {
		return []Input{{Path: put(t, dir, name, []byte(strings.Replace(chrome, "%", events, 1)))}}
	}
	for name, c := range map[string]struct {
		r    Request
		kind fault.Kind
		said string
	}{
		"run":        {Request{Inputs: inputs, Probes: probes, TimeRange: rangeOf(100e9, 200e9)}, fault.Usage, "keeps none of the 8960 events"},
		"xspace":     {Request{Inputs: inputs, Probes: probes, TimeRange: rangeOf(100e9, 200e9), Format: FormatXPlane}, fault.Usage, "keeps none"},
		"crossed":    {Request{Inputs: inputs, Probes: probes, TimeRange: rangeOf(100e9, 200e9), Format: FormatChrome}, fault.Usage, "keeps none"},
		"json":       {Request{Inputs: json("node0.json", timed), TimeRange: rangeOf(1e9, 2e9), Format: FormatChrome}, fault.Usage, "keeps none"},
		"only names": {Request{Inputs: json("node1.json", named), Format: FormatChrome}, fault.Format, "holds no event"},
		"empty list": {Request{Inputs: json("node2.json", ""), Format: FormatChrome}, fault.Format, "holds no event"},
	} {
		c.r.Output = filepath.Join(dir, "out_"+strings.ReplaceAll(name, " ", "_"))
		_, _, err := Run(job.New(context.Background(), job.Options{Workers: 2}), c.r)
		if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.said) {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := filepath.Glob(c.r.Output + "*"); len(left) > 0 {
			t.Errorf("%s: %v was written", name, left)
		}
	}
	if e, err := os.ReadDir(dir); err != nil || len(e) != 3 {
		t.Errorf("%d files in the directory of the inputs, want 3", len(e))
	}
}

// TestAnOpenEndIsTheEndOfTheRecording: ":600ms" and "600ms:", into each format.
func TestAnOpenEndIsTheEndOfTheRecording(t *testing.T) {
	inputs, probes, _ := jax(t, "p2")
	for _, format := range []Format{FormatRun, FormatXPlane, FormatChrome} {
		var dropped [4]int64
		for i, r := range [][]*int64{rangeOf(-1e9, 600e6), {nil, rangeOf(0, 600e6)[1]}, rangeOf(600e6, 100e9), {rangeOf(600e6, 0)[0], nil}} {
			out := filepath.Join(t.TempDir(), "out")
			dropped[i] = combined(t, 2, Request{Inputs: inputs, Probes: probes, Output: out, Format: format, TimeRange: r}).Nodes[1].EventsDropped
		}
		if dropped[0] == 0 || dropped[0] != dropped[1] || dropped[2] == 0 || dropped[2] != dropped[3] {
			t.Errorf("%s: dropped %d, with an open end %d; %d, with an open end %d", format, dropped[0], dropped[1], dropped[2], dropped[3])
		}
	}
}

// TestANodeWithoutAnEventIsSaid: the result is that of the other one.
func TestANodeWithoutAnEventIsSaid(t *testing.T) {
	dir := t.TempDir()
	r := Request{Format: FormatChrome, Output: filepath.Join(dir, "out.json")}
	for i, events := range []string{"", `{"ph":"X","pid":1,"tid":1,"ts":5.5,"dur":1.25,"name":"a"}`} {
		r.Inputs = append(r.Inputs, Input{Path: put(t, dir, fmt.Sprintf("node%d.json", i), []byte(`{"traceEvents": [`+events+`]}`))})
	}
	doc := combined(t, 2, r)
	for i, want := range []bool{true, false} {
		if got := strings.Contains(strings.Join(doc.Nodes[i].Warnings, "\n"), "holds no event"); got != want {
			t.Errorf("node %d: %q", i, doc.Nodes[i].Warnings)
		}
	}
}

// TestAbsoluteAndRelativeEndsMeanTheSameCut: a range is told by its size, end by end.
func TestAbsoluteAndRelativeEndsMeanTheSameCut(t *testing.T) {
	inputs, probes, _ := jax(t, "p2")
	doc := combined(t, 2, Request{Inputs: inputs, Probes: probes, Output: filepath.Join(t.TempDir(), "all")})
	var counts [3]int64
	for i, r := range [][]*int64{rangeOf(300e6, 600e6), rangeOf(doc.ZeroNS+300e6, doc.ZeroNS+600e6), rangeOf(300e6, doc.ZeroNS+600e6)} {
		if *r[1] > xspace.AbsoluteNS != (i > 0) {
			t.Fatal("the test means other ranges")
		}
		counts[i] = combined(t, 2, Request{Inputs: inputs, Probes: probes, Output: filepath.Join(t.TempDir(), "cut"), TimeRange: r}).Nodes[1].EventsDropped
	}
	if counts[0] == 0 || counts[0] != counts[1] || counts[0] != counts[2] {
		t.Errorf("dropped %v", counts)
	}
}

// TestHowNodesAreNamedIsSaid: every way in which a node gets its name has words.
func TestHowNodesAreNamedIsSaid(t *testing.T) {
	for _, source := range []string{"given", "name", "rank", "host", "order", "mark"} {
		if got := describe([]identity{{ID: "node7", Source: source}}); strings.Contains(got, "named :") || !strings.HasSuffix(got, ": node7") {
			t.Errorf("%s: %q", source, got)
		}
	}
}
