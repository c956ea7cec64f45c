package simulation

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// eventsOf are the site and lanes of the events of each warp that a recording holds.
func eventsOf(t *testing.T, trace *warptrace.Trace) (events map[uint64][][3]uint64, info map[uint64]warptrace.WarpInfo) {
	t.Helper()
	index, err := trace.Index(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	events, info = map[uint64][][3]uint64{}, map[uint64]warptrace.WarpInfo{}
	for i := range index {
		var w warptrace.Warp
		if err := trace.ReadWarp(t.Context(), index[i].Warp, &w); err != nil {
			t.Fatal(err)
		}
		info[w.Warp] = w.WarpInfo
		for k := range w.Site {
			events[w.Warp] = append(events[w.Warp], [3]uint64{uint64(w.Site[k]), w.Active[k], w.Value[k]})
		}
	}
	return events, info
}

// TestTheLastEventsAreThoseOfAWholeRecording keeps a few events of each warp, the last ones.
func TestTheLastEventsAreThoseOfAWholeRecording(t *testing.T) {
	trace, _, _ := recordDecides(t, 1<<16, &recorder.Record{Instrumented: &recorder.Instrumented{}})
	all, _ := eventsOf(t, trace)
	for _, depth := range []uint32{1, 3, 7, 1000} {
		trace, doc, _ := recordDecides(t, 1<<16, &recorder.Record{EventsPerWarp: depth, Instrumented: &recorder.Instrumented{Last: true}})
		kept, info := eventsOf(t, trace)
		for warp, whole := range all {
			from := max(len(whole)-int(depth), 0)
			if !slices.Equal(kept[warp], whole[from:]) || info[warp].Before != uint64(from) || info[warp].Dropped != uint64(from) || info[warp].Total != uint64(len(whole)) {
				t.Errorf("depth %d, warp %d: %d of %d events, %+v", depth, warp, len(kept[warp]), len(whole), info[warp])
			}
		}
		if trace.Header().Keep != warptrace.KeepLast || len(doc.Findings) > 0 {
			t.Errorf("%+v, %v", trace.Header().Keep, doc.Findings)
		}
	}
}

// TestSamplingCountsBySite leaves out events: an event more at one site changes nothing at the others.
func TestSamplingCountsBySite(t *testing.T) {
	trace, _, _ := recordDecides(t, 1<<16, &recorder.Record{Instrumented: &recorder.Instrumented{}})
	all, _ := eventsOf(t, trace)
	for _, rate := range []uint32{2, 3, 100} {
		trace, doc, _ := recordDecides(t, 1<<16, &recorder.Record{Instrumented: &recorder.Instrumented{SampleRate: rate}})
		kept, info := eventsOf(t, trace)
		for warp, whole := range all {
			var want [][3]uint64
			seen := map[uint64]uint32{}
			for _, e := range whole {
				if seen[e[0]]%rate == 0 {
					want = append(want, e)
				}
				seen[e[0]]++
			}
			if !slices.Equal(kept[warp], want) || info[warp].Dropped != 0 || info[warp].Total != uint64(len(whole)) {
				t.Errorf("one of %d, warp %d: %d events, want %d; %+v", rate, warp, len(kept[warp]), len(want), info[warp])
			}
		}
		if trace.Header().SampleRate != rate || len(doc.Findings) > 0 {
			t.Errorf("%+v, %v", trace.Header().SampleRate, doc.Findings)
		}
	}
}

// TestAWindowIsAroundItsEvent keeps what is around the second time that a warp passed a site.
func TestAWindowIsAroundItsEvent(t *testing.T) {
	trace, _, _ := recordDecides(t, 1<<16, &recorder.Record{Instrumented: &recorder.Instrumented{}})
	all, _ := eventsOf(t, trace)
	looked := 0
	for number := range trace.Sites().Len() {
		in := &recorder.Instrumented{Window: &recorder.Window{Site: fmt.Sprintf("0x%016x", uint64(trace.Sites().At(number).Key)), Occurrence: 1, After: 2}}
		window, doc, _ := recordDecides(t, 1<<16, &recorder.Record{EventsPerWarp: 6, Instrumented: in})
		kept, info := eventsOf(t, window)
		for warp, whole := range all {
			end, times := len(whole), 0
			for i, e := range whole {
				if int(e[0]) == number {
					if times++; times == 2 {
						end = min(i+3, len(whole))
						looked++
					}
				}
			}
			from := max(end-6, 0)
			if !slices.Equal(kept[warp], whole[from:end]) || info[warp].Before != uint64(from) || info[warp].Dropped != uint64(len(whole)-(end-from)) {
				t.Errorf("site %d, warp %d: %d of %d events, %+v", number, warp, len(kept[warp]), len(whole), info[warp])
			}
		}
		if window.Header().Keep != warptrace.KeepWindow || len(doc.Findings) > 0 {
			t.Errorf("%+v, %v", window.Header().Keep, doc.Findings)
		}
	}
	if looked < 4 {
		t.Errorf("only %d warps passed a site twice", looked)
	}
}

// TestNoArenaIsTooSmall runs with arenas of any size, in any mode, for other warps than there are: results stay, nothing is written
// outside, and what is not kept is counted.
func TestNoArenaIsTooSmall(t *testing.T) {
	trace, _, want := recordDecides(t, 1<<16, &recorder.Record{Instrumented: &recorder.Instrumented{}})
	whole, err := trace.Outputs(t.Context())
	if err != nil || whole == nil || len(whole.Stores) == 0 {
		t.Fatal(err, whole)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 60 {
		size := 256 + random.IntN(6000)&^7
		in := &recorder.Instrumented{Last: random.IntN(2) == 0, SampleRate: uint32(random.IntN(4))}
		r := &recorder.Record{Mode: []string{"digest", "control-flow"}[random.IntN(2)], EventsPerWarp: uint32(random.IntN(20)), Instrumented: in}
		if first, many := uint64(random.IntN(8)), uint64(random.IntN(4)); many > 0 {
			r.Warps = observe.Warps{{first, first + many - 1}}
		}
		asked := *in
		trace, doc, got := recordDecides(t, size, r)
		if string(got) != string(want) || len(doc.Findings) > 0 {
			t.Fatalf("%d: %d bytes, %+v: %v", n, size, asked, doc.Findings)
		}
		o, err := trace.Outputs(t.Context())
		if err != nil || o == nil {
			t.Fatal(err)
		}
		losses, err := trace.Losses(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Warps) == 0 && len(losses.Notes) == 0 && !reflect.DeepEqual(o.Stores, whole.Stores) {
			t.Errorf("%d: %d bytes, %+v: sums are missing and nothing says so", n, size, asked)
		}
		if len(o.Arrays) != len(whole.Arrays) || o.Arrays[0].Digest != whole.Arrays[0].Digest {
			t.Errorf("%d: other arrays", n)
		}
	}
}
