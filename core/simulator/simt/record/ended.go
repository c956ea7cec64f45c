package record

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// written says what the launch wrote, and what was looked at.
func (r *recorder) written(l *execute.Running, result *execute.Result) error {
	if r.outputs == nil { // no block ever began
		r.outputs = newOutputs(l, r.plan, r.request.Keep, nil)
	}
	out := &warptrace.Outputs{Coverage: r.coverage(l, result), Stores: r.outputs.sortedTotals()}
	if n := len(out.Stores); n > warptrace.MaxStoreTotals {
		out.Stores = out.Stores[:warptrace.MaxStoreTotals]
		out.Coverage.RowsDropped += uint64(n - warptrace.MaxStoreTotals)
	}
	r.findings(l, result, out)
	r.outputs.finish(out)
	kept := r.outputs.share(out.Arrays, r.request.Keep)
	for _, n := range kept {
		out.Coverage.ContentBytes += n
	}
	if err := r.request.Outputs(out); err != nil {
		return err
	}
	return r.outputs.hand(kept, r.request.Contents)
}

// coverage says what is recorded of a launch.
func (r *recorder) coverage(l *execute.Running, result *execute.Result) warptrace.Coverage {
	q, o := r.request, &l.Request.Options
	digest := q.Mode == warptrace.ModeDigest
	return warptrace.Coverage{
		ControlFlow: !digest, Predicates: q.Predicates && !digest, StoreEvents: q.Stores && !digest, AtomicEvents: q.Atomics && !digest,
		LoadEvents: q.Loads && !digest, BarrierEvents: q.Barriers && !digest, Rolling: digest, Values: q.Mode == warptrace.ModeValues,
		Stores: true, Arrays: true, Checks: true, Races: !o.NoRaces, GlobalRaces: o.GlobalRaces, NaN: o.NaN, Stopped: o.StopAtFirst && len(result.Findings) > 0,
		StoreSites: uint64(len(r.plan.statements)), ContentBudget: q.Keep, Writers: r.outputs.writers,
	}
}

// findings puts what the checks found into the recording.
func (r *recorder) findings(l *execute.Running, result *execute.Result, out *warptrace.Outputs) {
	numbers := map[string]map[int32]uint32{}
	for i := range r.sites.Marks {
		m := &r.sites.Marks[i]
		if numbers[m.Function.Name] == nil {
			numbers[m.Function.Name] = map[int32]uint32{}
		}
		if old, ok := numbers[m.Function.Name][m.Inst]; !ok || r.sites.Marks[old].Kind == site.Predicate {
			numbers[m.Function.Name][m.Inst] = uint32(i)
		}
	}
	out.Coverage.MoreFindings = uint64(result.MoreFindings)
	for i := range result.Findings {
		f := &result.Findings[i]
		if i >= warptrace.MaxFindings {
			out.Coverage.MoreFindings += uint64(f.Count)
			continue
		}
		found := warptrace.Finding{
			Check: string(f.Check), Site: warptrace.NoSite, Function: clipped(f.Function), Instruction: clipped(f.Text), Block: f.Block,
			Lanes: uint64(f.Lanes), Lane: uint32(f.Lane), Count: uint64(f.Count), Message: clipped(f.Message),
			Warp: l.BlockNumber(f.Block)*uint64(l.Warps) + uint64(f.Warp),
		}
		if n, ok := numbers[f.Function][f.Inst]; ok {
			found.Site = n
		}
		if len(f.Where) > 0 {
			found.File, found.Line, found.Column = clipped(f.Where[0].File), f.Where[0].Line, f.Where[0].Column
		}
		if f.Fault != nil {
			found.Array, found.Distance = clipped(f.Fault.Nearest), f.Fault.Distance
		}
		out.Findings = append(out.Findings, found)
	}
}

// textBytes is how much of a text of the program a recording holds: names of hostile programs have no end.
const textBytes = 1 << 10

func clipped(s string) string {
	if len(s) > textBytes {
		return s[:textBytes] + "..."
	}
	return s
}

// finish digests the arrays that were written.
func (o *outputs) finish(out *warptrace.Outputs) {
	chunks := 0
	for _, a := range o.all {
		if a.pages == nil {
			continue
		}
		most := warptrace.MaxChunks - chunks
		if len(out.Arrays) == warptrace.MaxArrays {
			most = 0
		}
		out.Coverage.ChunksDropped += a.finish(o.global.Bytes(a.allocation), o.namesIn(a), most)
		chunks += len(a.Chunks)
		if len(out.Arrays) < warptrace.MaxArrays {
			out.Arrays = append(out.Arrays, a.Array)
		}
	}
}

// namesIn is who names the addresses that an array may hold: in numbers of other types, nobody looks for any.
func (o *outputs) namesIn(a *writtenArray) namer {
	if a.ElementBytes == 1 || isTable(a.Type) {
		return o.arrays
	}
	return nil
}

// share says how many bytes of each array are kept: small arrays whole, and large ones as much of each as there is room for.
func (o *outputs) share(list []warptrace.Array, budget uint64) map[uint32]uint64 {
	bySize := slices.DeleteFunc(slices.Clone(list), func(a warptrace.Array) bool { return a.Kind == warptrace.ArrayScratch })
	slices.SortStableFunc(bySize, func(a, b warptrace.Array) int { return cmp.Compare(a.Written, b.Written) })
	kept := map[uint32]uint64{}
	for i := range bySize {
		a := &bySize[i]
		room := budget / uint64(len(bySize)-i)
		for k := range a.Chunks {
			n := uint64(a.Chunks[k].Bytes)
			if kept[a.ID]+n > room {
				break
			}
			kept[a.ID] += n
		}
		budget -= kept[a.ID]
	}
	return kept
}

// hand gives the contents that are kept, from the front of each array, to whoever asked for them.
func (o *outputs) hand(kept map[uint32]uint64, give func(*warptrace.Contents) error) (err error) {
	var who func(uint64) warptrace.Writer
	if o.writers {
		who = o.writer
	}
	for _, a := range o.all {
		left := kept[a.ID]
		if left == 0 {
			continue
		}
		k := 0
		a.chunks(func(bit int64, words []uint64) {
			if err != nil || k == len(a.Chunks) || uint64(a.Chunks[k].Bytes) > left {
				left = 0
				return
			}
			left -= uint64(a.Chunks[k].Bytes)
			k++
			err = give(a.contents(o.global.Bytes(a.allocation), bit, words, o.namesIn(a), who))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writer is the thread that wrote an element.
func (o *outputs) writer(packed uint64) warptrace.Writer {
	if packed == 0 {
		return warptrace.Writer{Site: warptrace.NoSite}
	}
	block := packed>>writerShift - 1
	if order := o.launch.Order; order != nil {
		block = order[block]
	}
	thread := packed >> writerStatementBits & (1<<writerThreadBits - 1)
	return warptrace.Writer{
		Site: o.statements[packed&(1<<writerStatementBits-1)], Lane: uint32(thread % lane.Lanes),
		Warp: block*uint64(o.launch.Warps) + thread/lane.Lanes,
	}
}
