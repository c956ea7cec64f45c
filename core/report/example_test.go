package report

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/timeline/clock"
	"github.com/prlx-go/prlx/core/timeline/clockfile"
	"github.com/prlx-go/prlx/core/timeline/collective"
	"github.com/prlx-go/prlx/core/timeline/combine"
	"github.com/prlx-go/prlx/core/timeline/event"
	"github.com/prlx-go/prlx/core/timeline/offsets"
)

const root = "../.."

// recorded is the report of the recording in examples/: four real JAX processes whose clocks were up to 43 ms apart.
func recorded(t *testing.T) CombineReport {
	t.Helper()
	ctx := context.Background()
	j := job.New(ctx, job.Options{})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	found, err := combine.Discover(ctx, []combine.Input{{Path: filepath.Join(root, "examples/jax_p4")}})
	check(err)
	doc, _, err := combine.Run(j, combine.Request{Inputs: found.Traces, Probes: found.Probes, Output: filepath.Join(t.TempDir(), "run")})
	check(err)

	rounds := filepath.Join(t.TempDir(), "offsets.jsonl")
	_, err = combine.Solve(j, combine.SolveRequest{Files: found.Probes, Output: rounds, Reference: "0"})
	check(err)
	src, err := file.Open(ctx, rounds)
	check(err)
	defer src.Close()
	read, err := clockfile.Read(ctx, src)
	check(err)
	solution, err := offsets.FromRounds(read.Rounds, offsets.Options{ReferenceSet: true})
	check(err)

	nodes, err := combine.Load(j, found.Traces)
	check(err)
	defer combine.CloseAll(nodes)
	var clocks []NodeClock
	var parts []*collective.Part
	maps := make([]*clock.Map, len(nodes))
	for k, n := range nodes {
		o, ok := solution.Node(n.Number)
		if !ok {
			t.Fatalf("node %d is not in the solution", n.Number)
		}
		if n.ID != doc.Reference {
			maps[k] = o.Map
		}
		clocks = append(clocks, NodeClock{Node: n.ID, Wall: maps[k], FirstNS: n.Space.ProfileStartNS, LastNS: n.Space.ProfileStopNS})
		part, err := collective.FromXSpace(ctx, n.Src, n.Space, collective.Options{Node: int32(k), StartNS: n.Space.ProfileStartNS})
		check(err)
		parts = append(parts, part)
	}
	m, err := collective.Match(ctx, collective.Join(parts...))
	check(err)
	after := func(s *event.Span, ns int64) (int64, int64) {
		y, bound, _ := maps[s.Node].At(ns)
		return y, bound
	}
	in, err := Collect(ctx, doc, clocks, m, after, "run")
	check(err)
	return in
}

func TestReportOfTheRecording(t *testing.T) {
	in := recorded(t)
	if dir := os.Getenv("PRLX_REPORT_DIR"); dir != "" { // to look at it in a browser
		var b bytes.Buffer
		if err := Combine(&b, in); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "report.html"), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	impossible := [2]int{}
	for _, g := range in.Groups {
		if g.Before == collective.Violated {
			impossible[0]++
		}
		if g.After == collective.Violated {
			impossible[1]++
		}
	}
	if want := [2]int{238, 0}; len(in.Groups) != 240 || impossible != want {
		t.Errorf("%d collectives, %v impossible before and after; want 240, %v", len(in.Groups), impossible, want)
	}
	page := render(t, Combine, in)
	for _, want := range []string{"4 nodes on one clock", `<span class="from">238 →</span> <span class="good">0</span>`, "of 240 matched", "off by at most"} {
		if !strings.Contains(page, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if limit := 512 << 10; len(page) > limit {
		t.Errorf("the report has %d bytes, want at most %d", len(page), limit)
	}
}

// TestPictureInTheDocumentationIsCurrent keeps docs/images/before-after.svg what the code makes of the recording.
func TestPictureInTheDocumentationIsCurrent(t *testing.T) {
	path := filepath.Join(root, "docs/images/before-after.svg")
	got := render(t, Picture, recorded(t))
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, b := numbers.Split(string(want), -1), numbers.Split(got, -1)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Fatalf("%s is not what Picture makes of examples/jax_p4; -update rewrites it (-want +got):\n%s", path, diff)
	}
	was, is := numbers.FindAllString(string(want), -1), numbers.FindAllString(got, -1)
	for i := range was {
		x, _ := strconv.ParseFloat(was[i], 64)
		y, _ := strconv.ParseFloat(is[i], 64)
		if math.Abs(x-y) > 1 { // a pixel, or a millisecond in a tooltip
			t.Errorf("%s says %s where Picture now says %s; -update rewrites it", path, was[i], is[i])
		}
	}
}

var numbers = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)
