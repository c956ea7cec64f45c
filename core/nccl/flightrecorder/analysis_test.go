package flightrecorder

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// call is an operation of a test's dump.
type call struct {
	group string
	seq   int64
	op    string
	size  int64
	typ   string
	state state
}

func done(group string, seq int64, op string) call {
	return call{group, seq, op, 16, "Float", completed}
}

// dumps makes a dump of each rank. Groups: "w" of all ranks, "a" of ranks 0 and 1, "b" of 1 and 2, "c" of 2 and 0.
func dumps(ranks ...[]call) []*dump {
	var out []*dump
	all := make([]int, len(ranks))
	for i := range all {
		all[i] = i
	}
	for rank, calls := range ranks {
		if calls == nil {
			continue
		}
		d := &dump{Path: fmt.Sprintf("trace_%d", rank), Rank: rank, Version: "2.10", Groups: map[string]processGroup{}}
		for name, members := range map[string][]int{"w": all, "a": {0, 1}, "b": {1, 2}, "c": {0, 2}} {
			d.Groups[name] = processGroup{Name: name, Description: "group " + name, Ranks: members}
		}
		for i, c := range calls {
			e := entry{
				Record: int64(i), Sequence: c.seq, Group: c.group, State: c.state, InputSizes: [][]int64{{c.size}}, OutputSizes: [][]int64{{c.size}},
				InputTypes: []string{c.typ}, OutputTypes: []string{c.typ}, Source: -1, Target: -1, Frames: []frame{{"step", "train.py", int64(10 + i)}},
			}
			e.name("nccl:" + c.op)
			d.Entries = append(d.Entries, e)
		}
		out = append(out, d)
	}
	return out
}

func analyzed(t *testing.T, ranks ...[]call) *Result {
	t.Helper()
	r, err := Analyze(dumps(ranks...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// steps are n AllReduces of the group of all, of which the last has a state.
func steps(n int, last state) (out []call) {
	for i := 1; i <= n; i++ {
		out = append(out, done("w", int64(i), "all_reduce"))
	}
	out[n-1].state = last
	return out
}

func TestRanksThatAgreeAreSaidToHaveBeenComparedAndMatch(t *testing.T) {
	r := analyzed(t, steps(5, completed), steps(5, completed), steps(5, completed))
	if !r.Passed || len(r.Findings) != 0 || r.Groups[len(r.Groups)-1].Matched != 5 || !strings.Contains(r.Verdict, "all 5 operations") {
		t.Errorf("%+v", r)
	}
	if r := analyzed(t, nil, nil, steps(5, completed)); r.Passed {
		t.Errorf("one rank of three agrees with nobody: %q", r.Verdict)
	}
	if r := analyzed(t, []call{}, []call{}); r.Passed || !strings.Contains(r.Verdict, "nothing could be compared") {
		t.Errorf("nothing was looked at: %q", r.Verdict)
	}
}

// TestTheCulpritIsNamed, with the class, the rank, the number, and where it is in the program.
func TestTheCulpritIsNamed(t *testing.T) {
	with := func(c []call, change func(last *call)) []call {
		c = slices.Clone(c)
		change(&c[len(c)-1])
		return c
	}
	ok := steps(4, started)
	for name, c := range map[string]struct {
		ranks [][]call
		class class
		who   []int
		says  []string
	}{
		"missing": {[][]call{ok, ok, steps(3, completed), ok}, missing, []int{2}, []string{"rank 2 never called all_reduce #4", "ranks 0, 1, 3 wait", "train.py:12"}},
		"another operation": {
			[][]call{ok, with(ok, func(c *call) { c.op = "barrier" }), ok},
			wrongOperation,
			[]int{1},
			[]string{"rank 1 disagrees", "rank 1: barrier", "train.py:13"},
		},
		"another size":       {[][]call{ok, ok, with(ok, func(c *call) { c.size = 17 })}, wrongSize, []int{2}, []string{"[[17]]"}},
		"another type":       {[][]call{ok, ok, with(ok, func(c *call) { c.typ = "Half" })}, wrongType, []int{2}, []string{"Half"}},
		"two against two":    {[][]call{ok, ok, with(ok, func(c *call) { c.typ = "Half" }), with(ok, func(c *call) { c.typ = "Half" })}, wrongType, []int{0, 1, 2, 3}, []string{"cannot say"}},
		"one does not leave": {[][]call{steps(4, completed), ok, steps(4, completed)}, unfinished, []int{1}, []string{"rank 1 has not come out"}},
		"all hang":           {[][]call{ok, ok, ok}, hung, nil, []string{"below torch.distributed"}},
		"a rank has no dump": {[][]call{ok, ok, nil}, unrecorded, nil, []string{"rank 2 gave no dump"}},
		"gathered too little": {
			[][]call{{{"w", 1, "all_gather", 8, "Float", started}}, {{"w", 1, "all_gather", 8, "Float", started}}},
			wrongSize,
			[]int{0, 1},
			[]string{"input of 8 and output of 8 elements in a group of 2"},
		},
	} {
		r := analyzed(t, c.ranks...)
		if len(r.Findings) == 0 || r.Passed {
			t.Errorf("%s: nothing found: %+v", name, r)
			continue
		}
		f := r.Findings[0]
		if f.Class != c.class || !slices.Equal(f.Ranks, c.who) {
			t.Errorf("%s: got %s of %v: %s", name, f.Class, f.Ranks, f.Sentence)
		}
		for _, s := range c.says {
			if !strings.Contains(r.Verdict, s) {
				t.Errorf("%s: %q is not in %q", name, s, r.Verdict)
			}
		}
	}
}

// TestWhatMadeRoomIsNotMissing: rank 1's buffer begins later than the others'.
func TestWhatMadeRoomIsNotMissing(t *testing.T) {
	d := dumps(steps(8, completed), steps(8, completed))
	d[1].Entries = d[1].Entries[5:]
	for _, n := range []int{0, 1} {
		d[0], d[1] = d[n], d[1-n]
		r, err := Analyze(d)
		if err != nil || !r.Passed || r.Groups[0].Compared != 3 {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// TestTheRootOfAChainIsTheVerdict: rank 0 waits for 1 in one group, which waits for 2 in another, which calls nothing.
func TestTheRootOfAChainIsTheVerdict(t *testing.T) {
	wait := func(group string) []call {
		return []call{done("w", 1, "barrier"), {group, 1, "all_reduce", 4, "Float", started}}
	}
	r := analyzed(t, wait("a"), wait("b"), []call{done("w", 1, "barrier")})
	if r.Cycle || len(r.Chain) != 2 || !strings.Contains(r.Verdict, "rank 2 never called all_reduce #1 of group b") {
		t.Errorf("%q, %q", r.Verdict, r.Chain)
	}
	r = analyzed(t, wait("a"), wait("b"), wait("c"))
	if !r.Cycle || len(r.Chain) != 3 || !strings.HasPrefix(r.Verdict, "deadlock: ") {
		t.Errorf("%q, %q", r.Verdict, r.Chain)
	}
}

func TestSendsAndReceivesArePairedInOrder(t *testing.T) {
	send := func(from, to int, state state) call {
		return call{"w", 0, fmt.Sprintf("send %d->%d", from, to), 4, "Float", state}
	}
	recv := func(to, from int, size int64, state state) call {
		return call{"w", 0, fmt.Sprintf("recv %d<-%d", to, from), size, "Float", state}
	}
	r := analyzed(t, []call{send(0, 1, completed), send(0, 1, completed)}, []call{recv(1, 0, 4, completed), recv(1, 0, 4, completed)})
	if !r.Passed || r.Groups[0].Paired != 2 {
		t.Errorf("%+v", r)
	}
	r = analyzed(t, []call{send(0, 1, completed), send(0, 1, started)}, []call{recv(1, 0, 4, completed)})
	if len(r.Findings) != 1 || r.Findings[0].Class != unmatched || !strings.Contains(r.Verdict, "rank 1 never called the receive") {
		t.Errorf("%+v", r)
	}
	r = analyzed(t, []call{send(0, 1, started)}, []call{recv(1, 0, 5, started)})
	if len(r.Findings) != 1 || r.Findings[0].Class != wrongSize {
		t.Errorf("%+v", r)
	}
	r = analyzed(t, []call{send(0, 1, started)}, []call{send(1, 0, started)}) // each waits for the other to receive
	if !r.Cycle {
		t.Errorf("%+v", r)
	}
}

func TestAlltoallsMayBeUnevenButMustAddUp(t *testing.T) {
	all := func(in, out int64) []*dump {
		d := dumps([]call{done("w", 1, "all_to_all")}, []call{done("w", 1, "all_to_all")})
		d[0].Entries[0].InputSizes, d[0].Entries[0].OutputSizes = [][]int64{{in}}, [][]int64{{3}}
		d[1].Entries[0].InputSizes, d[1].Entries[0].OutputSizes = [][]int64{{2}}, [][]int64{{out}}
		return d
	}
	if r, _ := Analyze(all(5, 4)); len(r.Findings) != 0 || r.Groups[0].Undecided != 1 || r.Passed {
		t.Errorf("7 given, 7 taken: %+v", r)
	}
	if r, _ := Analyze(all(5, 5)); len(r.Findings) != 1 || r.Findings[0].Class != wrongSize {
		t.Errorf("7 given, 8 taken: %+v", r)
	}
}

func TestTwoDumpsOfOneRankAreRefused(t *testing.T) {
	d := dumps(steps(1, completed))
	if _, err := Analyze(append(d, d[0])); err == nil {
		t.Error("accepted")
	}
}
