package chrometrace

import (
	"bytes"
	"context"
	"math"
	"strconv"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
)

var _ source.Recorded = (*trace)(nil)

// Groups returns what the documents that were merged into this one said about process groups.
func (t *trace) Groups(ctx context.Context, src *file.Source) (map[string]*source.Distributed, error) {
	return distributedOfNodes(ctx, src, t)
}

// Communication visits the kernels of NCCL and RCCL, with what PyTorch's profiler wrote beside them.
func (t *trace) Communication(ctx context.Context, src *file.Source, visit func(k *source.Communication)) (omitted int64, err error) {
	known := texts{map[string]string{}}
	return t.CollectivesOmitted, collectiveKernels(ctx, src, t, func(e *Event) error {
		if e.Timed && e.Phase == 'X' && !e.End.Before(e.Start) {
			k := known.communication(e)
			visit(&k)
		}
		return nil
	})
}

// communication reads what is written beside a kernel. The args are gone through once, and their texts, of which there are few, are made once.
func (t *texts) communication(e *Event) source.Communication {
	k := source.Communication{Span: spanOf(e), Name: t.of(e.Name)}
	e.args(func(key, value []byte) bool {
		switch string(key) {
		case "Collective name":
			k.Collective, k.HasCollective = t.of(value), true
		case "Process Group Name":
			k.Group = t.of(value)
		case "Process Group Description":
			k.Description = t.of(value)
		case "Process Group Ranks":
			k.Ranks = t.of(value)
		case "In split size":
			k.InSplit = t.of(value)
		case "Out split size":
			k.OutSplit = t.of(value)
		case "device":
			k.Device, _ = integer(value)
		case "correlation":
			k.Correlation, _ = integer(value)
		case "stream":
			k.Stream, _ = integer(value)
		case "Group size":
			k.GroupSize, _ = integer(value)
		case "In msg nelems":
			k.Elements, _ = integer(value)
		case "dtype":
			k.ElementBytes = elementBytes[string(value)]
		case "Seq":
			k.Seq, k.HasSeq = integer(value)
		case "Src Rank":
			k.Source, k.HasSource = integer(value)
		case "Dst Rank":
			k.Target, k.HasTarget = integer(value)
		case "Comms Id":
			id, err := strconv.ParseUint(string(value), 10, 64)
			k.ID, k.HasID = int64(id), err == nil
		}
		return true
	})
	return k
}

// elementBytes are the sizes of PyTorch's types.
var elementBytes = map[string]uint8{
	"Byte": 1, "Char": 1, "Bool": 1, "Float8_e4m3fn": 1, "Float8_e5m2": 1, "Float8_e4m3fnuz": 1, "Float8_e5m2fnuz": 1,
	"Short": 2, "Half": 2, "BFloat16": 2, "UInt16": 2, "Int": 4, "Float": 4, "UInt32": 4, "ComplexHalf": 4,
	"Long": 8, "Double": 8, "UInt64": 8, "ComplexFloat": 8, "ComplexDouble": 16,
}

// texts holds what was read before, up to a limit.
type texts struct{ known map[string]string }

func (t *texts) of(b []byte) string {
	if s, ok := t.known[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(t.known) < 1<<12 {
		t.known[s] = s
	}
	return s
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
func (t *trace) Around(ctx context.Context, src *file.Source, v source.AroundVisitor) error {
	want := func(phase byte, cat, name []byte) bool {
		return phase == 'X' && (len(cat) == 0 || v.Launches && (isCall(cat) || isCommunicationRange(cat, name)) || v.Executed != nil && isExecuted(cat, name))
	}
	return Events(ctx, src, t, want, func(e *Event) error {
		if !e.Timed || e.Process == nil || e.End.Before(e.Start) { // what ends before it begins was not measured
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
