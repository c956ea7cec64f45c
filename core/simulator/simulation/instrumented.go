package simulation

import (
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/observe/arena"
	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// runInstrumented runs a kernel that records by itself, and makes a recording of what it left in its arena.
func runInstrumented(j *job.Job, p *simt.Program, l *simt.Launch, about About, r *recorder.Record) (*Document, error) {
	if r.Instrumented.Plan {
		return runPlanned(j, p, l, about, r)
	}
	launch := about.launch(l)
	left, err := arenaOf(launch, l, r)
	if err != nil {
		return nil, err
	}
	launch.Arguments = recordedArguments(l)
	rec, err := recorder.New(launch, r, site.NewTable(left.Table.Sites), warptrace.MeansInstrumented)
	if err != nil {
		return nil, err
	}
	defer rec.Abort()
	rec.Note(left.Table.Warning)
	if err := left.Prepare(nil); err != nil {
		return nil, err
	}
	kept := &stored{recorder: rec, arena: left}
	result, err := p.Observe(j, l, kept.recording(r), kept.observers)
	if err != nil {
		return nil, err
	}
	if err := kept.finish(); err != nil {
		return nil, err
	}
	doc := describe(l, &about, result)
	doc.Recording, err = rec.Commit()
	return doc, err
}

// arenaOf is the arena of a launch.
func arenaOf(launch *recorder.Launch, l *simt.Launch, r *recorder.Record) (*recorder.Arena, error) {
	at := r.Instrumented.Arena
	if at < 0 || at >= len(l.Memory) {
		return nil, fault.Usagef("the launch has no piece of memory %d for its arena", at)
	}
	names := make([]string, len(l.Params))
	for i := range l.Params {
		names[i] = l.Params[i].Name
	}
	return recorder.NewArena(launch, r, names, l.Memory[at].Bytes)
}

// moveArrays says in the arena of a launch, which somebody else has prepared, where the kernel finds its arrays: of an argument it sees an address
// of the simulator, not that which the host knows.
func moveArrays(l *simt.Launch) {
	var addresses []uint64
	for i := range l.Params {
		at := l.Params[i].Allocation
		if at < 0 || l.Memory[at].Host != l.Params[i].Bits {
			continue
		}
		if addresses == nil {
			addresses = memory.Addresses(l.Memory)
		}
		arena.Move(l.Memory[at].Bytes, func(address uint64) uint64 {
			for k := range l.Memory {
				if inside := address - l.Memory[k].Host; inside < uint64(len(l.Memory[k].Bytes)) {
					return addresses[k] + inside
				}
			}
			return 0
		})
	}
}
