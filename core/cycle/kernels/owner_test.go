package kernels

import (
	"slices"
	"testing"
)

func TestRangesOfEmitNVTXAreOperators(t *testing.T) {
	for name, want := range map[string]struct {
		operator string
		sequence int64
		ok       bool
	}{
		"aten::mm, op_id = 40":                                 {"aten::mm", 0, true},
		"aten::mm, seq = 12, op_id = 40, sizes = [[2, 3], []]": {"aten::mm", 12, true},
		"MmBackward0, seq = 12, op_id = 91":                    {"MmBackward0", 12, true},
		"forward":                                              {"forward", 0, false},
		"a, b":                                                 {"a", 0, false},
		"x, seq = y":                                           {"x", 0, false},
		"x, seq = 99999999999999999999999":                     {"x", 0, false},
	} {
		operator, sequence, ok := emitted([]byte(name))
		if ok != want.ok || ok && (string(operator) != want.operator || sequence != want.sequence) {
			t.Errorf("%q: got %q %d %v", name, operator, sequence, ok)
		}
	}
}

func TestNumbersAtTheEndOfARangeAreItsPlace(t *testing.T) {
	for name, want := range map[string]Part{
		"layer 3": {"layer", 3}, "layer_12": {"layer", 12}, "block.0": {"block", 0}, "forward": {"forward", -1}, "7": {"7", -1}, "x99999999999": {"x99999999999", -1},
	} {
		if got := rangePart(name); got != want {
			t.Errorf("%q: got %+v", name, got)
		}
	}
}

// TestRangesNestByThread has two threads, ranges that end before a call, and one that begins with it.
func TestRangesNestByThread(t *testing.T) {
	r := &ownerReader{texts: map[string]uint32{}, threads: map[[2]int32]int32{}, owners: newOwners()}
	add := func(thread int32, name string, kind rangeKind, start, end int64) {
		r.ranges = append(r.ranges, hostRange{start: start, end: end, thread: thread, name: r.text([]byte(name)), kind: kind})
	}
	add(1, "nn.Module: Other_0", moduleRange, 0, 1000)
	add(0, "nn.Module: Norm_1", moduleRange, 30, 40)
	add(0, "nn.Module: Model_0", moduleRange, 10, 100)
	add(0, "nn.Module: Norm_0", moduleRange, 20, 30)
	add(0, "aten::mm", operatorRange, 20, 30)
	add(0, "aten::add", operatorRange, 30, 31)
	add(0, "empty", namedRange, 200, 300)
	r.calls = []launchCall{{35, 0, 3}, {25, 0, 1}, {30, 0, 2}, {150, 0, 4}, {500, 1, 5}, {5, 0, 6}, {5, 2, 7}, {250, 0, 8}, {250, 1, 8}}
	r.nest()
	for number, want := range map[uint64][2]string{
		1: {"Model / Norm[0]", "aten::mm"}, 2: {"Model / Norm[1]", "aten::add"}, 3: {"Model / Norm[1]", ""}, 4: {"", ""}, 5: {"Other", ""}, 6: {"", ""}, 7: {"", ""}, 8: {"empty", ""},
	} {
		o := r.owners.all[r.ofNumber[number]]
		if got := [2]string{PathText(o.Path, o.Backward), o.Operator}; got != want {
			t.Errorf("call %d: got %q, want %q", number, got, want)
		}
	}
	if !r.twice[8] || len(r.twice) != 1 {
		t.Errorf("numbers of several threads: %v", r.twice)
	}
	if !slices.IsSortedFunc(r.calls, func(a, b launchCall) int { return int(a.thread - b.thread) }) {
		t.Error("the calls are not in order of threads")
	}
}

func TestSizesHaveOneDigit(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 4 << 20: "4.0 MiB", 1 << 62: "4.0 EiB"} {
		if got := sizeText(n); got != want {
			t.Errorf("%d: got %s", n, got)
		}
	}
}
