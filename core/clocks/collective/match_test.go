package collective

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/hlo"
)

// randomJob makes executions of a few operations on nodes x devices, in random order, with some missing.
type randomJob struct {
	part           *Part
	nodes, devices int
	groups         [][][]int64 // by operation
	byRun          []bool
}

func newRandomJob(r *rand.Rand) *randomJob {
	j := &randomJob{part: newPart(0), nodes: 1 + r.IntN(4), devices: 1 + r.IntN(3)}
	n := j.nodes * j.devices
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i * 10) // global device ids, in order of node and device
	}
	for op := range 1 + r.IntN(3) {
		perm := r.Perm(n)
		var groups [][]int64
		for len(perm) > 0 {
			k := 1 + r.IntN(len(perm))
			var g []int64
			for _, p := range perm[:k] {
				g = append(g, int64(p))
			}
			groups, perm = append(groups, g), perm[k:]
		}
		j.groups = append(j.groups, groups)
		j.byRun = append(j.byRun, r.IntN(2) == 0)
		j.part.Ops = append(j.part.Ops, Op{Key: fmt.Sprintf("m/op.%d", op), Kind: event.AllReduce, Groups: groups, Devices: ids})
		drop := r.IntN(3) * 10
		for run := range 1 + r.IntN(6) {
			for slot := range n {
				for again := range 1 + r.IntN(2)*(run%2) {
					if r.IntN(100) >= drop {
						at := int64(run*1000 + again*100 + r.IntN(50))
						j.part.Spans = append(j.part.Spans, event.Span{
							Op: int32(op), Node: int32(slot / j.devices), Device: int32(slot % j.devices),
							HasRun: j.byRun[op], Run: int64(run * 7), StartNS: at, EndNS: at + 10,
						})
					}
				}
			}
		}
	}
	r.Shuffle(len(j.part.Spans), func(a, b int) { j.part.Spans[a], j.part.Spans[b] = j.part.Spans[b], j.part.Spans[a] })
	for slot := range n {
		j.part.DeviceIDs[Slot{int32(slot / j.devices), int32(slot % j.devices)}] = ids[slot]
	}
	return j
}

// slowTwin matches by asking, for every operation, launch and replica group, what each member executed.
func (j *randomJob) slowTwin() (groups []string, unmatched int) {
	for op := range j.part.Ops {
		runs := map[int64]bool{}
		for _, s := range j.part.Spans {
			if s.HasRun {
				runs[s.Run] = true
			}
		}
		if !j.byRun[op] {
			runs = map[int64]bool{0: true}
		}
		for run := range runs {
			for _, members := range j.groups[op] {
				if len(members) < 2 {
					continue
				}
				var lists [][]event.Span
				total := 0
				for _, p := range members {
					var list []event.Span
					for _, s := range j.part.Spans {
						if int(s.Op) == op && int64(int(s.Node)*j.devices+int(s.Device)) == p && (!j.byRun[op] || s.Run == run) {
							list = append(list, s)
						}
					}
					sort.Slice(list, func(a, b int) bool { return list[a].StartNS < list[b].StartNS })
					if total += len(list); len(list) > 0 {
						lists = append(lists, list)
					}
				}
				same := len(lists) > 1
				for _, l := range lists {
					same = same && len(l) == len(lists[0])
				}
				if !same {
					unmatched += total
					continue
				}
				for k := range lists[0] {
					var who []string
					for _, l := range lists {
						who = append(who, fmt.Sprintf("%d/%d@%d", l[k].Node, l[k].Device, l[k].StartNS))
					}
					slices.Sort(who)
					groups = append(groups, fmt.Sprint(op, who, len(members)-len(lists)))
				}
			}
		}
	}
	slices.Sort(groups)
	return groups, unmatched
}

func TestMatchEqualsTheSlowTwinOnRandomJobs(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	matched, lost := 0, 0
	for n := range 800 {
		j := newRandomJob(r)
		m := mustMatch(t, j.part)
		var got []string
		for _, g := range m.Groups {
			var who []string
			for _, member := range g.Members {
				s := &m.Part.Spans[member.Span]
				who = append(who, fmt.Sprintf("%d/%d@%d", s.Node, s.Device, s.StartNS))
			}
			slices.Sort(who)
			got = append(got, fmt.Sprint(m.Part.Spans[g.Members[0].Span].Op, who, g.Missing))
		}
		slices.Sort(got)
		want, unmatched := j.slowTwin()
		if !slices.Equal(got, want) || m.UnmatchedCount() != unmatched {
			t.Fatalf("job %d: got\n%s\n%d unmatched, want\n%s\n%d unmatched", n, strings.Join(got, "\n"), m.UnmatchedCount(), strings.Join(want, "\n"), unmatched)
		}
		matched, lost = matched+len(got), lost+unmatched
	}
	if matched < 1000 || lost < 1000 {
		t.Errorf("%d groups and %d unmatched in all: the jobs are too tame", matched, lost)
	}
}

func TestMatchDoesNotDependOnTheOrderOfExecutions(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		j := newRandomJob(r)
		describe := func() string {
			m := mustMatch(t, j.part)
			var b strings.Builder
			for _, g := range m.Groups {
				fmt.Fprint(&b, g.Occurrence, g.Replicas, g.How, g.Missing)
				for _, member := range g.Members {
					s := m.Part.Spans[member.Span]
					fmt.Fprint(&b, " ", s.Op, s.Node, s.Device, s.StartNS, member.Participant)
				}
				b.WriteByte('\n')
			}
			fmt.Fprint(&b, m.Unmatched, mustCheck(t, m, nil, 7).Worst)
			return b.String()
		}
		first := describe()
		r.Shuffle(len(j.part.Spans), func(a, b int) { j.part.Spans[a], j.part.Spans[b] = j.part.Spans[b], j.part.Spans[a] })
		if again := describe(); again != first {
			t.Fatalf("got\n%s\nafter shuffling\n%s", first, again)
		}
	}
}

// spread makes one launch of an operation on nodes x devices; ranks are those of the nodes, nil where unknown.
func spread(op Op, nodes, devices int, ranks []int) *Part {
	p := newPart(0)
	p.Ops = []Op{op}
	for n := range nodes {
		if ranks != nil {
			p.Ranks[int32(n)] = ranks[n]
		}
		for d := range devices {
			p.Spans = append(p.Spans, event.Span{Node: int32(n), Device: int32(d), HasRun: true, Run: 1, StartNS: int64(n*10 + d), EndNS: 100})
		}
	}
	return p
}

// withoutRank forgets the rank of a node.
func withoutRank(p *Part, node int32) *Part {
	delete(p.Ranks, node)
	return p
}

// repeatedOn records what a node executed once more, later by some ns.
func repeatedOn(p *Part, node int32, later int64) *Part {
	for _, s := range slices.Clone(p.Spans) {
		if s.Node == node {
			s.StartNS, s.EndNS = s.StartNS+later, s.EndNS+later
			p.Spans = append(p.Spans, s)
		}
	}
	return p
}

func TestWhoIsWho(t *testing.T) {
	iota := func(n int) []int64 {
		out := make([]int64, n)
		for i := range out {
			out[i] = int64(i)
		}
		return out
	}
	pairs := [][]int64{{0, 1}, {2, 3}}
	across := [][]int64{{0, 2}, {1, 3}}
	for _, c := range []struct {
		name    string
		part    *Part
		want    string // groups, as the nodes and devices of their members
		assumed bool
		reason  string
	}{
		{"in order of nodes and devices", spread(Op{Groups: across, Devices: iota(4)}, 2, 2, nil), "[0/0 1/0] [0/1 1/1]", true, ""},
		{"in order of ranks", spread(Op{Groups: pairs, Devices: iota(4)}, 4, 1, []int{3, 1, 2, 0}), "[1/0 3/0] [0/0 2/0]", true, ""},
		{"device ids need not be dense", spread(Op{Groups: pairs, Devices: []int64{0, 2048, 4096, 6144}}, 4, 1, nil), "[0/0 1/0] [2/0 3/0]", true, ""},
		{"the assignment need not be sorted", spread(Op{Groups: pairs, Devices: []int64{0, 2, 1, 3}}, 4, 1, nil), "[0/0 2/0] [1/0 3/0]", true, ""},
		{"every node a job of its own", spread(Op{Groups: [][]int64{{0, 1}}, Devices: iota(2)}, 2, 2, nil), "[0/0 0/1] [1/0 1/1]", false, ""},
		{"nodes missing, ranks known", spread(Op{Groups: [][]int64{{0, 1, 2, 3}, {4, 5, 6, 7}}, Devices: iota(8)}, 2, 2, []int{1, 0}), "[0/0 0/1 1/0 1/1]", true, ""},
		{"nodes missing, ranks unknown", spread(Op{Groups: [][]int64{{0, 1, 2, 3}, {4, 5, 6, 7}}, Devices: iota(8)}, 2, 2, nil), "", false, reasonWho},
		{"nodes missing, one group", spread(Op{Groups: [][]int64{{0, 1, 2}}, Devices: iota(3)}, 2, 1, nil), "[0/0 1/0]", false, ""},
		{"groups that name everyone stand for the assignment", spread(Op{Groups: across}, 2, 2, nil), "[0/0 1/0] [0/1 1/1]", true, ""},
		{"more devices than the group has members", spread(Op{Groups: [][]int64{{5, 6}}}, 3, 1, nil), "", false, reasonWho},
		{"nothing known", spread(Op{}, 3, 1, nil), "[0/0 1/0 2/0]", true, ""},
		{"groups of one", spread(Op{Groups: [][]int64{{0}, {1}}, Devices: iota(2)}, 2, 1, nil), "", false, ""},
		{"ranks", spread(Op{Groups: [][]int64{{4, 9}}, Ranked: true}, 3, 1, []int{9, 7, 4}), "[0/0 2/0]", false, ""},
		{"ranks that repeat", spread(Op{Groups: [][]int64{{4, 9}}, Ranked: true}, 2, 1, []int{4, 4}), "", false, reasonWho},
		{"a rank that repeats costs the others nothing", spread(Op{Groups: [][]int64{{0, 1, 2}}, Ranked: true}, 4, 1, []int{0, 1, 2, 2}), "[0/0 1/0]", false, reasonWho},
		{"a trace without a rank that there is room for", withoutRank(spread(Op{Groups: [][]int64{{0, 1, 2}}, Ranked: true}, 3, 1, []int{0, 1, 2}), 1), "[0/0 1/0 2/0]", false, ""},
		{"a trace without a rank beyond the group", withoutRank(spread(Op{Groups: [][]int64{{0, 1, 2}}, Ranked: true}, 4, 1, []int{0, 1, 2, 3}), 3), "[0/0 1/0 2/0]", false, reasonWho},
		{"a record that is there twice", repeatedOn(spread(Op{Groups: [][]int64{{0, 1}}, Ranked: true}, 2, 1, []int{0, 1}), 1, 0), "[0/0 1/0]", false, reasonRepeated},
		{"a number that one of several carries twice", repeatedOn(spread(Op{Groups: [][]int64{{0, 1, 2}}, Ranked: true}, 3, 1, []int{0, 1, 2}), 1, 7), "[0/0 2/0]", false, reasonRepeated},
		{"a number that one of two carries twice", repeatedOn(spread(Op{Groups: [][]int64{{0, 1}}, Ranked: true}, 2, 1, []int{0, 1}), 1, 7), "", false, reasonCounts},
		{"ranks unknown, everyone", spread(Op{Ranked: true, Size: 2}, 2, 1, nil), "[0/0 1/0]", false, ""},
	} {
		c.part.Ops[0].Kind, c.part.Ops[0].Key = event.AllReduce, "op"
		m := mustMatch(t, c.part)
		var got []string
		for _, g := range m.Groups {
			var who []string
			for _, member := range g.Members {
				s := &m.Part.Spans[member.Span]
				who = append(who, fmt.Sprintf("%d/%d", s.Node, s.Device))
			}
			got = append(got, "["+strings.Join(who, " ")+"]")
		}
		if strings.Join(got, " ") != c.want || (len(m.Assumptions) > 0) != c.assumed {
			t.Errorf("%s: got %v, assumptions %q; want %s", c.name, got, m.Assumptions, c.want)
		}
		if (c.reason == "") != (len(m.Unmatched) == 0) || c.reason != "" && m.Unmatched[0].Reason != c.reason {
			t.Errorf("%s: unmatched %+v, want %q", c.name, m.Unmatched, c.reason)
		}
	}
}

// TestTransfersOfNodesThatAreMissingAreLeftOut has a ring of four of which two are recorded: only 0 -> 1 can be judged.
func TestTransfersOfNodesThatAreMissingAreLeftOut(t *testing.T) {
	ring := []hlo.Pair{{Source: 0, Target: 1}, {Source: 1, Target: 2}, {Source: 2, Target: 3}, {Source: 3, Target: 0}}
	p := spread(Op{Key: "p", Kind: event.Permute, Pairs: ring, Devices: []int64{0, 1, 2, 3}}, 2, 1, []int{0, 1})
	p.Spans[0].StartNS, p.Spans[0].EndNS = 50, 60 // 0 gives after 1 has taken
	p.Spans[1].StartNS, p.Spans[1].EndNS = 0, 10
	v := mustCheck(t, mustMatch(t, p), nil, 1)
	if v.Violated != 1 || v.Incomplete != 1 || v.Worst[0].GapNS != -40 || v.Worst[0].Ended.Node != 1 || v.Worst[0].Began.Node != 0 {
		t.Errorf("%+v %+v", v.Counts, v.Worst)
	}
	p.Ops[0].Pairs = ring[2:]
	if v := mustCheck(t, mustMatch(t, p), nil, 1); v.Undecidable != 1 || len(v.Worst) != 0 {
		t.Errorf("nothing to judge by: %+v %+v", v.Counts, v.Worst)
	}
}

func TestClocksAtTheEndsOfTimeDoNotOverflow(t *testing.T) {
	p := spread(Op{Key: "a", Kind: event.AllReduce}, 3, 1, nil)
	p.Spans[0].StartNS, p.Spans[0].EndNS = -1<<63, -1<<63
	p.Spans[1].StartNS, p.Spans[1].EndNS = 1<<63-1, 1<<63-1
	far := func(s *event.Span, ns int64) (int64, int64) { return ns, 1<<63 - 1 }
	if v := mustCheck(t, mustMatch(t, p), nil, 1); v.Violated != 1 {
		t.Errorf("without bounds: %+v", v.Counts)
	}
	if v := mustCheck(t, mustMatch(t, p), far, 1); v.Undecidable != 1 {
		t.Errorf("with endless bounds: %+v", v.Counts)
	}
}
