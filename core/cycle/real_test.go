package cycle_test

import (
	"fmt"
	"testing"

	"github.com/prlx-go/prlx/core/cycle"
	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/testing/filetest"
)

func documentOf(t *testing.T, name string, opt cycle.Options) *cycledoc.Document {
	t.Helper()
	tr, err := kernels.Read(nil, filetest.Data(t, name), kernels.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := cycle.Find(nil, tr, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r.Document()
}

func text(d *cycledoc.Document) string {
	out := d.Verdict
	for _, l := range d.Levels {
		for _, c := range l.Classes {
			out += fmt.Sprintf("\n  %s (%s): %q %d x %d edited %d, %s %.2f", l.Name, c.Source, c.Name, c.Period, c.Count, c.Edited, c.Phase, c.PhaseScore)
		}
	}
	return out
}

// golden is what is known of the recordings (their README): kernels of one step and how many steps, or of one layer of those that hold one
// step. Counts may miss one that is cut off.
var golden = []struct {
	file          string
	level         string // without annotations
	period, count int64
	phase         string // of that class, annotated and not; "" unknown
}{
	{"kineto/facebookresearch+HolisticTraceAnalysis__control.json.gz", "step", 1383, 6, "training"},
	{"kineto/facebookresearch+HolisticTraceAnalysis__test.json.gz", "step", 1510, 6, "training"},
	{"kineto/facebookresearch+HolisticTraceAnalysis__rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", "step", 870, 5, ""},
	{"kineto/facebookresearch+HolisticTraceAnalysis__nccl_data.json.gz", "step", 893, 3, ""},
	{"kineto/pytorch+kineto__worker0.1623143566756.pt.trace.json.gz", "step", 1462, 6, "training"},
	{"kineto/AMD-AGI+TraceLens__b200__eager_trace.json.gz", "layer", 42, 18, "prefill"},
	{"kineto/AMD-AGI+TraceLens__h100__Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", "layer", 42, 34, ""},
	{"kineto/AMD-AGI+TraceLens__mi300__Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", "layer", 43, 34, ""},
	{"kineto/AMD-AGI+TraceLens__sglang_Qwen3-8B_prefilldecode.json.gz", "layer", 14, 36, "prefill"},
	{"kineto/AMD-AGI+TraceLens__vllm_decode_full__graph_execution.json.gz", "layer", 35, 11, "decode"},
	{"kineto/ByteDance-Seed+StragglerAnalysis__timeline-ST.json.gz", "step", 10, 64, "training"}, // 32 steps of 2 data-parallel ranks, a class a stage
}

// TestRealRecordings prints the table: file, truth, found.
func TestRealRecordings(t *testing.T) {
	for _, g := range golden {
		for _, ignore := range []bool{false, true} {
			d := documentOf(t, g.file, cycle.Options{IgnoreAnnotations: ignore})
			var best *cycledoc.Class
			level := ""
			for i := range d.Levels {
				for k := range d.Levels[i].Classes {
					if c := &d.Levels[i].Classes[k]; int64(c.Period) == g.period && (best == nil || c.Count > best.Count) {
						best, level = c, d.Levels[i].Name
					}
				}
			}
			if best == nil {
				t.Errorf("%s, ignore %v: truth %d x %d\n%s", g.file, ignore, g.period, g.count, text(d))
				continue
			}
			t.Logf("%-100s ignore %-5v truth %4d x %2d, found %4d x %2d (%d edited), %s of phase %s %.2f", g.file, ignore, g.period, g.count, best.Period, best.Count, best.Edited, level, best.Phase, best.PhaseScore)
			if best.Count < g.count-1 || best.Count-best.Edited > g.count || level != g.level {
				t.Errorf("%s, ignore %v: truth %s of %d x %d\n%s", g.file, ignore, g.level, g.period, g.count, text(d))
			}
			if g.phase != "" && best.Phase != g.phase {
				t.Errorf("%s, ignore %v: phase %s, not %s: %s", g.file, ignore, best.Phase, g.phase, best.PhaseReason)
			}
		}
	}
}

// TestStepsOfCompilersAreTaken holds the steps that XSpace names.
func TestStepsOfCompilersAreTaken(t *testing.T) {
	d := documentOf(t, "xplane/openxla+xprof__2cc1243__tpu_inference_2.xplane.pb", cycle.Options{})
	steps := int64(0)
	for _, l := range d.Levels {
		for _, c := range l.Classes {
			if l.Name == cycledoc.LevelStep {
				if c.Source != "xla-module" {
					t.Errorf("%s is %s", c.Name, c.Source)
				}
				steps += c.Count
			}
		}
	}
	if d.Input.Devices != 4 || steps < 4*103 || steps > 4*105 { // the README says about 103 modules a core
		t.Errorf("%d steps of %d devices\n%s", steps, d.Input.Devices, text(d))
	}
}

// TestLabelledRecordingsAreNotSurelyWrong leaves the annotations of recordings of servers aside: what is said with a score of 0.9 or more is what the
// annotation says, and of anything else the truth is one of the readings.
func TestLabelledRecordingsAreNotSurelyWrong(t *testing.T) {
	for file, want := range map[string]string{
		"AMD-AGI+TraceLens__b200__eager_trace.json.gz":                             "prefill",
		"AMD-AGI+TraceLens__sglang_Qwen3-8B_prefilldecode.json.gz":                 "prefill",
		"AMD-AGI+TraceLens__sglang_Qwen3-8B_decode.json.gz":                        "decode",
		"AMD-AGI+TraceLens__vllm_decode_full__graph_execution.json.gz":             "decode",
		"AMD-AGI+TraceLens__vllm_prefilldecode_piecewise__graph_execution.json.gz": "mixed",
	} {
		for _, ignore := range []bool{false, true} {
			d := documentOf(t, "kineto/"+file, cycle.Options{IgnoreAnnotations: ignore})
			told := 0
			for _, l := range d.Levels {
				for _, c := range l.Classes {
					if c.Phase != want && (c.PhaseScore >= 0.9 || !ignore && c.Phase != "unknown") {
						t.Errorf("%s, ignore %v: %s is %s %.2f, annotated as %s", file, ignore, c.Name, c.Phase, c.PhaseScore, want)
					}
					for _, r := range c.PhaseReadings {
						if r.Phase == want {
							told++
						}
					}
				}
			}
			if told == 0 {
				t.Errorf("%s, ignore %v: nothing is said to be %s\n%s", file, ignore, want, text(d))
			}
		}
	}
}
