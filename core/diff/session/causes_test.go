package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// ran is a launch of a kernel with one array that held something, and one number.
func ran(number uint64, module string, contents uint64, n string) Launch {
	h := &warptrace.Header{Arguments: []warptrace.Argument{{Name: "x", Type: "*fp32", Digest: contents}, {Name: "n", Type: "i32", Value: n}}}
	digest := contents
	for _, c := range n {
		digest = digest*31 + uint64(c)
	}
	return Launch{Number: number, Kernel: "k", ModuleHash: module, ArgumentDigest: digest, Header: h}
}

// judged compares launches pairwise of which some differ, and returns their roles and what the causes are.
func judged(a, b []Launch, differ ...int) (roles, causes []string, doc *Document) {
	c := &comparison{a: &Session{Launches: a}, b: &Session{Launches: b}, doc: &Document{}}
	for i := range a {
		c.doc.KernelResults = append(c.doc.KernelResults, LaunchResult{Kernel: "k", Launch: a[i].Number, IndexA: int64(i), IndexB: int64(i), Status: statusIdentical})
	}
	for _, i := range differ {
		c.doc.KernelResults[i].Status = StatusDiverged
	}
	c.causes()
	for i := range c.doc.KernelResults {
		if r := c.doc.KernelResults[i].Role; r != "" {
			roles = append(roles, r)
		}
	}
	for i := range c.doc.Causes {
		causes = append(causes, c.doc.Causes[i].What)
	}
	return roles, causes, c.doc
}

func TestALaunchThatOnlyReceivedOtherInputsIsNoCause(t *testing.T) {
	a := []Launch{ran(0, "m", 1, "5"), ran(1, "m", 2, "5"), ran(2, "m", 3, "5")}
	b := []Launch{ran(0, "m", 1, "5"), ran(1, "m", 7, "5"), ran(2, "m", 8, "5")}
	roles, causes, doc := judged(a, b, 0, 1, 2)
	if d := cmp.Diff([]string{RoleCauses, RoleFollows, RoleFollows}, roles) + cmp.Diff([]string{"launch"}, causes); d != "" {
		t.Error(d)
	}
	if doc.Causes[0].Follow != 2 {
		t.Errorf("got %d that follow, want 2", doc.Causes[0].Follow)
	}
	if got, want := doc.blame(), "it begins with k (launch 0); 2 launches differ only by what they were given"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestALaunchThatWasGivenTheSameIsACauseOfItsOwn(t *testing.T) {
	a := []Launch{ran(0, "m", 1, "5"), ran(1, "m", 2, "5"), ran(2, "m", 3, "5")}
	b := []Launch{ran(0, "m", 1, "5"), ran(1, "m", 7, "5"), ran(2, "m", 3, "5")}
	roles, causes, _ := judged(a, b, 0, 1, 2)
	if d := cmp.Diff([]string{RoleCauses, RoleFollows, RoleCauses}, roles) + cmp.Diff([]string{"launch", "launch"}, causes); d != "" {
		t.Error(d)
	}
}

func TestWhatTheProgramGaveIsToldApart(t *testing.T) {
	for name, c := range map[string]struct {
		b       Launch
		because string
	}{
		"another number": {ran(0, "m", 1, "6"), "it was given other arguments: n is 5 in A and 6 in B"},
		"other contents": {ran(0, "m", 9, "5"), "it was given something else, and no launch before it made that: x held something else when the kernel was launched"},
	} {
		roles, _, doc := judged([]Launch{ran(0, "m", 1, "5")}, []Launch{c.b}, 0)
		if roles[0] != roleGiven || doc.Causes[0].What != "given" || doc.Causes[0].Because != c.because {
			t.Errorf("%s: got %s, %+v", name, roles[0], doc.Causes[0])
		}
	}
}

func TestAnotherBuildBehindACauseIsUnclear(t *testing.T) {
	a := []Launch{ran(0, "m", 1, "5"), ran(1, "m", 2, "5")}
	b := []Launch{ran(0, "m", 1, "5"), ran(1, "other", 7, "5")}
	roles, causes, doc := judged(a, b, 0, 1)
	if d := cmp.Diff([]string{RoleCauses, roleUnclear}, roles) + cmp.Diff([]string{"launch"}, causes); d != "" {
		t.Error(d)
	}
	if doc.blame() == "" {
		t.Error("nothing is said of the launch of which it is not known")
	}
	b[1].ArgumentDigest = 0
	if roles, _, _ := judged(a, b, 0, 1); roles[1] != roleUnclear {
		t.Errorf("unknown arguments: got %s", roles[1])
	}
}

func TestAMissingLaunchIsACause(t *testing.T) {
	a, b := []Launch{ran(0, "m", 1, "5"), ran(1, "m", 2, "5")}, []Launch{ran(1, "m", 7, "5")}
	c := &comparison{a: &Session{Launches: a}, b: &Session{Launches: b}, doc: &Document{
		KernelResults: []LaunchResult{{Kernel: "k", Launch: 1, IndexA: 1, IndexB: 0, Status: StatusDiverged}},
		Missing:       []LaunchOf{{Index: 0, Launch: 0, Kernel: "fill"}},
	}, matching: matching{OnlyA: []int{0}}}
	c.causes()
	if r := c.doc.KernelResults[0].Role; r != RoleFollows {
		t.Errorf("got %s, want that it follows", r)
	}
	if len(c.doc.Causes) != 1 || c.doc.Causes[0].What != "missing" || c.doc.Causes[0].Kernel != "fill" || c.doc.Causes[0].Follow != 1 {
		t.Errorf("got %+v", c.doc.Causes)
	}
	if got, want := c.doc.blame(), "it begins with fill (launch 0), which B does not have; 1 launch differs only by what it was given"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestALaunchThatOnlyBHasIsACauseWhereItRan(t *testing.T) {
	a, b := []Launch{ran(0, "m", 1, "5"), ran(1, "m", 2, "5")}, []Launch{ran(0, "m", 1, "5"), ran(1, "m", 9, "5"), ran(2, "m", 7, "5")}
	c := &comparison{a: &Session{Launches: a}, b: &Session{Launches: b}, doc: &Document{
		KernelResults: []LaunchResult{
			{Kernel: "k", IndexA: 0, IndexB: 0, Status: statusIdentical}, {Kernel: "k", Launch: 1, IndexA: 1, IndexB: 2, Status: StatusDiverged},
		},
		Inserted: []LaunchOf{{Index: 1, Launch: 1, Kernel: "scale"}},
	}, matching: matching{OnlyB: []int{1}}}
	c.causes()
	if c.doc.KernelResults[1].Role != RoleFollows || c.doc.Causes[0].What != "inserted" || c.doc.Causes[0].IndexA != 1 {
		t.Errorf("got %+v, %+v", c.doc.KernelResults[1].Role, c.doc.Causes)
	}
}
