package diagnosing_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/nccl/reading"
	"github.com/prlx-go/prlx/core/testing/nccltest"
)

var updateExample = flag.Bool("update-example", false, "write examples/nccl_hang anew")

// TestTheExampleIsWhatTheSimulatorMakes holds examples/nccl_hang: four ranks, of which rank 2 hangs in SendWait.
func TestTheExampleIsWhatTheSimulatorMakes(t *testing.T) {
	dir := "../../../examples/nccl_hang"
	files := nccltest.Simulate(nccltest.Plan{
		Seed: 5, Ranks: 4, PerHost: 1, Channels: 1, Steps: 8, Ops: 20, Level: 3, ComputeNS: 3e5, Jitter: 0.05, Uneven: 0.02, TailNS: 42_000_000_000,
		Fault: nccltest.HangSend, Rank: 2, At: 13,
	})
	for i, f := range files {
		name := filepath.Join(dir, fmt.Sprintf("node%d-%d%s.gz", i, f.PID, reading.Ending))
		if *updateExample {
			var b bytes.Buffer
			w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
			if _, err := w.Write(f.Bytes()); err != nil {
				t.Fatal(err)
			}
			w.Close()
			if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		in, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		z, err := gzip.NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, f.Bytes()) {
			t.Errorf("%s is not what the simulator makes: go test ./core/nccl/diagnosing -run Example -update-example", name)
		}
	}
}
