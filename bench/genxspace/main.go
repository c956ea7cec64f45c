// Command genxspace writes XSpace files of any size whose clocks are known exactly; see package xspacetest.
//
//	genxspace -out DIR [-nodes 2] [-mb 16] [-gpus 8] [-seed 1] [-clocks 0:0,37000:120] [-jitter 0]
//
// It leaves DIR/node<k>.xplane.pb (about -mb megabytes each), DIR/round_offsets.jsonl and DIR/truth.json.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/testing/xspacetest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "genxspace:", err)
		os.Exit(1)
	}
}

func run() error {
	var c xspacetest.Config
	out := flag.String("out", "", "directory to write to")
	flag.IntVar(&c.Nodes, "nodes", 2, "nodes, when no clocks are given")
	mb := flag.Float64("mb", 16, "megabytes per node")
	flag.IntVar(&c.GPUs, "gpus", 8, "devices per node")
	flag.Uint64Var(&c.Seed, "seed", 1, "seed of everything random")
	clocks := flag.String("clocks", "", "offset_us:drift_ppm of each node, separated by commas")
	flag.Int64Var(&c.JitterNS, "jitter", 0, "delay between the two readings of a snapshot, ns, uniform from 0")
	flag.Parse()
	if *out == "" {
		return fmt.Errorf("-out is missing")
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	var err error
	if c.Clocks, err = parseClocks(*clocks); err != nil {
		return err
	}
	c.EventsPerGPU = int64(*mb*1e6/xspacetest.BytesPerEvent/float64(c.GPUs)) + 1
	j := xspacetest.New(c)
	for k := range j.Clocks {
		if err := write(filepath.Join(*out, fmt.Sprintf("node%d.xplane.pb", k)), func(w io.Writer) error { return j.Write(k, w) }); err != nil {
			return err
		}
	}
	if err := write(filepath.Join(*out, "round_offsets.jsonl"), j.RoundOffsets); err != nil {
		return err
	}
	return write(filepath.Join(*out, "truth.json"), j.Truth)
}

func write(path string, f func(io.Writer) error) error {
	o, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := f(o); err != nil {
		o.Close()
		return err
	}
	return o.Close()
}

func parseClocks(s string) ([]xspacetest.Clock, error) {
	if s == "" {
		return nil, nil
	}
	var out []xspacetest.Clock
	for k, part := range strings.Split(s, ",") {
		off, drift, ok := strings.Cut(part, ":")
		us, err1 := strconv.ParseFloat(off, 64)
		ppm, err2 := strconv.ParseFloat(drift, 64)
		if !ok || err1 != nil || err2 != nil {
			return nil, fmt.Errorf("%q is not an offset_us:drift_ppm", part)
		}
		out = append(out, xspacetest.Clock{OffsetNS: int64(us * 1000), DriftPPB: int64(ppm * 1000), TracerNS: 1e14 + int64(k)*7e12, TracerPPB: int64(k) * 3000})
	}
	return out, nil
}
