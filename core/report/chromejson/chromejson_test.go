package chromejson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/prlx-go/prlx/core/report/chromejson"
)

func TestATraceIsOneObjectOfJSON(t *testing.T) {
	var b bytes.Buffer
	w := chromejson.Begin(&b, 1_700_000_000_000_000_000, map[string]any{"verdict": "a <b> & \u2028"})
	w.Process(7, "ranks", -3)
	w.Thread(7, 2, "operations")
	w.Event(chromejson.Event{Name: "x", Ph: "X", TS: chromejson.Micro(-1), Dur: chromejson.Micro(1_002_003), PID: 7, TID: 2})
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Base   int64 `json:"baseTimeNanoseconds"`
		About  map[string]any
		Events []chromejson.Event `json:"traceEvents"`
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatalf("%v in %s", err, b.Bytes())
	}
	if doc.Base != 1_700_000_000_000_000_000 || len(doc.Events) != 5 {
		t.Errorf("base %d, %d events", doc.Base, len(doc.Events))
	}
	for i, want := range []float64{-3, 2} {
		if got := doc.Events[2*i+1].Args["sort_index"]; got != want {
			t.Errorf("place %v, want %v", got, want)
		}
	}
	last := doc.Events[4]
	if last.TS != "-0.001" || last.Dur != "1002.003" || last.PID != 7 || last.TID != 2 {
		t.Errorf("the slice is %+v", last)
	}
}

func TestNoBaseIsWrittenWhereNoneIsKnown(t *testing.T) {
	var b bytes.Buffer
	if err := chromejson.Begin(&b, 0, nil).End(); err != nil || bytes.Contains(b.Bytes(), []byte("base")) {
		t.Errorf("%v: %s", err, b.Bytes())
	}
}

func TestMicroKeepsAllDigits(t *testing.T) {
	for ns, want := range map[int64]string{0: "0.000", 999: "0.999", math.MaxInt64: "9223372036854775.807", math.MinInt64: "-9223372036854775.808"} {
		if got := chromejson.Micro(ns); string(got) != want {
			t.Errorf("%d ns are %s, want %s", ns, got, want)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestTheFirstErrorIsReturned(t *testing.T) {
	if err := chromejson.Begin(full{}, 0, nil).End(); err == nil || err.Error() != "disk full" {
		t.Errorf("of the disk: %v", err)
	}
	w := chromejson.Begin(&bytes.Buffer{}, 0, nil)
	w.Event(chromejson.Event{Args: map[string]any{"a": math.NaN()}})
	w.Event(chromejson.Event{Name: "fine"})
	if err := w.End(); err == nil {
		t.Error("a number that JSON cannot hold was no error")
	}
}
