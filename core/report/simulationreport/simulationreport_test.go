package simulationreport

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prlx-go/prlx/core/diff/simulated"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/simulator/simulation"
	"github.com/prlx-go/prlx/core/simulator/watch"
	"github.com/prlx-go/prlx/core/verdict"
)

var update = flag.Bool("update", false, "rewrite the golden files under testdata")

const hostile = "<script>alert(1)</script>|`*]]>\x00\u202e\xff"

// softmax is a program whose one kernel has one finding, with the text suffix in everything that a program may choose.
func softmax(suffix string) *simulated.Document {
	file := "/home/me/softmax.py" + suffix
	line := func(n uint32, instructions, lanes, bytes, conflicts uint64) simulation.Line {
		return simulation.Line{File: file, Line: n, Instructions: instructions, LaneInstructions: lanes, Counts: simulation.Counts{GlobalBytes: bytes, BankConflicts: conflicts}}
	}
	var e verdict.Evidence
	e.LookedOf("launches", 2, 4)
	e.Missed("launches of tma"+suffix, 2, "wgmma is not executed"+suffix)
	return &simulated.Document{
		Schema: simulated.Schema, Script: "train.py" + suffix, Status: "findings", Conclusion: e.Check(true, "1 finding"), Launches: 2, Instructions: 1200,
		Kernels: []simulated.Kernel{{
			Kernel: "softmax" + suffix, Launches: 2, Blocks: 32, Warps: 64, Instructions: 1200, LaneInstructions: 32 * 900,
			Counts: simulation.Counts{GlobalBytes: 1 << 20, BankConflicts: 12, Branches: 20, Divergent: 4},
			Lines:  []simulation.Line{line(11, 400, 32*400, 0, 0), line(12, 700, 8*700, 1<<20, 12), {File: "/lib/triton/language/standard.py", Line: 7, Instructions: 100, LaneInstructions: 3200}},
			Texts: &simulated.Texts{
				Functions: []simulated.Function{{File: "softmax.py" + suffix, Function: "softmax" + suffix, FirstLine: 10, Text: "def softmax(x, n):\n    pid = tl.program_id(0)\n    y = tl.load(x + pid)  # " + suffix + "\n"}},
				Constants: []simulated.Constant{{Name: "BLOCK" + suffix, Value: "256"}},
			},
			Fidelity: &simulation.Fidelity{
				Approximated: []simulation.Approximated{{Instruction: "ex2.approx.f32" + suffix, How: "up to 2 ulp" + suffix, File: file, Line: 12, Count: 64}},
				Decides:      []simulation.Decision{{Use: "address" + suffix, Instruction: "st.global.b32" + suffix, File: file, Line: 12, Count: 8, From: []string{"ex2.approx.f32"}}},
			},
			Touched: &simulated.Touched{Launch: 0, Grid: [3]uint32{16, 1, 1}, Touched: watch.Touched{
				Blocks: 16, MoreArrays: 1,
				Arrays: []watch.TouchedArray{
					{
						Name: "x" + suffix, Type: "*fp32", Bytes: 64, ElementBytes: 4, Shape: []int64{4, 4}, Rows: 4, Columns: 4, CellRows: 1, CellColumns: 1,
						Read: &watch.CellMap{
							Width: 4, First: []int64{0, 0, 1, 1, 2, 3, 4, 5, 15, 15, 15, 15, -1, -1, -1, 0}, Last: []int64{0, 0, 1, 1, 2, 3, 4, 5, 15, 15, 15, 15, -1, -1, -1, 15},
							Blocks: []uint64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 2},
						},
					},
					{Name: "idle" + suffix, Bytes: 8},
				},
			}},
		}},
		Findings: []simulated.Finding{{Finding: simulation.Finding{
			Check: "out-of-bounds", Message: "loads 4 bytes beyond the end of x" + suffix, Kernel: "softmax" + suffix, File: file, Line: 12, Instruction: "ld.global.b32",
			Block: [3]uint32{5, 0, 0}, Warp: 2, Lane: 8, Lanes: []int{8, 9, 10, 31}, Count: 24,
		}, Launch: 1}},
		Stops: []simulated.Stop{{Kernel: "softmax" + suffix, Launch: 1, Stop: watch.Stop{File: file, Line: 12, Block: [3]uint32{1, 0, 0}, Active: []int{0, 1}, Values: []watch.Value{
			{Register: "%r1" + suffix, Type: "f32", Origin: "load", Name: "x" + suffix, Where: &watch.Frame{File: file, Line: 12}, Made: true, Instruction: "ld.global.b32" + suffix, Bits: []uint64{0x3f800000, 0x40200000}, Lanes: []int{0, 1}},
			{Register: "%rd1", Type: "ptr", Origin: "argument", Name: "x", Array: "x" + suffix, Bits: []uint64{8, 8}, Lanes: []int{0, 1}},
		}}}},
		MoreStops: 3,
		Refused:   []simulated.Refused{{Kernel: "tma" + suffix, Message: "wgmma is not executed" + suffix, Count: 2}},
	}
}

// faster is the program with a line that was edited, one that is gone, and one more.
func faster(suffix string) *simulated.Document {
	d := softmax(suffix)
	d.Script, d.Findings, d.Status = "faster.py"+suffix, nil, "clean"
	k := &d.Kernels[0]
	k.Instructions, k.BankConflicts = 900, 0
	k.Texts.Functions[0].Text = "def softmax(x, n):\n    pid = tl.program_id(0)\n    z = pid * 2\n    y = tl.load(x + pid, mask=pid < n)\n"
	k.Texts.Constants[0].Value = "512"
	k.Lines[1].Line, k.Lines[1].Instructions, k.Lines[1].BankConflicts = 13, 350, 0
	k.Lines = append(k.Lines, simulation.Line{File: k.Lines[0].File, Line: 12, Instructions: 50, LaneInstructions: 50 * 32})
	return d
}

// pages are all pages that tests look at.
func pages(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	write := func(name string, f func(b *bytes.Buffer) error) {
		var b bytes.Buffer
		if err := f(&b); err != nil {
			t.Fatal(err)
		}
		out[name] = b.Bytes()
	}
	for name, suffix := range map[string]string{"softmax": "", "hostile": hostile} {
		write(name, func(b *bytes.Buffer) error { return Write("html", b, softmax(suffix)) })
		write(name+"-compare", func(b *bytes.Buffer) error {
			return WriteComparison("html", b, simulated.Compare(softmax(suffix), faster(suffix), nil))
		})
	}
	write("zero", func(b *bytes.Buffer) error { return Write("html", b, &simulated.Document{}) })
	write("zero-compare", func(b *bytes.Buffer) error {
		return WriteComparison("html", b, simulated.Compare(&simulated.Document{}, &simulated.Document{}, nil))
	})
	return out
}

func TestGolden(t *testing.T) {
	for name, got := range pages(t) {
		file := filepath.Join("testdata", name+".html")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(want, got) {
			t.Errorf("%s differs from what the code writes: go test ./core/report/simulationreport -update (%v)", file, err)
		}
	}
}

// A page is green only where its document says that all was looked at.
func TestOnlyAPassedDocumentHasAGreenBadge(t *testing.T) {
	var whole verdict.Evidence
	whole.Looked("launches", 2)
	for want, conclusion := range map[string]verdict.Verdict{
		`good" data-outcome="passed"`:        whole.Check(false, "no finding"),
		`bad" data-outcome="failed"`:         whole.Check(true, "1 finding"),
		`amber" data-outcome="inconclusive"`: {},
	} {
		d := faster("")
		d.Conclusion = conclusion
		var b bytes.Buffer
		if err := Write("html", &b, d); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%+v: no %s on the page (%v)", conclusion, want, err)
		}
		if d.Conclusion = (verdict.Verdict{Outcome: "<b>"}); Write("html", &b, d) != nil || strings.Contains(b.String(), "<b>") {
			t.Error("an unknown outcome reached the page")
		}
	}
}

// TestThePageAsksForNothing looks for whatever would load something, and for names that became markup.
func TestThePageAsksForNothing(t *testing.T) {
	for name, page := range pages(t) {
		text := string(page)
		for _, bad := range []string{"http://", "https://", "<script", "<link", "<img", "<b>", "url(", "@import", " style=", " onload", "ZgotmplZ", "\u202e", "\x00"} {
			if strings.Contains(text, bad) {
				t.Errorf("the page %s has %q", name, bad)
			}
		}
		if !utf8.Valid(page) || !strings.Contains(text, `lang="en"`) || !strings.Contains(text, "Content-Security-Policy") {
			t.Errorf("the page %s is not UTF-8, or does not say its language or what it may do", name)
		}
	}
}

func TestThePageShowsLinesFindingsAndArrays(t *testing.T) {
	text := string(pages(t)["softmax"])
	for _, want := range []string{
		`1 finding in 2 launches.`,
		`<li id="finding-1"><strong class="bad">out-of-bounds</strong> at softmax.py:12: Loads 4 bytes beyond the end of x.`,
		`block (5, 0, 0), warp 2, lanes 8-10, 31, 24 times`,
		`<tr class="found"><th scope="row">12</th><td class="num h5">700</td><td class="num low">25` + "\u00a0%" + `</td><td class="num">1.0` + "\u00a0MiB" + `</td><td class="num low">12</td><td class="code"><code>    y = tl.load(x &#43; pid)  # </code><p><a href="#finding-1">out-of-bounds</a>`,
		`standard.py:7`, `Compiled for BLOCK = 256.`, `Touched by no block: idle. 1 more array has no picture.`,
		`<path class="c0" d="M0 0h4v1h-4zM3 3h1v1h-1z"><title>blocks 0 to 1</title></path>`, `<path class="c1" d="M0 1h2v1h-2z"><title>blocks 2 to 3</title></path>`,
		`<path class="c7" d="M0 2h4v1h-4z"><title>blocks 14 to 15</title></path>`, `<path class="several" d="M3 3l1 1"/>`, `13 of 16 cells, 1 of them by more than one block`,
		`No block wrote it.`, `load x at softmax.py:12 (ld.global.b32)`, `<code>1 2.5</code>`, `<code>x&#43;8</code>`, `3 more stops are not shown.`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestTheComparisonShowsBothLines(t *testing.T) {
	text := string(pages(t)["softmax-compare"])
	for _, want := range []string{
		"1 of 1 kernels did something else, at 2 lines: softmax -25.0 % instructions, -100.0 % bank conflicts.", "BLOCK: 256, 512", `700 → 350<small class="good">` + "\u221250.0\u00a0%",
		`<code class="edit was">    y = tl.load(x &#43; pid)  # </code><code class="edit new">    y = tl.load(x &#43; pid, mask=pid &lt; n)</code>`, `<code class="edit new">    z = pid * 2</code>`,
		"12 → 0<small class=\"good\">gone",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// TestALargeProgramMakesAPageThatOpens fills a document with more than a page shows.
func TestALargeProgramMakesAPageThatOpens(t *testing.T) {
	d := softmax("")
	full := &watch.CellMap{Width: 64}
	for i := range 4096 {
		full.First, full.Last, full.Blocks = append(full.First, int64(i*7919%4096)), append(full.Last, 4095), append(full.Blocks, 2)
	}
	k := &d.Kernels[0]
	k.Touched.Grid = [3]uint32{4096, 1, 1}
	for range 15 {
		k.Touched.Arrays = append(k.Touched.Arrays, watch.TouchedArray{Name: "a", Read: full, Written: full, CellRows: 1, CellColumns: 1})
	}
	for i := range uint32(20_000) {
		k.Lines = append(k.Lines, simulation.Line{File: "lib.py", Line: i + 1, Instructions: 1})
	}
	d.Kernels = slices.Repeat(d.Kernels, 100)
	d.Findings = slices.Repeat(d.Findings, 1000)
	var b bytes.Buffer
	if err := Write("html", &b, d); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 8<<20 {
		t.Errorf("the page has %d bytes", b.Len())
	}
	for _, want := range []string{"68 more kernels are in the JSON document.", "800 more findings are not shown.", "The rest of the lines is in the JSON document.", "17 more arrays have no picture."} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestADocumentThatContradictsItselfIsDrawnWithoutThePicture(t *testing.T) {
	for name, m := range map[string]*watch.CellMap{
		"no width": {First: []int64{0}, Last: []int64{0}, Blocks: []uint64{1}}, "short": {Width: 4, First: []int64{0, 1}, Last: []int64{0}, Blocks: []uint64{1, 1}},
		"huge": {Width: 1 << 30, First: []int64{0}, Last: []int64{0}, Blocks: []uint64{1}}, "nothing": {Width: 1},
	} {
		d := softmax("")
		d.Kernels[0].Touched.Arrays[0].Read = m
		var b bytes.Buffer
		if err := Write("html", &b, d); err != nil || strings.Contains(b.String(), "<svg") {
			t.Errorf("%s: %v, or a picture", name, err)
		}
	}
	d := softmax("")
	d.Kernels[0].Touched.Grid = [3]uint32{} // and a block beyond the grid has the last colour
	if err := Write("html", &bytes.Buffer{}, d); err != nil {
		t.Error(err)
	}
}

func TestOtherFormatsAreRefusedByName(t *testing.T) {
	for _, err := range []error{Write("csv", &bytes.Buffer{}, softmax("")), WriteComparison("csv", &bytes.Buffer{}, &simulated.CompareDocument{})} {
		if fault.Of(err).Kind != fault.Usage || !strings.Contains(err.Error(), "csv") {
			t.Errorf("got %v", err)
		}
	}
	if f, ok := FormatOf("a.HTML"); f != "html" || !ok {
		t.Error("a.HTML is no page")
	}
}
