// Package snapshot finishes what the sampler of clocks wrote (runtime/snapshot): pairs of readings of the system clock (CLOCK_REALTIME), on which
// host threads and probes are, and of the clock of a tracer. From such pairs combine makes the map of one to the other. It writes them as the
// message SnapshotPairs, puts them into a trace, and compresses the file. docs/formats/snapshot-pairs.md describes all of them.
package snapshot

import (
	"errors"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// Counters are the sampler's telemetry.
type Counters struct {
	Taken    int64 `json:"snapshots_taken"`
	Missed   int64 `json:"missed_deadline"` // instants of the cadence at which no pair was read: the thread came too late
	Dropped  int64 `json:"dropped_samples"` // pairs that have no room in the ring any more
	Wide     int64 `json:"wide_brackets"`   // pairs that were kept although the system clock's readings lie more than 5 us apart
	Failed   int64 `json:"failed_reads"`    // readings that gave no pair: a clock could not be read
	Unstored int64 `json:"unstored"`        // pairs that could not be written
}

// compressAbove is the size from which a finished file of pairs is compressed.
const compressAbove = 64 << 10

// compressed compresses a finished file of pairs of more than 64 KiB: the compressed one takes its place under a name with .zst. It returns
// the name that the file then has.
func compressed(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil || st.Size() <= compressAbove {
		return path, err
	}
	to := path + ".zst"
	if err := compress(path, to+".part"); err != nil {
		return path, errors.Join(err, os.Remove(to+".part"))
	}
	if err := os.Rename(to+".part", to); err != nil {
		return path, err
	}
	return to, os.Remove(path)
}

func compress(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	z, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return errors.Join(err, out.Close())
	}
	_, err = io.Copy(z, in)
	return errors.Join(err, z.Close(), out.Close())
}
