package combine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatLiesOutsideTheReadingsIsSaid: which share of the events, and what was assumed there, by policy, in the verdict and the document.
func TestWhatLiesOutsideTheReadingsIsSaid(t *testing.T) {
	inputs, probes, _ := jax(t, "p4")
	dir := t.TempDir()
	var early []string // the first three quarters of the probes
	for _, path := range probes {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(b), "\n")
		early = append(early, put(t, dir, filepath.Base(path), []byte(strings.Join(lines[:len(lines)*3/4], ""))))
	}
	for _, c := range []struct {
		name   string
		probes []string
		policy policy
		least  float64
		says   string
	}{
		{"most of the readings", early, degrade, 0.05, "there clocks are assumed to run on as within them, with an error that grows by"},
		{"held", early, hold, 0.05, "there the last offsets are kept, with an error that grows by"},
	} {
		doc := combined(t, 2, Request{Inputs: inputs, Probes: c.probes, Policy: c.policy, Output: filepath.Join(t.TempDir(), "run")})
		o := doc.Outside
		if doc.Status != StatusAligned {
			t.Errorf("%s: %s", c.name, doc.Status)
		}
		if o == nil || o.Share < c.least || o.Share > 1 || o.GrowthPPB <= 0 || o.Policy != c.policy || !strings.Contains(o.Said, c.says) {
			t.Errorf("%s: %+v", c.name, o)
			continue
		}
		if !strings.HasSuffix(doc.Verdict, "; "+o.brief()) {
			t.Errorf("%s: the verdict is %q", c.name, doc.Verdict)
		}
		outside, all := int64(0), int64(0)
		for _, n := range doc.Nodes {
			outside, all = outside+max(n.OffsetExtrapolations, n.SnapshotExtrapolations), all+n.Events-n.EventsDropped
			if n.OutsideGrowthPPB > o.GrowthPPB {
				t.Errorf("%s: bounds of %s grow by %d ns in a second, at most %d were said", c.name, n.ID, n.OutsideGrowthPPB, o.GrowthPPB)
			}
		}
		if o.Events != outside || all == 0 {
			t.Errorf("%s: %d events outside, the nodes say %d", c.name, o.Events, outside)
		}
		limits := strings.Join(doc.Limits(), " ")
		if !strings.Contains(limits, "of the events lie outside the clock readings") {
			t.Errorf("%s: the report says %q", c.name, limits)
		}
	}
	for k, path := range early {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(b), "\n")
		early[k] = put(t, dir, filepath.Base(path), []byte(strings.Join(lines[:len(lines)/8], "")))
	}
	doc := combined(t, 2, Request{Inputs: inputs, Probes: early, Method: MethodProbes, Output: filepath.Join(t.TempDir(), "run")})
	if said := strings.Join(doc.Nodes[1].Warnings, "\n"); doc.Outside == nil || doc.Outside.Share < 0.5 || doc.Status != StatusDegraded || !strings.Contains(said, "of its events lie outside the clock readings") {
		t.Errorf("where most events lie outside: %s, %+v, %q", doc.Status, doc.Outside, said)
	}
	merged := combined(t, 2, Request{Inputs: inputs, Method: MethodWall, Output: filepath.Join(t.TempDir(), "run")})
	if merged.Outside != nil {
		t.Errorf("without readings: %+v", merged.Outside)
	}
}

func TestSharesInWords(t *testing.T) {
	for _, c := range []struct {
		o     Outside
		want  string
		brief string
	}{
		{Outside{Share: 0.1125, GrowthPPB: 2900, Policy: degrade}, "11.2 % of the events lie outside the clock readings: there clocks are assumed to run on as within them, with an error that grows by 2.9 us a second", "11.2 % of events outside clock readings, error assumed to grow by up to 2.9 us/s"},
		{Outside{Share: 0.0004, GrowthPPB: 100_000, Policy: hold}, "less than 0.1 % of the events lie outside the clock readings: there the last offsets are kept, with an error that grows by 100 us a second", "less than 0.1 % of events outside clock readings, last offset kept, error assumed to grow by up to 100 us/s"},
	} {
		if got := c.o.sentence(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		if got := c.o.brief(); got != c.brief {
			t.Errorf("got %q, want %q", got, c.brief)
		}
	}
}

func TestMicrosecondsInWords(t *testing.T) {
	for ns, want := range map[int64]string{0: "0", 1: "0.001", 1450: "1.45", 99_950: "100", 229_000: "229", 999_499: "999", 999_500: "1000", 2_000_200: "2000", 31_400_000_000: "31400000"} {
		if got := microseconds(ns); got != want {
			t.Errorf("%d ns: %s us, want %s", ns, got, want)
		}
	}
}
