package main

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

type written struct {
	TraceEvents []struct {
		Phase string  `json:"ph"`
		Name  string  `json:"name"`
		TS    float64 `json:"ts"`
		Dur   float64 `json:"dur"`
	} `json:"traceEvents"`
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if filepath.Ext(path) == ".json" {
		err = json.NewDecoder(f).Decode(into)
	} else {
		var packed *gzip.Reader
		if packed, err = gzip.NewReader(f); err == nil {
			err = json.NewDecoder(packed).Decode(into)
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func TestARunAndASlowerOne(t *testing.T) {
	dir := t.TempDir()
	a, b, truth := filepath.Join(dir, "a.json.gz"), filepath.Join(dir, "b.json"), filepath.Join(dir, "truth.json")
	for _, words := range [][]string{
		{"-kernels", "3000", "-o", a, "-truth", truth},
		{"-kernels", "3000", "-o", b, "-slower", "nvjet", "-by", "0.5", "-args"},
	} {
		if err := run(words); err != nil {
			t.Fatal(err)
		}
	}
	var fast, slow written
	var rows []row
	read(t, a, &fast)
	read(t, b, &slow)
	read(t, truth, &rows)
	if len(rows) == 0 || len(fast.TraceEvents) != len(slow.TraceEvents) || len(fast.TraceEvents) < 2500 {
		t.Fatalf("%d rows of truth, %d and %d events", len(rows), len(fast.TraceEvents), len(slow.TraceEvents))
	}
	var total [2]float64
	for i, e := range fast.TraceEvents {
		total[0] += e.Dur
		total[1] += slow.TraceEvents[i].Dur
		if e.Name != slow.TraceEvents[i].Name {
			t.Fatalf("event %d is another kernel", i)
		}
	}
	if total[1] <= total[0] {
		t.Errorf("the slower run takes %v us, the other %v", total[1], total[0])
	}
}

func TestBadFlags(t *testing.T) {
	if run([]string{"-kernels", "10"}) == nil {
		t.Error("no output, and no error")
	}
}
