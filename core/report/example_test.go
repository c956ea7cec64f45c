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

	"github.com/prlx-go/prlx/core/clocks/collective"
	"github.com/prlx-go/prlx/core/combine"
	"github.com/prlx-go/prlx/core/job"
)

const root = "../.."

// recorded is the report of the recording in examples/: four real JAX processes whose clocks were up to 43 ms apart.
func recorded(t *testing.T) CombineReport {
	t.Helper()
	ctx := context.Background()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	found, err := combine.Discover(ctx, []combine.Input{{Path: filepath.Join(root, "examples/jax_p4")}})
	check(err)
	doc, e, err := combine.Run(job.New(ctx, job.Options{}), combine.Request{Inputs: found.Traces, Probes: found.Probes, Output: filepath.Join(t.TempDir(), "run")})
	check(err)
	in := CombineReport{Doc: doc, Output: "run"}
	for _, n := range e.Nodes {
		in.Curves = append(in.Curves, CurveOf(n.ID, n.Wall, n.FromNS, n.ToNS, doc.ZeroNS))
	}
	in.Groups, in.GroupsTotal, err = Groups(ctx, e.Matched, nil, e.After, doc.ZeroNS)
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
	for _, want := range []string{"4 nodes on the clock of ", `<span class="from">238 →</span> 0</span>`, "of 240 matched", "off by at most"} {
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
