package cycle

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/kernels"
	"github.com/prlx-go/prlx/core/cycle/naming/phase"
	"github.com/prlx-go/prlx/core/cycle/rendering"
	"github.com/prlx-go/prlx/core/cycle/structure"
	"github.com/prlx-go/prlx/core/testing/cycletest"
)

// stepped makes a trace of steps of 10 kernels with times that a test sets: kernel k of step s takes dur(s, k) ns.
func stepped(steps int, dur func(step, kernel int) int64) *kernels.Trace {
	now := int64(1_000_000)
	return series(10*steps, func(i int) (string, int64, int64) {
		if i%10 == 0 {
			now += 50_000
		}
		d := dur(i/10, i%10)
		start := now
		now += d + 100
		return fmt.Sprintf("kernel_%c", 'a'+i%10), start, d
	})
}

func only(t *testing.T, d *cycledoc.Document) *cycledoc.Class {
	t.Helper()
	if len(d.Levels) != 1 || len(d.Levels[0].Classes) != 1 {
		t.Fatalf("not one class: %s", describeDoc(d))
	}
	return &d.Levels[0].Classes[0]
}

func TestOutliersAreNamedWithTheKernelThatMadeThem(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	slow := map[int]int{17: 3, 40: 8} // step -> kernel
	d := mustFind(t, stepped(60, func(step, k int) int64 {
		dur := 5000 + r.Int64N(50)
		if slow[step] == k && k > 0 {
			dur += 20_000
		}
		return dur
	}), Options{}).Document()
	c := only(t, d)
	if c.OutliersTotal != 2 || len(c.Outliers) != 2 {
		t.Fatalf("%d outliers: %+v", c.OutliersTotal, c.Outliers)
	}
	for _, o := range c.Outliers {
		if slow[int(o.Repetition)] != o.Slot || o.SlotNS < 19_000 || o.Score < 5 {
			t.Errorf("%+v", o)
		}
	}
	if c.Drift != nil {
		t.Errorf("two slow steps are no drift: %+v", c.Drift)
	}
}

func TestAllOutliersAreCountedAndTheLargestListed(t *testing.T) {
	const steps, every, listed = 1000, 20, 20 // 50 steps are slow, each more than the one before
	r := rand.New(rand.NewPCG(1, 2))
	d := mustFind(t, stepped(steps, func(step, k int) int64 {
		dur := 5000 + r.Int64N(50)
		if step%every == every/2 && k == 3 {
			dur += 20_000 + 100*int64(step)
		}
		return dur
	}), Options{}).Document()
	c := only(t, d)
	if c.OutliersTotal != steps/every || len(c.Outliers) != listed {
		t.Fatalf("%d outliers, %d listed; want %d and %d", c.OutliersTotal, len(c.Outliers), steps/every, listed)
	}
	for i, o := range c.Outliers {
		if want := int64(steps - every/2 - every*i); o.Repetition != want {
			t.Errorf("outlier %d is step %d, want %d", i, o.Repetition, want)
		}
	}
}

func TestDriftIsFoundWhereItBegins(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	d := mustFind(t, stepped(80, func(step, _ int) int64 {
		if step >= 50 {
			return 5600 + r.Int64N(50)
		}
		return 5000 + r.Int64N(50)
	}), Options{}).Document()
	c := only(t, d)
	if c.Drift == nil || c.Drift.Repetition != 50 || c.Drift.Change < 0.03 || c.Drift.AtNS != c.Borders[50].StartNS {
		t.Fatalf("%+v", c.Drift)
	}
	if c.OutliersTotal != 0 {
		t.Errorf("what drifts is not odd: %+v", c.Outliers)
	}
}

func TestSteadyRunsDoNotDrift(t *testing.T) {
	found := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		d := mustFind(t, stepped(40, func(int, int) int64 { return 4000 + r.Int64N(2000) }), Options{}).Document()
		if only(t, d).Drift != nil {
			found++
		}
	}
	t.Logf("drift in %d of 200 steady runs", found)
	if found > 4 {
		t.Errorf("drift in %d of 200 steady runs", found)
	}
}

// mark adds marks around every step of a stepped trace.
func mark(tr *kernels.Trace, kind kernels.MarkKind, steps int, text func(i int) (string, string)) {
	s := &tr.Sequences[0]
	for i := range steps {
		name, ph := text(i)
		tr.Marks = append(tr.Marks, kernels.Mark{
			Kind: kind, Text: name, Phase: ph, Place: kernels.Launched, StartNS: s.StartNS[10*i], EndNS: s.EndNS(10*i + 9), Kernels: 10, Step: int64(i),
		})
	}
}

func TestMarksDefineStepsAndLabelThem(t *testing.T) {
	tr := stepped(12, func(int, int) int64 { return 5000 })
	mark(tr, kernels.SGLang, 12, func(i int) (string, string) {
		if i < 3 {
			return "step[EXTEND bs=1 toks=512]", "prefill"
		}
		return "step[DECODE bs=8 toks=8]", "decode"
	})
	d := mustFind(t, tr, Options{}).Document()
	if len(d.Levels) != 1 || d.Levels[0].Name != cycledoc.LevelStep || len(d.Levels[0].Classes) != 2 {
		t.Fatalf("%s", describeDoc(d))
	}
	for _, c := range d.Levels[0].Classes {
		want := map[string]int64{"prefill": 3, "decode": 9}[c.Phase]
		if c.Count != want || c.Period != 10 || c.Source != "sglang" || !strings.Contains(c.PhaseReason, "annotations") {
			t.Errorf("%+v", c)
		}
	}
	for i, s := range d.Steps {
		if (i < 3) != (s.Phase == "prefill") || s.Kernels != 10 || s.Mark == "" {
			t.Errorf("step %d: %+v", i, s)
		}
	}
	if len(d.Evidence) != 1 || d.Evidence[0].Use != "steps and phases" || d.Evidence[0].Marks != 12 {
		t.Errorf("%+v", d.Evidence)
	}
	without := mustFind(t, tr, Options{IgnoreAnnotations: true}).Document()
	c := only(t, without)
	if c.Count != 12 || c.Source != "inferred" || c.Phase != "unknown" || without.Evidence[0].Use != "ignored" {
		t.Errorf("ignored: %s", describeDoc(without))
	}
	if !slices.ContainsFunc(d.Levels[0].Classes, func(x cycledoc.Class) bool { return x.ID == c.ID }) {
		t.Errorf("the class has another id when marks are ignored")
	}
}

func TestAMarkedStepThatDiffersByAKernelJoinsTheClassOfTheOthers(t *testing.T) {
	now := int64(0)
	tr := series(401, func(i int) (string, int64, int64) { // 10 steps of 40, one kernel too many in the sixth
		now += 1000
		k := i
		if i > 220 {
			k = i - 1
		}
		name := fmt.Sprintf("kernel_%d", k%40)
		if i == 220 {
			name = "extra"
		}
		return name, now, 800
	})
	s := &tr.Sequences[0]
	for i := range 10 {
		from, to := 40*i, 40*i+39
		if from > 220 {
			from++
		}
		if to >= 220 {
			to++
		}
		tr.Marks = append(tr.Marks, kernels.Mark{
			Kind: kernels.ProfilerStep, Text: fmt.Sprintf("ProfilerStep#%d", i), Place: kernels.Launched, StartNS: s.StartNS[from], EndNS: s.EndNS(to), Kernels: to - from + 1, Step: int64(i),
		})
	}
	c := only(t, mustFind(t, tr, Options{}).Document())
	if c.Count != 10 || c.Period != 40 || c.Edited != 1 || c.Edits != 1 || c.Borders[5].Edits != 1 || c.Borders[5].End-c.Borders[5].First != 41 {
		t.Errorf("%+v", c)
	}
	for _, slot := range c.Kernels {
		if slot.Count != 10 {
			t.Errorf("slot %d is in %d repetitions", slot.Slot, slot.Count)
		}
	}
}

// TestAStepThatTheRecordingCutsOffIsPartial: 8 marked steps of 10 kernels, of which one lacks some. At an end of the recording it is cut off
// when it lacks what lies beyond that end; elsewhere, or otherwise, it is a step of another class.
func TestAStepThatTheRecordingCutsOffIsPartial(t *testing.T) {
	const steps = 8
	for _, tc := range []struct {
		name           string
		step, from, to int // kernels from <= k < to of that step are not there
		partial        bool
	}{
		{"the recording begins in the first step", 0, 0, 4, true},
		{"the recording ends in the last step", steps - 1, 6, 10, true},
		{"the first step lacks its end", 0, 6, 10, false},
		{"the last step lacks its beginning", steps - 1, 0, 4, false},
		{"a step in between lacks its end", 3, 6, 10, false},
	} {
		var there []int
		for i := range 10 * steps {
			if i/10 != tc.step || i%10 < tc.from || i%10 >= tc.to {
				there = append(there, i)
			}
		}
		tr := series(len(there), func(i int) (string, int64, int64) {
			return fmt.Sprintf("kernel_%c", 'a'+there[i]%10), int64(1_000_000 + 6_000*there[i]), 5_000
		})
		for i := range steps {
			from, left := int64(1_000_000+60_000*i), 10
			if i == tc.step {
				left -= tc.to - tc.from
			}
			tr.Marks = append(tr.Marks, kernels.Mark{
				Kind: kernels.ProfilerStep, Text: fmt.Sprintf("ProfilerStep#%d", i), Place: kernels.Launched, StartNS: from, EndNS: from + 59_000, Kernels: left, Step: int64(i),
			})
		}
		d := mustFind(t, tr, Options{}).Document()
		classes := 2
		if tc.partial {
			classes = 1
		}
		if len(d.Levels) != 1 || len(d.Levels[0].Classes) != classes || len(d.Steps) != steps {
			t.Errorf("%s: want %d classes, %d steps: %s", tc.name, classes, steps, describeDoc(d))
			continue
		}
		for i, s := range d.Steps {
			if want := tc.partial && i == tc.step; s.Partial != want {
				t.Errorf("%s: step %d is partial: %v, want %v", tc.name, i, s.Partial, want)
			}
		}
	}
}

func TestKernelsBehindTheMarkBelongToTheStep(t *testing.T) {
	tr := stepped(10, func(int, int) int64 { return 5000 })
	s := &tr.Sequences[0]
	for i := range 10 { // the last two kernels of a step are launched behind the annotation
		tr.Marks = append(tr.Marks, kernels.Mark{Kind: kernels.VLLM, Text: "execute_context_0(0)_generation_4(4)", Phase: "decode", Place: kernels.Launched, StartNS: s.StartNS[10*i], EndNS: s.EndNS(10*i + 7), Kernels: 8, Step: -1})
	}
	c := only(t, mustFind(t, tr, Options{}).Document())
	if c.Period != 10 || c.Count != 10 || c.Phase != "decode" {
		t.Errorf("%+v", c)
	}
}

func TestOneMarkedStepIsReported(t *testing.T) {
	tr := stepped(1, func(int, int) int64 { return 5000 })
	mark(tr, kernels.SGLang, 1, func(int) (string, string) { return "step[EXTEND bs=15 toks=15360]", "prefill" })
	d := mustFind(t, tr, Options{}).Document()
	if c := only(t, d); c.Count != 1 || c.Phase != "prefill" {
		t.Errorf("%s", describeDoc(d))
	}
}

func TestRanksShareClassesAndTheSlowestIsNamed(t *testing.T) {
	c := cycletest.Make("dense-moe", 4, cycletest.Options{Kernels: 4000})
	slow := *c
	slow.DurNS = slices.Clone(c.DurNS)
	for i := range slow.DurNS {
		slow.DurNS[i] += 200
	}
	d := mustFind(t, traceOf(c, &slow, c), Options{}).Document()
	for _, l := range d.Levels {
		for _, class := range l.Classes {
			if len(class.Ranks) != 3 || class.Ranks[0].Count != class.Ranks[1].Count {
				t.Errorf("%s is on %d devices", class.Name, len(class.Ranks))
			}
		}
	}
	if len(d.RankSteps) == 0 || len(d.RankTotals) != 3 || d.RankTotals[1].Slowest != int64(len(d.RankSteps)) {
		t.Fatalf("%d rank steps, totals %+v", len(d.RankSteps), d.RankTotals)
	}
	for _, s := range d.RankSteps {
		if s.Slowest != 1 || s.Ranks != 3 || s.ExcessNS <= 0 {
			t.Errorf("%+v", s)
		}
	}
}

func TestKernelsOfOtherStreamsStandBesideTheStep(t *testing.T) {
	c := cycletest.Make("two-streams", 2, cycletest.Options{Kernels: 4000})
	d := mustFind(t, traceOf(c), Options{}).Document()
	var step *cycledoc.Class
	for i := range d.Levels {
		if d.Levels[i].Name == cycledoc.LevelStep {
			step = &d.Levels[i].Classes[0]
		}
	}
	if step == nil || len(step.Beside) != 1 || !step.Beside[0].Communication {
		t.Fatalf("%s", describeDoc(d))
	}
	want := int64(0)
	for i, s := range c.Stream {
		if s == 1 && c.StartNS[i] >= d.ZeroNS+step.StartNS && c.StartNS[i] < d.ZeroNS+step.EndNS {
			want++
		}
	}
	if got := step.Beside[0].Count; got != want {
		t.Errorf("%d kernels beside the steps, not %d", got, want)
	}
	// The slow twin of what is hidden: every nanosecond of the other stream, held against every kernel of the first.
	hidden, all := int64(0), int64(0)
	for i, s := range c.Stream {
		if s != 1 {
			continue
		}
		from, to := c.StartNS[i], c.StartNS[i]+c.DurNS[i]
		all += to - from
		for k, o := range c.Stream {
			if o == 0 {
				hidden += max(0, min(to, c.StartNS[k]+c.DurNS[k])-max(from, c.StartNS[k]))
			}
		}
	}
	if got, want := step.Beside[0].HiddenShare, float64(hidden)/float64(all); got < want-0.01 || got > want+0.01 {
		t.Errorf("hidden %.3f, not %.3f", got, want)
	}
}

func TestStreamsThatTakeTurnsAreMerged(t *testing.T) {
	c := &cycletest.Case{}
	now := int64(0)
	r := rand.New(rand.NewPCG(8, 8))
	for i := range 4000 { // a step of 20; which stream runs a kernel is a matter of chance
		if i < 20 {
			c.Names = append(c.Names, fmt.Sprintf("kernel_%d", i))
		}
		now += 1000
		c.Symbols, c.StartNS, c.DurNS, c.Stream = append(c.Symbols, uint32(i%20)), append(c.StartNS, now), append(c.DurNS, 900), append(c.Stream, uint16(r.IntN(2)))
	}
	tr := traceOf(c)
	tr.Sequences[0].Streams[1].Communication = false
	d := mustFind(t, tr, Options{}).Document()
	class := only(t, d)
	if d.Options.Streams != structure.StreamsMerged || class.Period != 20 || class.Count != 200 || class.Kernels[0].Stream == "" {
		t.Errorf("%s", describeDoc(d))
	}
	apart := mustFind(t, tr, Options{Streams: structure.StreamsEach}).Document()
	if apart.Status != cycledoc.StatusNone {
		t.Errorf("alone: %s", describeDoc(apart))
	}
}

func TestLooseKeysExplainWhatStrictOnesDoNot(t *testing.T) {
	now := int64(0)
	r := rand.New(rand.NewPCG(4, 9))
	parts := []string{"norm", "qkv", "attention", "mlp", "gate", "router", "down", "up"}
	tr := series(4000, func(i int) (string, int64, int64) { // a generator numbers its kernels anew in each step
		now += 1000
		return fmt.Sprintf("triton_poi_fused_%s_%d", parts[i%8], r.IntN(60)), now, 800
	})
	d := mustFind(t, tr, Options{}).Document()
	c := only(t, d)
	if d.Options.Keys != structure.KeysLoose || c.Period != 8 || c.Kernels[0].Names < 2 || len(d.Warnings) == 0 {
		t.Errorf("%s", describeDoc(d))
	}
	if d := mustFind(t, tr, Options{Keys: structure.KeysStrict}).Document(); d.Status != cycledoc.StatusNone {
		t.Errorf("strict: %s", describeDoc(d))
	}
}

func TestTheSearchOfUplifterFindsWhatIsEvenlySpaced(t *testing.T) {
	tr := stepped(50, func(int, int) int64 { return 5000 })
	d := mustFind(t, tr, Options{Compat: &cycledoc.CompatSettings{}}).Document()
	c := only(t, d)
	if d.Levels[0].Name != cycledoc.LevelCycle || c.Period != 10 || c.Count != 50 || d.Options.Compat == nil || *d.Options.Compat != structure.UplifterSettings() {
		t.Errorf("%s", describeDoc(d))
	}
	inferred := only(t, mustFind(t, tr, Options{}).Document())
	if inferred.ID != c.ID {
		t.Error("the same cycle has another id")
	}
	if inferred.Patterns != nil {
		t.Error("nobody asked for the words of uplifter")
	}
	// An inserted kernel throws its grid off for the rest of the trace; ours goes on.
	now := int64(0)
	noisy := series(501, func(i int) (string, int64, int64) {
		now += 1000
		switch {
		case i == 255:
			return "extra", now, 800
		case i > 255:
			i--
		}
		return fmt.Sprintf("kernel_%c", 'a'+i%10), now, 800
	})
	if c := only(t, mustFind(t, noisy, Options{Compat: &cycledoc.CompatSettings{}}).Document()); c.Count > 30 {
		t.Errorf("the grid goes on: %d", c.Count)
	}
	if c := only(t, mustFind(t, noisy, Options{}).Document()); c.Count < 49 {
		t.Errorf("one kernel costs more than a repetition: %d", c.Count)
	}
}

func TestAPatternHasTheFieldsOfUplifter(t *testing.T) {
	// Two kernels in front, then 40 repetitions of 8: every name is evenly spaced, and the first is the anchor.
	now := int64(0)
	tr := series(2+40*8, func(i int) (string, int64, int64) {
		now += 1000
		if i < 2 {
			return fmt.Sprintf("warmup_%d", i), now, 800
		}
		return fmt.Sprintf("void kernel_%c<%d>", 'a'+(i-2)%8, 4), now, 800
	})
	c := only(t, mustFind(t, tr, Options{Compat: &cycledoc.CompatSettings{}, MaxListed: 5}).Document())
	want := cycledoc.Pattern{
		Device: c.Borders[0].Device, Anchor: "void kernel_a<4>", Signature: "kernel_a|kernel_b|kernel_c|kernel_d|kernel_e|kernel_f|kernel_g|kernel_h",
		StartIndex: 2, CycleLength: 8, NumCycles: 40, CycleIndices: []int64{2, 10, 18, 26, 34}, StartPos: 2, EndPos: 2 + 40*8, CenterPos: 162,
	}
	if len(c.Patterns) != 1 || !reflect.DeepEqual(c.Patterns[0], want) {
		t.Errorf("got %+v\nwant %+v", c.Patterns, want)
	}
}

func TestPhaseModesPickByPlace(t *testing.T) {
	c := cycletest.Make("multi-prefill", 3, cycletest.Options{Kernels: 6000})
	ids := map[phase.Mode]string{}
	for _, mode := range []phase.Mode{phase.ModeAuto, phase.ModePrefill, phase.ModeDecode} {
		d := mustFind(t, traceOf(c), Options{PhaseMode: mode}).Document()
		ids[mode] = d.Selected
		found := false
		for _, l := range d.Levels {
			for _, class := range l.Classes {
				if class.ID == d.Selected {
					found = true
					if mode == phase.ModePrefill && class.Phase != "prefill" {
						t.Errorf("the earliest is %s", class.Phase)
					}
				}
			}
		}
		if !found {
			t.Errorf("%s selects %q, which is not a class", mode, d.Selected)
		}
	}
	if ids[phase.ModePrefill] == ids[phase.ModeDecode] {
		t.Error("both modes pick one class")
	}
}

func TestNoiseCostsEditsAndNotSteps(t *testing.T) {
	clean, kept, steps := 0, 0, 0
	for seed := range uint64(seeds(t, 8)) {
		c := cycletest.Make("dense-moe", seed, cycletest.Options{Kernels: 20_000, Noise: 0.05, Jitter: 0.3})
		d := mustFind(t, traceOf(c), Options{}).Document()
		for _, want := range c.Truth {
			if !strings.HasPrefix(want.Name, "step") {
				continue
			}
			steps += len(want.Reps)
			starts := map[int64]bool{}
			for _, l := range d.Levels {
				for _, class := range l.Classes {
					if class.Period == want.Period {
						if class.Count != int64(len(want.Reps)) {
							t.Errorf("seed %d: %d steps, not %d", seed, class.Count, len(want.Reps))
						}
						for _, b := range class.Borders {
							starts[b.First] = true
						}
						if (class.Edited > 0) != (d.Edits.Used > 0) {
							t.Errorf("seed %d: %d edited, budget %+v", seed, class.Edited, d.Edits)
						}
					}
				}
			}
			for _, rep := range want.Reps {
				if !rep.Edited {
					clean++
					if starts[int64(rep.Start)] {
						kept++
					}
				}
			}
		}
	}
	t.Logf("%d of %d clean steps of %d kept", kept, clean, steps)
	if 100*kept < 99*clean {
		t.Errorf("%d of %d clean steps kept", kept, clean)
	}
}

func TestRowsGiveWhatTheDocumentLeavesOut(t *testing.T) {
	c := cycletest.Make("dense-moe", 1, cycletest.Options{Kernels: 5000})
	r := mustFind(t, traceOf(c), Options{MaxListed: 3})
	d := r.Document()
	listed, omitted, rows, steps := int64(0), int64(0), int64(0), int64(0)
	for _, l := range d.Levels {
		for _, class := range l.Classes {
			listed += int64(len(class.Borders))
			omitted += class.BordersOmitted
		}
	}
	r.EachRepetition(func(row rendering.RepetitionRow) {
		if d.Levels[row.Level-1].Classes[row.Class].ID != row.ID {
			t.Fatalf("%+v points to another class", row)
		}
		rows++
	})
	r.EachStep(func(cycledoc.Step) { steps++ })
	if omitted == 0 || rows != listed+omitted || steps != d.StepsTotal || int64(len(d.Steps))+d.StepsOmitted != steps {
		t.Errorf("%d rows, %d listed, %d omitted; %d steps of %d", rows, listed, omitted, steps, d.StepsTotal)
	}
}
