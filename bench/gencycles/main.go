// Command gencycles writes Kineto traces of made-up runs whose repeating structure is known; see package cycletest.
//
//	gencycles -family multi-prefill -kernels 20000 -o serve.json.gz
//
// The same flags give the same bytes. A second run for comparisons: -slower NAME -by 0.2 makes every kernel whose name contains NAME
// take that much longer, and what follows moves back. -truth FILE writes what repeats, as JSON: name, phase, period and how often.
package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/prlx-go/prlx/core/testing/cycletest"
)

// startNS is when every made-up run began.
const startNS = 1_760_000_000_000_000_000

type settings struct {
	family, output, truth, slower string
	seed                          uint64
	kernels, rank                 int
	noise, jitter, by, stallMS    float64
	prefill                       float64
	args                          bool
}

func main() {
	switch err := run(os.Args[1:]); {
	case err == nil, errors.Is(err, flag.ErrHelp):
	default:
		fmt.Fprintln(os.Stderr, "gencycles:", err)
		os.Exit(1)
	}
}

func run(words []string) error {
	var s settings
	f := flag.NewFlagSet("gencycles", flag.ContinueOnError)
	f.StringVar(&s.family, "family", "multi-prefill", "one of "+strings.Join(cycletest.Families(), ", "))
	f.Uint64Var(&s.seed, "seed", 1, "of everything that is random")
	f.IntVar(&s.kernels, "kernels", 20_000, "about how many")
	f.IntVar(&s.rank, "rank", 0, "written as distributedInfo")
	f.Float64Var(&s.noise, "noise", 0, "share of steps with inserted, missing or swapped kernels")
	f.Float64Var(&s.jitter, "jitter", 0, "share of kernels of the second stream that start somewhere else")
	f.StringVar(&s.slower, "slower", "", "kernels whose name contains this take longer")
	f.Float64Var(&s.by, "by", 0.2, "by this share")
	f.Float64Var(&s.stallMS, "stall", 0, "nothing runs for so many milliseconds, once, in the middle")
	f.Float64Var(&s.prefill, "prefill-times", 1, "kernels of prefill steps, and what is between them, take so many times as long")
	f.BoolVar(&s.args, "args", false, "write the arguments that profilers write, which makes events as long as real ones")
	f.StringVar(&s.output, "o", "", "the trace, .json or .json.gz")
	f.StringVar(&s.truth, "truth", "", "the truth")
	if err := f.Parse(words); err != nil {
		return err
	}
	if s.output == "" {
		return errors.New("name an output with -o")
	}
	c := cycletest.Make(s.family, s.seed, cycletest.Options{Kernels: s.kernels, Noise: s.noise, Jitter: s.jitter})
	stretch(c, s.prefill)
	slow(c, s.slower, s.by)
	for i := len(c.StartNS) / 2; i < len(c.StartNS); i++ {
		c.StartNS[i] += int64(s.stallMS * 1e6)
	}
	if err := write(s.output, func(w io.Writer) error { return trace(w, c, &s) }); err != nil {
		return err
	}
	if s.truth == "" {
		return nil
	}
	return write(s.truth, func(w io.Writer) error { return truth(w, c) })
}

// stretch makes steps of prefill longer, as prompts of thousands of tokens do, and moves what starts later by as much. It is for
// cases of one stream.
func stretch(c *cycletest.Case, times float64) {
	inside := make([]bool, len(c.StartNS))
	for _, repeat := range c.Truth {
		for _, rep := range repeat.Reps {
			for i := rep.Start; repeat.Phase == "prefill" && i < rep.End; i++ {
				inside[i] = true
			}
		}
	}
	var late, end int64 // end is that of the kernel before, as it was
	for i := range c.StartNS {
		if inside[i] && i > 0 && inside[i-1] {
			late += int64(float64(c.StartNS[i]-end) * (times - 1))
		}
		end = c.StartNS[i] + c.DurNS[i]
		c.StartNS[i] += late
		if inside[i] {
			more := int64(float64(c.DurNS[i]) * (times - 1))
			c.DurNS[i] += more
			late += more
		}
	}
}

// slow makes some kernels longer and moves what starts later by as much.
func slow(c *cycletest.Case, name string, by float64) {
	if name == "" {
		return
	}
	var late int64
	for i, symbol := range c.Symbols {
		c.StartNS[i] += late
		if strings.Contains(c.Names[symbol], name) {
			more := int64(float64(c.DurNS[i]) * by)
			c.DurNS[i] += more
			if c.Stream[i] == 0 {
				late += more
			}
		}
	}
}

// write writes a file, compressed where the name says so.
func write(path string, fill func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	buffered := bufio.NewWriterSize(file, 1<<20)
	var w io.Writer = buffered
	var packed *gzip.Writer
	if strings.HasSuffix(path, ".gz") {
		packed = gzip.NewWriter(buffered)
		w = packed
	}
	if err := fill(w); err != nil {
		return err
	}
	if packed != nil {
		if err := packed.Close(); err != nil {
			return err
		}
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	return file.Close()
}

func trace(w io.Writer, c *cycletest.Case, s *settings) error {
	fmt.Fprintf(w, `{"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":%d,"world_size":8},"traceEvents":[`, s.rank)
	fmt.Fprint(w, `{"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"python"}},`+"\n")
	fmt.Fprint(w, `{"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 0"}}`)
	names := make([][]byte, len(c.Names))
	for i, name := range c.Names {
		names[i], _ = json.Marshal(name)
	}
	for i, symbol := range c.Symbols {
		at := startNS + c.StartNS[i]
		stream := 7 + int(c.Stream[i])*13
		_, err := fmt.Fprintf(w, ",\n"+`{"ph":"X","cat":"kernel","name":%s,"pid":0,"tid":%d,"ts":%d.%03d,"dur":%d.%03d,"args":{"device":0,"stream":%d,"correlation":%d`,
			names[symbol], stream, at/1000, at%1000, c.DurNS[i]/1000, c.DurNS[i]%1000, stream, i+1)
		if err != nil {
			return err
		}
		if s.args {
			fmt.Fprintf(w, `,"External id":%d,"queued":0,"context":1,"registers per thread":%d,"shared memory":%d,"blocks per SM":%d.5,"warps per SM":%d,"grid":[%d,1,1],"block":[128,1,1],"est. achieved occupancy %%":%d`,
				i+1, 32+symbol%200, symbol%7*4096, symbol%9, symbol%60, 1+symbol%5000, symbol%100)
		}
		fmt.Fprint(w, "}}")
	}
	_, err := fmt.Fprint(w, "\n]}\n")
	return err
}

// row is what repeats.
type row struct {
	Name   string `json:"name"`
	Phase  string `json:"phase"`
	Period int    `json:"period"`
	Count  int    `json:"count"`
}

func truth(w io.Writer, c *cycletest.Case) error {
	rows := []row{}
	for _, repeat := range c.Truth {
		rows = append(rows, row{repeat.Name, repeat.Phase, repeat.Period, len(repeat.Reps)})
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(rows)
}
