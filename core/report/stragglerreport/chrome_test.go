package stragglerreport

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/straggler"
)

// viewerEvent is an event as viewers read it.
type viewerEvent struct {
	Name, Cat, Ph, S string
	TS, Dur          float64
	PID, TID         int
	Args             map[string]any
}

func viewed(t *testing.T, opt Options) (base int64, events []viewerEvent) {
	t.Helper()
	var read struct {
		Base   int64         `json:"baseTimeNanoseconds"`
		Events []viewerEvent `json:"traceEvents"`
	}
	if err := json.Unmarshal(render(t, "chrome", late(""), opt), &read); err != nil {
		t.Fatal(err)
	}
	return read.Base, read.Events
}

// TestSlicesOfAThreadLieInsideOfEachOtherOrApart is the rule of the format; viewers drop slices that break it.
func TestSlicesOfAThreadLieInsideOfEachOtherOrApart(t *testing.T) {
	_, events := viewed(t, asked(""))
	type thread struct{ pid, tid int }
	open := map[thread][]float64{} // ends
	slices := 0
	for _, e := range events {
		if e.Ph != "X" {
			continue
		}
		slices++
		on := thread{e.PID, e.TID}
		from, to := math.Round(e.TS*1000), math.Round((e.TS+e.Dur)*1000)
		for n := len(open[on]); n > 0 && open[on][n-1] <= from && to > open[on][n-1]; n-- {
			open[on] = open[on][:n-1]
		}
		if n := len(open[on]); n > 0 && to > open[on][n-1] {
			t.Errorf("%s of %v ends at %v, after what it began in, %v", e.Name, on, to, open[on][n-1])
		}
		open[on] = append(open[on], to)
	}
	if slices != 4+1+1+5 {
		t.Errorf("%d slices", slices)
	}
}

// TestThePartsOfAnOperationFillIt sums the slices inside of each, whatever they are called.
func TestThePartsOfAnOperationFillIt(t *testing.T) {
	base, events := viewed(t, asked(""))
	if base != asked("").Tracks.BaseNS {
		t.Errorf("times count from %d", base)
	}
	var names []string
	sum, dur := 0.0, 0.0
	check := func() {
		if math.Abs(sum-dur) > 1e-3 {
			t.Errorf("parts of %v of %v", sum, dur)
		}
	}
	for _, e := range events {
		switch {
		case e.Cat == "prlx operation":
			check()
			sum, dur = 0, e.Dur
			if e.TS == 1000 {
				names = nil
			}
		case e.Ph == "X":
			sum += e.Dur
			names = append(names, e.Name)
		}
	}
	check()
	want := []string{"profiler start", "late launch", "waiting for rank2", "undecided", "transfer"}
	if len(names) < len(want) {
		t.Fatalf("%q", names)
	}
	for i := range want {
		if names[i] != want[i] {
			t.Errorf("part %d is %q, not %q", i, names[i], want[i])
		}
	}
}

// TestALatenessIsAnInstantAndACounter looks for what the rank that is blamed has.
func TestALatenessIsAnInstantAndACounter(t *testing.T) {
	_, events := viewed(t, asked(""))
	instants, counters := map[string]float64{}, map[float64]float64{}
	for _, e := range events {
		switch e.Ph {
		case "i":
			if e.S != "t" || e.TID != blameThread {
				t.Errorf("%+v", e)
			}
			instants[e.Name] = e.TS
		case "C":
			if e.PID == firstTrack {
				counters[e.TS] = e.Args["ns"].(float64)
			}
		}
	}
	if instants["late: ampere_sgemm"] != 5000.123 || instants["slow link"] != 6500 || len(instants) != 2 {
		t.Errorf("%v", instants)
	}
	if counters[5000.123] != 4_000_000 || counters[5500] != 0 || len(counters) != 2 {
		t.Errorf("%v", counters)
	}
}

func TestADocumentAloneHasNoTracks(t *testing.T) {
	if err := Write("chrome", io.Discard, late(""), Options{}); !fault.Is(err, fault.Usage) {
		t.Errorf("%v", err)
	}
	if b := render(t, "chrome", late(""), Options{Tracks: &straggler.Tracks{}}); !json.Valid(b) || bytes.Contains(b, []byte("baseTime")) {
		t.Errorf("%s", b)
	}
}
