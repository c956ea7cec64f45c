package simulation

import (
	"cmp"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/simt/target"
)

// About is what a recording says of its launch that the launch itself does not know.
type About struct {
	Number     uint64         // of the launch in the session
	Called     string         // what people call the kernel; "": as the PTX does
	ModuleHash string         // of the PTX
	Producer   string         // who records
	Code       func() string  // the PTX as recordings hold it; nil: they hold none
	Origin     *origin.Origin // what the kernel computes; nil: no compiler of graphs made it
}

// name is what the kernel of a launch is called.
func (a *About) name(l *simt.Launch) string { return cmp.Or(a.Called, l.Kernel) }

// launch is what a recording says of a launch, but for its arguments.
func (a *About) launch(l *simt.Launch) *recorder.Launch {
	return &recorder.Launch{
		Kernel: a.name(l), Entry: l.Kernel, Grid: l.Grid, Block: l.Block, Cluster: l.Cluster, Arch: target.SM80.Name, ArchNumber: target.SM80.Number,
		Number: a.Number, ModuleHash: a.ModuleHash, Producer: a.Producer, Code: a.Code, Origin: a.Origin,
	}
}

// Run runs a launch and says what it did. It is recorded as r says, not at all where r is nil, and observed as w says, likewise. Memory that
// the process cannot access is an error that names the array.
func Run(j *job.Job, p *simt.Program, l *simt.Launch, about About, r *recorder.Record, w *Watch) (doc *Document, err error) {
	if err := about.Origin.Check(); err != nil {
		return nil, err
	}
	err = safe.Call(func() (err error) {
		doc, err = run(j, p, l, about, r, w)
		return err
	})
	if err != nil {
		return nil, lostMemory(err, l)
	}
	doc.of(about.Origin)
	return doc, nil
}

func run(j *job.Job, p *simt.Program, l *simt.Launch, about About, r *recorder.Record, w *Watch) (*Document, error) {
	seen, err := w.watched(l)
	if err != nil {
		return nil, err
	}
	if r == nil {
		moveArrays(l)
		result, err := p.Observe(j, l, nil, seen.with)
		if err != nil {
			return nil, err
		}
		return seen.describe(describe(l, &about, result)), nil
	}
	if r.Instrumented != nil {
		return runInstrumented(j, p, l, about, r)
	}
	if _, err := r.Check(); err != nil {
		return nil, err
	}
	names := make([]string, len(l.Params))
	for i := range l.Params {
		names[i] = l.Params[i].Name
	}
	sites, err := p.SitesNamed(l.Kernel, names)
	if err != nil {
		return nil, err
	}
	launch := about.launch(l)
	launch.Arguments = recordedArguments(l)
	rec, err := recorder.New(launch, r, sites, warptrace.MeansObserved)
	if err != nil {
		return nil, err
	}
	defer rec.Abort()
	var result *simt.Result
	err = rec.Checkpointed(j.Context(), func() (err error) {
		result, err = p.Observe(j, l, observing(r, rec), seen.with)
		return err
	})
	if err != nil {
		return nil, err
	}
	doc := seen.describe(describe(l, &about, result))
	doc.Recording, err = rec.Commit()
	return doc, err
}

// observing asks the simulator for what is recorded of a kernel that is watched.
func observing(r *recorder.Record, rec *recorder.Recorder) *simt.Recording {
	return &simt.Recording{
		Mode: rec.Mode(), Predicates: r.Predicates, Stores: r.Stores, Atomics: r.Atomics, Loads: r.Loads, Barriers: r.Barriers,
		EventsPerWarp: r.EventsPerWarp, Filter: observe.Filter{Places: r.Places}, Warps: r.Warps, Warp: rec.Warp,
		Written: !r.NoWritten, Keep: r.Outputs, Outputs: rec.Outputs, Contents: rec.Contents,
	}
}
