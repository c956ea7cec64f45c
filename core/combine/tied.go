package combine

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/safe"
	"github.com/prlx-go/prlx/core/trace/formats"
	"github.com/prlx-go/prlx/core/trace/source"
)

// tieRecordings compares the kernels that a recording and the trace of its process both show. Where they contradict each other the recording is moved onto the
// clock of the trace, and it is said.
func (in *inputs) tieRecordings(j *job.Job) error {
	for k, n := range in.nodes {
		if n.beside == nil {
			if n.namedByProcess(in.nodes) {
				in.said.note("no trace is of the process of %s, or several may be: its kernels are compared with none", n.ID)
			}
			continue
		}
		if !n.byProcess {
			in.said.note("%s is taken to be of the process of %s, by its rank: the trace does not name its process", n.ID, n.beside.ID)
		}
		same, err := sameKernels(j.Context(), n)
		if err != nil {
			return err
		}
		same.Recording, same.Trace = n.ID, n.beside.ID
		said := fmt.Sprintf("%d kernels of NCCL that %s and %s both show begin %.3f us apart, known to %.3f us", same.Kernels, n.beside.ID, n.ID, float64(same.OffsetNS)/1e3, float64(same.BoundNS)/1e3)
		switch same.Verdict {
		case kernelsAgree:
			in.said.note("%s: their clocks agree", said)
		case kernelsUnseen:
			in.said.note("the kernels of %s are not compared with those of %s: %s", n.ID, n.beside.ID, same.Because)
		case kernelsAmbiguous:
			in.doubted[k] = true
			in.said.warn("%s, and other ones fit as well: the clocks of one process contradict each other, and by how much is not known", said)
		case kernelsContradict:
			in.doubted[k] = true
			same.MovedNS = same.OffsetNS
			in.said.warn("%s: the clocks of one process contradict each other, and %s is moved by that", said, n.ID)
			n.move(same.MovedNS)
		}
		in.same = append(in.same, same)
	}
	return nil
}

// move moves a recording.
func (n *Node) move(ns int64) {
	n.Trace.(source.Accompanying).Move(ns)
	n.facts, n.layout = n.Trace.Facts(), n.Trace.Layout()
	n.start = n.facts.StartNS
}

// sameKernels compares the kernels of a recording with those of the trace beside it.
func sameKernels(ctx context.Context, n *Node) (SameKernels, error) {
	of := n.beside
	if !of.absolute || !n.absolute || of.aligned || n.Src == nil || of.Src == nil {
		return SameKernels{Verdict: kernelsUnseen, Because: "the trace is not on the clock of its host"}, nil
	}
	var traced, executed []source.Execution
	err := of.Trace.Visit(ctx, of.Src, source.Kernels, of.start, func(e *source.Event) error {
		function := libraryFunction(e.Name)
		if function != "" && e.Timed && e.DurationPS >= 0 && len(traced) < mostExecuted {
			at := source.After(e.BaseNS, e.OffsetPS).NS
			traced = append(traced, source.Execution{Function: function, StartNS: at, EndNS: at + e.DurationPS/1000})
		}
		return nil
	})
	if err != nil {
		return SameKernels{}, withPath(err, of.Path)
	}
	err = n.Trace.(source.Accompanying).Executed(ctx, n.Src, func(k *source.Execution) {
		one := *k
		one.Function = oneKernel(k.Function)
		executed = append(executed, one)
	})
	if err != nil {
		return SameKernels{}, withPath(err, n.Path)
	}
	for _, list := range [][]source.Execution{traced, executed} {
		slices.SortStableFunc(list, func(a, b source.Execution) int { return cmp.Compare(a.StartNS, b.StartNS) })
	}
	return compareKernels(traced, executed), nil
}

// writeAsXSpaces makes XSpaces of recordings of libraries, where that is what is written. What they tell of collectives is found before: an XSpace does not say it.
func (in *inputs) writeAsXSpaces(j *job.Job) error {
	for k, n := range in.nodes {
		own, ok := n.Trace.(source.Accompanying)
		if !ok || n.Src == nil {
			continue
		}
		if in.found[k].parts == nil {
			var err error
			if in.found[k], err = extract(j.Context(), n, len(in.nodes)); err != nil {
				return withPath(err, n.Path)
			}
		}
		for _, p := range in.found[k].parts { // one plane stands before those of the recording
			for i := range p.Spans {
				p.Spans[i].Plane++
			}
		}
		if err := n.becomeXSpace(j.Context(), own); err != nil {
			return withPath(err, n.Path)
		}
	}
	return nil
}

// becomeXSpace replaces a recording by an XSpace that says the same.
func (n *Node) becomeXSpace(ctx context.Context, own source.Accompanying) error {
	r, w := io.Pipe()
	var spooled *file.Source
	group, during := safe.NewGroup(ctx)
	group.Go(func() error {
		err := own.WriteXSpace(during, n.Src, w)
		w.CloseWithError(err) // nil is the end
		return nil
	})
	group.Go(func() error {
		var err error
		spooled, err = file.Spool(during, n.Path, r, mostXSpace)
		r.CloseWithError(err)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	n.Src.Close()
	n.Src = spooled
	trace, format, err := formats.Scan(ctx, spooled, source.ScanOptions{})
	if err != nil {
		return err
	}
	n.adopt(trace, format)
	n.start, n.absolute = n.facts.StartNS, n.facts.Dated
	return nil
}

// mostXSpace is how large the XSpace of one recording may be.
const mostXSpace = int64(1) << 36
