package main

import (
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/testing/warptracetest"
)

// kernel are the flags that say what runs.
type kernel struct {
	config warptracetest.Config
	launch warptracetest.Launch
	shape  string
}

func (k *kernel) flags(set *flag.FlagSet) {
	set.Uint64Var(&k.config.Seed, "seed", 1, "seed of everything random")
	set.StringVar(&k.config.Kernel, "kernel", "", "name of the kernel (default: made up)")
	set.StringVar(&k.shape, "shape", "random", "random: ends by itself; full: every warp fills -events; bench: full, and data repeats from warp to warp")
	set.IntVar(&k.launch.Warps, "warps", 64, "warps of the launch")
	set.IntVar(&k.launch.WarpsPerBlock, "warps-per-block", 4, "warps of a block")
	set.IntVar(&k.launch.Events, "events", 0, "capacity of a warp in events (0: no limit; full and bench: 4096)")
	set.IntVar(&k.launch.Wave, "wave", 32, "lanes of a warp, 32 or 64")
	set.IntVar(&k.launch.Snapshots, "snapshots", 0, "keep the operands of every lane of so many events of each warp (-1: all, v2 only)")
	set.IntVar(&k.launch.History, "history", 0, "keep so many values that flow into compares")
	set.BoolVar(&k.launch.Loads, "loads", false, "record an event for every load")
}

// resolve turns -shape into a config.
func (k *kernel) resolve() error {
	switch k.shape {
	case "random":
	case "full", "bench":
		k.config.Endless, k.config.Structured = true, k.shape == "bench"
	default:
		return fmt.Errorf("-shape is %q, expected random, full or bench", k.shape)
	}
	if k.launch.Wave != 32 && k.launch.Wave != 64 {
		return fmt.Errorf("-wave is %d, expected 32 or 64", k.launch.Wave)
	}
	return nil
}

// pair writes two recordings.
func pair(set *flag.FlagSet, args []string) error {
	var k kernel
	var f form
	var b beside
	var e warptracetest.Edits
	k.flags(set)
	f.flags(set)
	b.flags(set)
	outA, outB := set.String("out-a", "a.prlx", "the first recording"), set.String("out-b", "b.prlx", "the second")
	bug := set.String("bug", "", "B is of the kernel with a bug instead of edited: "+strings.Join(warptracetest.BugNames(), ", "))
	set.IntVar(&e.Count, "edits", 0, "edits of each warp")
	set.Float64Var(&e.Rate, "share", 0, "edits for each event, instead of -edits")
	set.Float64Var(&e.Share, "warps-edited", 0, "share of the warps that are edited (0: all)")
	kinds := set.String("kinds", "", "kinds of edits, with commas (default: all)")
	runs := set.String("run", "1", "events of an insertion, deletion or replacement: N or MIN:MAX")
	if err := set.Parse(args); err != nil {
		return err
	}
	if err := k.resolve(); err != nil {
		return err
	}
	var err error
	if e.MinRun, e.MaxRun, err = parseRuns(*runs); err != nil {
		return err
	}
	e.Seed = k.config.Seed
	if *kinds != "" {
		for kind := range strings.SplitSeq(*kinds, ",") {
			e.Kinds = append(e.Kinds, warptracetest.EditKind(kind))
		}
	}
	if *bug != "" {
		return pairWithBug(&k, &f, &b, *bug, *outA, *outB)
	}
	edited := e.Count > 0 || e.Rate > 0
	return pairEdited(&k, &f, &b, e, edited, *outA, *outB)
}

func parseRuns(text string) (lo, hi int, err error) {
	first, second, both := strings.Cut(text, ":")
	if lo, err = strconv.Atoi(first); err == nil {
		if hi = lo; both {
			hi, err = strconv.Atoi(second)
		}
	}
	if err != nil || lo < 1 || hi < lo {
		return 0, 0, fmt.Errorf("-run is %q, expected N or MIN:MAX", text)
	}
	return lo, hi, nil
}

// pairEdited writes warp by warp: benchmarks are larger than memory should be.
func pairEdited(k *kernel, f *form, b *beside, e warptracetest.Edits, edited bool, outA, outB string) error {
	p := warptracetest.NewProgram(k.config)
	h := p.Header(k.launch)
	capacity := max(1, int(h.EventsPerWarp))
	edit := func(w, into *warptrace.Warp) *warptracetest.Editor {
		if !edited {
			*into = *w
			return nil
		}
		ed := e.Editor(w.Warp, p.Sites(), h.WaveSize)
		ed.Edit(w, into)
		return ed
	}
	var second warptrace.Warp
	if f.format == "v1" { // the buffers of v1 must be as long as the longest warp: see which that is
		err := p.Each(k.launch, func(w *warptrace.Warp) error {
			edit(w, &second)
			capacity = max(capacity, w.Len(), second.Len())
			return nil
		})
		if err != nil {
			return err
		}
	}
	if k.config.Endless {
		h.EventsPerWarp = 0 // edits may exceed it
	}
	if f.format == "v1" {
		h.EventsPerWarp = uint32(capacity)
	}
	oa, err := f.create(outA, h, p.Sites())
	if err != nil {
		return err
	}
	ob, err := f.create(outB, h, p.Sites())
	if err != nil {
		return err
	}
	truth := &warptracetest.Truth{}
	err = p.Each(k.launch, func(w *warptrace.Warp) error {
		ed := edit(w, &second)
		truth.Add(w, &second, p.Sites(), ed)
		if err := oa.append(w); err != nil {
			return err
		}
		return ob.append(&second)
	})
	if err != nil {
		return err
	}
	truth.Done()
	if err := oa.close(); err != nil {
		return err
	}
	if err := ob.close(); err != nil {
		return err
	}
	return b.write(p, truth)
}

// pairWithBug runs the kernel and the same with a bug.
func pairWithBug(k *kernel, f *form, b *beside, bug, outA, outB string) error {
	k.config.Race = bug == "race"
	p := warptracetest.NewProgram(k.config)
	buggy, err := p.WithBug(bug)
	if err != nil {
		return err
	}
	k.launch.Run = 1
	first := p.Run(k.launch)
	k.launch.Run = 2
	second := buggy.Run(k.launch)
	truth := &warptracetest.Truth{Bug: buggy.Bug}
	truth.Judge(first, second)
	sameCapacity(f, []*warptracetest.Recording{first, second})
	if err := f.write(outA, first); err != nil {
		return err
	}
	if err := f.write(outB, second); err != nil {
		return err
	}
	return b.write(buggy, truth)
}
