package warptracetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/safe"
)

// Launch says how to run a program and what to record. The zero value of a field takes the default.
type Launch struct {
	Warps         int     // default 16; every warp of the grid
	WarpsPerBlock int     // default 4
	Wave          int     // lanes of a warp, 32 (default) or 64
	Data          uint64  // seed of the data; default: of the program's seed
	Run           uint64  // seed of what may vary between equal runs: the order of warps, clocks; 0: in order
	Events        int     // of a warp at most: an endless program stops there, of others the rest is dropped and counted; default no limit
	Share         float64 // of the warps that record at all, 0: all (a warp filter); of warp w it depends on Data only
	Loads         bool    // record an event for every load
	Barriers      bool    // record an event for every barrier
	Snapshots     int     // operands of every lane: keep the newest so many of each warp; -1: all
	History       int     // values that flow into compares: keep the newest so many of each warp; -1: all
	Index         uint64  // of the launch in its session
	Outputs       bool    // also record what was written to global memory, with its contents; Each leaves that out
	Workers       int     // how many warps run at once, default 2; the result does not depend on it
}

func (l Launch) withDefaults(c Config) Launch {
	if l.Warps == 0 {
		l.Warps = 16
	}
	if l.WarpsPerBlock == 0 {
		l.WarpsPerBlock = 4
	}
	if l.Wave == 0 {
		l.Wave = 32
	}
	if l.Data == 0 {
		l.Data = c.Seed + 1
	}
	if l.Workers == 0 {
		l.Workers = 2
	}
	if c.Endless && l.Events == 0 {
		l.Events = 4096
	}
	return l
}

// Recording is what a launch left.
type Recording struct {
	Header  warptrace.Header
	Sites   *site.Table
	Warps   []warptrace.Warp // ascending by number, only those that recorded something; Site counts in Sites
	Noise   []int            // sites whose outcome depends on Launch.Run, ascending
	Program *Program

	Outputs  *warptrace.Outputs // of a launch with Outputs, else nil
	Contents []warptrace.Contents
}

// Find returns the warp of a number, nil when it recorded nothing.
func (r *Recording) Find(warp uint64) *warptrace.Warp {
	i, ok := slices.BinarySearchFunc(r.Warps, warp, func(w warptrace.Warp, n uint64) int {
		switch {
		case w.Warp < n:
			return -1
		case w.Warp > n:
			return 1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return &r.Warps[i]
}

// Events is how many events there are.
func (r *Recording) Events() int64 {
	n := int64(0)
	for i := range r.Warps {
		n += int64(r.Warps[i].Len())
	}
	return n
}

// Run executes the program.
func (p *Program) Run(l Launch) *Recording {
	l = l.withDefaults(p.Config)
	if l.Wave != 32 && l.Wave != 64 {
		panic(fmt.Sprintf("warptracetest: a wave of %d lanes", l.Wave))
	}
	r := &Recording{Header: p.header(l), Sites: p.table, Noise: p.noise, Program: p}
	world := newWorld(p, l)
	numbers := world.recording()
	warps := make([]warptrace.Warp, len(numbers))
	writes := make([]*written, len(numbers))
	order := world.schedule(len(numbers))
	if p.shared { // in the order of the schedule
		m := newMachine(world)
		for _, i := range order {
			m.warp(uint64(numbers[i]), &warps[i])
			writes[i] = m.writes
		}
	} else {
		g, _ := safe.NewGroup(context.Background())
		for k := range l.Workers {
			g.Go(func() error {
				m := newMachine(world)
				for i := k; i < len(numbers); i += l.Workers {
					m.warp(uint64(numbers[i]), &warps[i])
					writes[i] = m.writes
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			panic(err)
		}
	}
	if l.Outputs {
		r.outputs(warps, writes, order)
	}
	r.Warps = slices.DeleteFunc(warps, func(w warptrace.Warp) bool { return w.Total == 0 && len(w.Stores) == 0 })
	return r
}

// outputs gathers what the warps wrote, in the order in which they ran.
func (r *Recording) outputs(warps []warptrace.Warp, writes []*written, order []int) {
	ran := make([]*written, len(order))
	for place, i := range order {
		ran[place] = writes[i]
		warps[i].Stores = writes[i].sums()
	}
	r.Outputs, r.Contents = launchOutputs(r.Program, ran)
}

// Each executes the program warp by warp, ascending, and hands out each warp that recorded something. The warp is filled again
// afterwards. It is for recordings that do not fit in memory; programs whose warps share atomics must use Run.
func (p *Program) Each(l Launch, visit func(w *warptrace.Warp) error) error {
	if p.shared {
		return fmt.Errorf("warptracetest: the warps of this program depend on each other")
	}
	world := newWorld(p, l.withDefaults(p.Config))
	m := newMachine(world)
	var w warptrace.Warp
	for _, n := range world.recording() {
		m.warp(uint64(n), &w)
		if w.Total == 0 {
			continue
		}
		if err := visit(&w); err != nil {
			return err
		}
	}
	return nil
}

// Header is the header of a launch's recording.
func (p *Program) Header(l Launch) warptrace.Header { return p.header(l.withDefaults(p.Config)) }

func (p *Program) header(l Launch) warptrace.Header {
	w := newWorld(p, l)
	h := warptrace.Header{
		Version: 2, Kernel: p.Name, KernelHash: warptrace.Hash64(p.Name), ModuleHash: fmt.Sprintf("%016x%016x", p.digest(), mix(p.digest())),
		Grid: [3]uint32{uint32((l.Warps + l.WarpsPerBlock - 1) / l.WarpsPerBlock), 1, 1}, Block: [3]uint32{uint32(l.WarpsPerBlock * l.Wave), 1, 1},
		WaveSize: l.Wave, WarpsPerBlock: uint32(l.WarpsPerBlock), WarpSlots: uint64(l.Warps), EventsPerWarp: uint32(l.Events),
		Launch: l.Index, ArgumentDigest: mix(l.Data ^ 0xa5), Mode: warptrace.ModeControlFlow, Means: warptrace.MeansGenerated,
		SampleRate: 1, Taken: true, Producer: "warptracetest",
	}
	h.Arch, h.ArchNumber = "sm_90", 90
	if l.Wave == 64 {
		h.Arch, h.ArchNumber = "gfx942", 942
	}
	if l.Snapshots != 0 {
		h.Mode = warptrace.ModeValues
	}
	if l.History > 0 {
		h.HistoryDepth = uint32(l.History)
	}
	if l.Snapshots > 0 {
		h.SnapshotDepth = uint32(l.Snapshots)
	}
	for _, a := range p.arrays[:2] {
		h.Arguments = append(h.Arguments, warptrace.Argument{
			Name: a.name, Type: map[warptrace.ValueType]string{warptrace.TypeI32: "*i32", warptrace.TypeF32: "*fp32"}[a.typ], Digest: mix(l.Data + uint64(a.index)),
		})
	}
	for _, name := range []string{"n", "stride", "cols", "tiles"} {
		h.Arguments = append(h.Arguments, warptrace.Argument{Name: name, Type: "i32", Value: fmt.Sprint(w.argument(name))})
	}
	return h
}

// digest is a hash over the sources.
func (p *Program) digest() uint64 {
	h := uint64(1)
	for _, f := range p.files {
		h = mix(h ^ warptrace.Hash64(f.Text))
	}
	return h
}
