package combine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// TestTheTightestSourceIsTakenAndTheOthersAreNamed: probes beside collectives, with what each knows.
func TestTheTightestSourceIsTakenAndTheOthersAreNamed(t *testing.T) {
	inputs, probes, _ := jax(t, "p2")
	doc := combined(t, 2, Request{Inputs: inputs, Probes: probes, Output: filepath.Join(t.TempDir(), "run")})
	if ref := doc.Nodes[0]; len(ref.RestsOn) != 0 {
		t.Errorf("the reference rests on %+v", ref.RestsOn)
	}
	n := doc.Nodes[1]
	if n.Method != MethodProbes || len(n.RestsOn) != 2 || n.RestsOn[0].Source != MethodProbes || n.RestsOn[1].Source != methodCollectives {
		t.Fatalf("method %s rests on %+v", n.Method, n.RestsOn)
	}
	if p, c := *n.RestsOn[0].BoundNS, *n.RestsOn[1].BoundNS; p > 20_000 || c < 50_000 || n.RestsOn[1].HalfWidthNS.P50 > 90_000 {
		t.Errorf("probes know it within %d ns, collectives within %d, half of what is possible is %+v", p, c, n.RestsOn[1].HalfWidthNS)
	}
	if n.RestsOn[0].HalfWidthNS != nil || n.RestsOn[1].Contradicts != "" {
		t.Errorf("%+v", n.RestsOn)
	}
}

// TestAContradictionNamesBothSourcesAndTheCollectives: declared offsets that no collective allows.
func TestAContradictionNamesBothSourcesAndTheCollectives(t *testing.T) {
	inputs, _, _ := jax(t, "p2")
	dir := t.TempDir()
	declared := put(t, dir, "clocks.toml", []byte("[nodes]\nnode0 = { offset_ns = 0 }\nnode1 = { offset_ns = 30_000_000, drift_ppm = 200, bound_ns = 1000, at_ns = 1795226072494675002 }\n"))
	doc := combined(t, 2, Request{Inputs: inputs, Declared: declared, Output: filepath.Join(dir, "run")})
	said := strings.Join(doc.Warnings, "; ")
	if doc.Status != StatusDegraded || doc.Nodes[1].Method != methodCollectives || doc.Collectives.After.Violated != 0 {
		t.Errorf("status %s, method %s, %+v", doc.Status, doc.Nodes[1].Method, doc.Collectives)
	}
	for _, want := range []string{"collectives and declared contradict each other about node1", "By declared ", " collectives were impossible: ", "(occurrence ", "before node", "the clock by collectives is used"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %q", want, said)
		}
	}
	if strings.Contains(said, "matched by their order") {
		t.Errorf("launches with a number are called guesses: %q", said)
	}
	_, _, err := Run(job.New(context.Background(), job.Options{}), Request{Inputs: inputs, Declared: declared, Output: filepath.Join(dir, "no"), Policy: refuse})
	if !fault.Is(err, fault.Alignment) || !strings.Contains(fmt.Sprint(err), "contradict each other") {
		t.Errorf("policy refuse: %v", err)
	}
}

// TestADeclarationStandsAgainstCollectivesThatWereMatchedByOrder: which executions belong together is a guess there, and that is said.
func TestADeclarationStandsAgainstCollectivesThatWereMatchedByOrder(t *testing.T) {
	inputs := dlrm(t)
	dir := t.TempDir()
	text := "[nodes]\n"
	for k := range inputs {
		text += fmt.Sprintf("%d = { offset_ns = %d, bound_ns = 100 }\n", k, map[bool]int{true: 20_000_000}[k == 3])
		inputs[k].ID = fmt.Sprint(k)
	}
	req := Request{Inputs: inputs, Declared: put(t, dir, "clocks.toml", []byte(text)), Output: filepath.Join(dir, "out.json")}
	doc := combined(t, 2, req)
	said := strings.Join(doc.Warnings, "; ")
	if n := doc.Nodes[3]; n.Method != MethodDeclared || n.OffsetNS != 20_000_000 || doc.Status != StatusDegraded || doc.Collectives.After.Violated == 0 {
		t.Errorf("status %s, method %s, offset %d, %+v", doc.Status, n.Method, n.OffsetNS, doc.Collectives)
	}
	if rest := doc.Nodes[3].RestsOn; len(rest) != 2 || rest[1].Source != methodCollectives || rest[1].Contradicts != MethodDeclared {
		t.Errorf("%+v", rest)
	}
	for _, want := range []string{"declared and collectives contradict each other about 3", "of them matched by their order or known by their names alone", "the clock by declared is used"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %q", want, said)
		}
	}
}

// TestADeclarationThatIsTighterThanProbesIsUsed: and where the two contradict each other, what was measured for the purpose is.
func TestADeclarationThatIsTighterThanProbesIsUsed(t *testing.T) {
	inputs, probes, tr := jax(t, "p2")
	dir := t.TempDir()
	n := tr.Nodes[1]
	for name, c := range map[string]struct {
		wrongNS int64
		want    string
	}{"agrees": {0, MethodDeclared}, "contradicts": {600_000, MethodProbes}} {
		declared := put(t, dir, name+".toml", []byte(fmt.Sprintf("[nodes]\nnode0 = { offset_ns = 0 }\nnode1 = { offset_ns = %d, drift_ppm = %d, bound_ns = 1000, at_ns = %d }\n",
			n.Offset+c.wrongNS, n.Drift/1000, tr.Anchor)))
		req := Request{Inputs: inputs, Probes: probes, Declared: declared, Output: filepath.Join(dir, name)}
		doc := combined(t, 2, req)
		got := doc.Nodes[1]
		if got.Method != c.want || len(got.RestsOn) != 3 || (doc.Status == StatusDegraded) != (c.wrongNS != 0) {
			t.Errorf("%s: status %s, method %s, rests on %+v; %v", name, doc.Status, got.Method, got.RestsOn, doc.Warnings)
		}
		if c.wrongNS == 0 && got.BoundNS.Max > 1000 {
			t.Errorf("%s: bound %+v, the declaration's is 1000", name, got.BoundNS)
		}
		req.Policy, req.Output = refuse, filepath.Join(dir, name+" refused")
		_, _, err := Run(job.New(context.Background(), job.Options{}), req)
		if refused := err != nil; refused != (c.wrongNS != 0) {
			t.Errorf("%s, policy refuse: %v", name, err)
		}
	}
}

// TestTracesOfOneHostShareItsClockUnlessShownOtherwise: the eight ranks of a machine do; two whose collectives are impossible do not.
func TestTracesOfOneHostShareItsClockUnlessShownOtherwise(t *testing.T) {
	separate, _, _ := jax(t, "p2")
	for name, c := range map[string]struct {
		inputs []Input
		shared bool
	}{"machine": {dlrm(t), true}, "clocks of their own": {separate, false}} {
		j := job.New(context.Background(), job.Options{})
		req := Request{Inputs: c.inputs, Output: filepath.Join(t.TempDir(), "out.json")}
		if err := req.normalize(); err != nil {
			t.Fatal(err)
		}
		nodes, _, err := load(j, req.Inputs, LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer closeAll(nodes)
		for _, n := range nodes {
			n.Host = "one"
		}
		in, to, err := begin(j, &req, nodes, nil)
		if err != nil {
			t.Fatal(err)
		}
		run, err := decide(j, in, to)
		if err != nil {
			t.Fatal(err)
		}
		for k := range nodes {
			want := methodCollectives
			if c.shared {
				if want = methodHost; k == 0 {
					want = MethodWall
				}
			}
			if got := &run.nodes[k]; got.method != want {
				t.Errorf("%s: node %d by %s, want %s; %v", name, k, got.method, want, got.rests)
			}
		}
		said := strings.Join(append(run.said.notes, run.said.warnings...), "; ")
		if want := map[bool]string{true: "share its clock", false: "a clock of its own"}[c.shared]; !strings.Contains(said, want) {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// TestTogetherHoldsWhatBothAllow: against intervals worked out one by one.
func TestTogetherHoldsWhatBothAllow(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	narrowed, contradicted := 0, 0
	for range 2000 {
		var maps [2]*clock.Map
		for i := range maps {
			var knots []clock.Knot
			for x := int64(0); x < 5; x++ {
				at := x*1000 + r.Int64N(500)
				knots = append(knots, clock.Knot{X: at, Y: at + r.Int64N(40), BoundNS: 10 + r.Int64N(60)})
			}
			m, err := clock.New(knots)
			if err != nil {
				continue
			}
			maps[i] = m
		}
		if maps[0] == nil || maps[1] == nil {
			continue
		}
		m, apart := together(maps[0], maps[1])
		if apart.beyond > 0 {
			contradicted++
			if m != maps[0] {
				t.Fatal("a contradiction narrows")
			}
			continue
		}
		if m != maps[0] {
			narrowed++
		}
		for _, k := range m.Knots() {
			y, bound, _ := m.At(k.X)
			a, ab, _ := maps[0].At(k.X)
			b, bb, _ := maps[1].At(k.X)
			lo, hi := max(a-ab, b-bb), min(a+ab, b+bb)
			if hi >= lo && (y-bound > lo || y+bound < hi || bound > ab) {
				t.Fatalf("at %d: %d ±%d, both allow [%d, %d]", k.X, y, bound, lo, hi)
			}
		}
	}
	if narrowed < 100 || contradicted == 0 {
		t.Errorf("%d narrowed, %d contradicted", narrowed, contradicted)
	}
}

// TestAnExplanationListsWhatLeavesTheLeastRoom: ascending, of the node, on either side, and never less than nothing where no collective is impossible.
func TestAnExplanationListsWhatLeavesTheLeastRoom(t *testing.T) {
	inputs, _, _ := jax(t, "p4")
	doc := combined(t, 2, Request{Inputs: inputs, Output: filepath.Join(t.TempDir(), "run"), Explain: "node2"})
	e := doc.Explained
	if e == nil || e.Node != "node2" || len(e.AtMost) != mostExplained || len(e.AtLeast) != mostExplained || e.Ends.Executions != 180 {
		t.Fatalf("%+v", e)
	}
	for side, list := range [][]TightOrder{e.AtMost, e.AtLeast} {
		for i, o := range list {
			if (side == 0) != (o.Left == "node2") || (side == 1) != (o.Entered == "node2") {
				t.Errorf("side %d: %+v", side, o)
			}
			if o.RoomNS != o.LeftNS-o.EnteredNS || o.RoomNS < 0 || i > 0 && o.RoomNS < list[i-1].RoomNS {
				t.Errorf("side %d: room %d after %d", side, o.RoomNS, list[max(0, i-1)].RoomNS)
			}
		}
	}
	if e.Ends.P50NS <= 0 || e.Ends.P99NS < e.Ends.P50NS || e.Ends.MaxNS < e.Ends.P99NS {
		t.Errorf("%+v", e.Ends)
	}
	_, _, err := Run(job.New(context.Background(), job.Options{}), Request{Inputs: inputs, Output: filepath.Join(t.TempDir(), "no"), Explain: "node9"})
	if !fault.Is(err, fault.Usage) || !strings.Contains(fmt.Sprint(err), "explain") {
		t.Errorf("a node that is not there: %v", err)
	}
}

// TestValidateJudgesTheClocksThatAreGiven: it does not take better ones from the collectives that it judges by.
func TestValidateJudgesTheClocksThatAreGiven(t *testing.T) {
	inputs, _, tr := jax(t, "p2")
	n := tr.Nodes[1]
	declared := put(t, t.TempDir(), "clocks.toml", []byte(fmt.Sprintf("[nodes]\nnode0 = { offset_ns = 0 }\nnode1 = { offset_ns = %d, drift_ppm = %d, bound_ns = 1000, at_ns = %d }\n",
		n.Offset+600_000, n.Drift/1000, tr.Anchor)))
	doc, err := Validate(job.New(context.Background(), job.Options{}), ValidateRequest{Request: Request{Inputs: inputs, Declared: declared}})
	if err != nil {
		t.Fatal(err)
	}
	if doc.Status != StatusViolated {
		t.Errorf("clocks that are wrong by 0.6 ms: %s", doc.Verdict)
	}
}

// TestAMergeRelatesNoClocks: a method that does is refused beside it, one that does not is taken.
func TestAMergeRelatesNoClocks(t *testing.T) {
	no := false
	for method, refused := range map[string]bool{"": false, "auto": false, MethodWall: false, MethodProbes: true, MethodDeclared: true, methodCollectives: true} {
		req := Request{Method: method, ApplyAlignment: &no}
		if err := req.normalize(); fault.Is(err, fault.Usage) != refused {
			t.Errorf("method %q: %v", method, err)
		}
	}
}

// TestASecondSourceMakesNoBoundLarger: nor where the clock stepped, and whichever of the two found the step elsewhere.
func TestASecondSourceMakesNoBoundLarger(t *testing.T) {
	inputs, probes, _ := jax(t, "p2_step")
	var walls []*clock.Map
	for _, method := range []string{MethodProbes, "auto"} {
		_, evidence, err := Run(job.New(context.Background(), job.Options{}), Request{Inputs: inputs, Probes: probes, Method: method, Output: filepath.Join(t.TempDir(), "run")})
		if err != nil {
			t.Fatal(err)
		}
		walls = append(walls, evidence.Nodes[1].Wall)
	}
	for _, k := range slices.Concat(walls[0].Knots(), walls[1].Knots()) {
		for _, x := range []int64{k.X - 1, k.X, k.X + 1, k.X + 1_000_000} {
			_, alone, _ := walls[0].At(x)
			_, both, _ := walls[1].At(x)
			if both > alone+50 { // the bound grows between knots, of which there are others
				t.Errorf("at %d: %d ns by both, %d by probes alone", x, both, alone)
			}
		}
	}
}
