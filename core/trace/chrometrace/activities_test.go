package chrometrace

import (
	"context"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/source"
)

// TestActivitiesAreWhatDevicesAndHostsDid: of one of four ranks' recordings, by what its categories say.
func TestActivitiesAreWhatDevicesAndHostsDid(t *testing.T) {
	src, err := file.Open(context.Background(), filetest.Data(t, "kineto/amd+HPCTrainingExamples__merged_all_events.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	tr := mustScan(t, src, ScanOptions{})
	counts, want := map[source.ActivityRole]int{}, map[source.ActivityRole]int{}
	data, nccl, called := 0, 0, map[uint64]bool{}
	if err := Events(context.Background(), src, tr, func(byte, []byte, []byte) bool { return true }, func(e *Event) error {
		switch string(e.Cat) {
		case "kernel":
			want[source.ActiveKernel]++
		case "gpu_memcpy", "gpu_memset":
			want[source.ActiveCopy]++
		case "cpu_op", "cuda_runtime", "user_annotation":
			want[source.ActiveHost]++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var launched []uint64
	if err := tr.Activities(context.Background(), src, func(a *source.Activity) {
		counts[a.Role]++
		if source.LoadsData(a.Name) {
			data++
		}
		if a.Role == source.ActiveKernel && source.Communicates(a.Name) {
			nccl++
			launched = append(launched, a.Number)
		}
		if a.Role == source.ActiveHost && a.Number > 0 {
			called[a.Number] = true
		}
	}); err != nil {
		t.Fatal(err)
	}
	for role, n := range want {
		if counts[role] != n || n == 0 {
			t.Errorf("role %d: %d, want %d", role, counts[role], n)
		}
	}
	for _, n := range launched {
		if !called[n] {
			t.Errorf("no call has the number %d of a collective", n)
		}
	}
	if data != 12 || nccl == 0 { // three steps of four ranks
		t.Errorf("%d ranges load data, %d kernels communicate", data, nccl)
	}
}

// TestNamesOfWhatHostsDo.
func TestNamesOfWhatHostsDo(t *testing.T) {
	for name, want := range map[string][3]bool{
		"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__": {true, false, false},
		"torch/utils/data/dataloader.py(628): __next__":                 {true, false, false},
		"IteratorGetNext":   {true, false, false},
		"Python GC":         {false, true, false},
		"$gc.collect":       {false, true, false},
		"GC":                {false, true, false},
		"aten::GCN":         {},
		"aten::copy_":       {},
		"Iterator::Model":   {}, // of threads that prepare data, beside the program
		"ncclDevKernel_All": {false, false, true},
	} {
		if got := [3]bool{source.LoadsData([]byte(name)), source.CollectsGarbage([]byte(name)), source.Communicates([]byte(name))}; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
