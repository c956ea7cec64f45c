package chrometrace

import (
	"bytes"
	"context"
	"math"
	"strconv"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/timeline/source"
)

var _ source.Recorded = (*Trace)(nil)

// Groups returns what the documents that were merged into this one said about process groups.
func (t *Trace) Groups(ctx context.Context, src *file.Source) (map[string]*source.Distributed, error) {
	return DistributedOfNodes(ctx, src, t)
}

// Communication visits the kernels of NCCL and RCCL, with what PyTorch's profiler wrote beside them.
func (t *Trace) Communication(ctx context.Context, src *file.Source, visit func(k *source.Communication)) (omitted int64, err error) {
	return t.CollectivesOmitted, CollectiveKernels(ctx, src, t, func(e *Event) error {
		if e.Timed && e.Phase == 'X' {
			k := communication(e)
			visit(&k)
		}
		return nil
	})
}

func communication(e *Event) source.Communication {
	k := source.Communication{Span: spanOf(e), Name: string(e.Name)}
	text := func(key string, to *string) bool {
		v, ok := e.Arg(key)
		*to = string(v)
		return ok
	}
	k.HasCollective = text("Collective name", &k.Collective)
	text("Process Group Name", &k.Group)
	text("Process Group Description", &k.Description)
	text("Process Group Ranks", &k.Ranks)
	text("In split size", &k.InSplit)
	text("Out split size", &k.OutSplit)
	k.Device, _ = e.ArgInt("device")
	k.Correlation, _ = e.ArgInt("correlation")
	k.Stream, _ = e.ArgInt("stream")
	k.GroupSize, _ = e.ArgInt("Group size")
	k.Elements, _ = e.ArgInt("In msg nelems")
	k.Seq, k.HasSeq = e.ArgInt("Seq")
	if text, ok := e.Arg("Comms Id"); ok {
		id, err := strconv.ParseUint(string(text), 10, 64)
		k.ID, k.HasID = int64(id), err == nil
	}
	k.Source, k.HasSource = e.ArgInt("Src Rank")
	k.Target, k.HasTarget = e.ArgInt("Dst Rank")
	return k
}

// spanOf is where and when an event is.
func spanOf(e *Event) source.Span {
	s := source.Span{Process: -1, Line: int32(e.Thread), Start: e.Start, EndNS: e.End.NS}
	if e.End.PS > 0 && s.EndNS < math.MaxInt64 {
		s.EndNS++
	}
	if e.Process != nil {
		s.Process = int32(e.Process.Index)
	}
	return s
}

func isCall(cat []byte) bool {
	return string(cat) == "cuda_runtime" || string(cat) == "cuda_driver" || string(cat) == "Runtime"
}

func isCommunicationRange(cat, name []byte) bool {
	return string(cat) == "user_annotation" && bytes.HasPrefix(name, []byte("nccl:"))
}

func isExecuted(cat, name []byte) bool {
	return string(cat) == "user_annotation" && bytes.HasPrefix(name, []byte("gloo:"))
}

// Around visits the events without a category, which JAX and crossed XSpaces have, and on demand calls of the runtime and the ranges that
// PyTorch puts around collectives.
func (t *Trace) Around(ctx context.Context, src *file.Source, v source.AroundVisitor) error {
	want := func(phase byte, cat, name []byte) bool {
		return phase == 'X' && (len(cat) == 0 || v.Launches && (isCall(cat) || isCommunicationRange(cat, name)) || v.Executed != nil && isExecuted(cat, name))
	}
	return Events(ctx, src, t, want, func(e *Event) error {
		if !e.Timed || e.Process == nil {
			return nil
		}
		switch {
		case len(e.Cat) == 0:
			v.Operation(&source.OperationEvent{Span: spanOf(e), Name: e.Name, Args: e})
		case isCall(e.Cat):
			c := source.Call{Span: spanOf(e)}
			c.Correlation, c.HasCorrelation = e.ArgInt("correlation")
			v.Call(&c)
		default:
			shapes, _ := e.Arg("Input Dims")
			take := v.Range
			if isExecuted(e.Cat, e.Name) {
				take = v.Executed
			}
			take(&source.Call{Span: spanOf(e), Name: string(e.Name), Shapes: string(shapes)})
		}
		return nil
	})
}
