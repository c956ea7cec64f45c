// Package phase says which part of a workload a step is (prefill, decode, training, ...), how sure it is and why. Evidence counts in this order:
// what an annotation says, the family of the attention kernels, backward and optimizer kernels, graph launches, the rows of matrix
// products, tokens, and how long the step is beside the others. Position is the last tie-break and says so.
package phase

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Phase is the part of a workload that a class of steps is.
type Phase string

// The phases.
const (
	Prefill   Phase = "prefill"
	Decode    Phase = "decode"
	Mixed     Phase = "mixed"
	Draft     Phase = "draft"
	Verify    Phase = "verify"
	Forward   Phase = "train-fwd"
	Backward  Phase = "train-bwd"
	Optimizer Phase = "optimizer"
	Unknown   Phase = "unknown"
)

// Features are what is known of one class of steps. Zero means not known, except in Position.
type Features struct {
	Names       []string // the kernels of one repetition
	Annotations []string // texts of the marks around repetitions
	Training    bool     // the trace has backward or optimizer kernels somewhere
	Serving     bool     // the trace has serving attention (decode or prefill family) somewhere

	GraphKernels int     // kernels of one repetition that a graph launch started
	TileRows     int     // the rows (M) of the tiles or grids of matrix products, the median
	OtherRows    int     // the same over the other classes of the trace that are served by the same model
	Tokens       float64 // tokens per step and request
	Ratio        float64 // wall time of this class beside the shortest class of as many layers; 1 is the shortest
	Position     float64 // centre of the class in the trace, 0..1
	Classes      int     // classes that Position was taken among
}

// Result is a phase with its score in 0..1 and the reason in words. Position tells that nothing but position decided.
type Result struct {
	Phase    Phase
	Score    float64
	Reason   string
	Position bool
}

// Score weighs the evidence. The first kind of evidence that says something decides; weaker kinds that agree or disagree do not change it.
func Score(f Features) Result {
	for _, judge := range []func(Features) (Result, bool){byAnnotation, byTraining, byAttention, byGraph, byRows, byTokens, byRatio, byPosition} {
		if r, ok := judge(f); ok {
			return r
		}
	}
	return Result{Phase: Unknown, Reason: "no annotation, no telling kernel, no other class to compare with"}
}

var (
	vllmMark   = regexp.MustCompile(`execute_(?:\d+_)?context_(\d+)\(.*?\)_generation_(\d+)\(`)
	sglangMark = regexp.MustCompile(`(?i)step\[\s*(TARGET_VERIFY|DRAFT_EXTEND|DRAFT|VERIFY|EXTEND|PREFILL|DECODE|MIXED)`)
	atomMark   = regexp.MustCompile(`(?i)^(prefill|decode|mixed|draft|verify)\b`)
)

// Annotated is the phase that the text of one annotation names; ok is false when it names none (a bare "ProfilerStep#3").
func Annotated(text string) (Phase, bool) {
	if m := vllmMark.FindStringSubmatch(text); m != nil {
		context, err1 := strconv.Atoi(m[1])
		generation, err2 := strconv.Atoi(m[2])
		switch {
		case err1 != nil || err2 != nil || context+generation == 0:
			return Unknown, false
		case generation == 0:
			return Prefill, true
		case context == 0:
			return Decode, true
		}
		return Mixed, true
	}
	m := sglangMark.FindStringSubmatch(text)
	if m == nil {
		m = atomMark.FindStringSubmatch(strings.TrimSpace(text))
	}
	if m != nil {
		switch strings.ToUpper(m[1]) {
		case "EXTEND", "PREFILL":
			return Prefill, true
		case "DECODE":
			return Decode, true
		case "MIXED":
			return Mixed, true
		case "DRAFT", "DRAFT_EXTEND":
			return Draft, true
		}
		return Verify, true
	}
	lower := strings.ToLower(text)
	switch {
	case strings.HasPrefix(lower, "optimizer.step"), strings.HasPrefix(lower, "optimizer_step"):
		return Optimizer, true
	case lower == "backward":
		return Backward, true
	}
	return Unknown, false
}

func byAnnotation(f Features) (Result, bool) {
	count := map[Phase]int{}
	example := map[Phase]string{}
	total := 0
	for _, text := range f.Annotations {
		if p, ok := Annotated(text); ok {
			if count[p]++; count[p] == 1 {
				example[p] = text
			}
			total++
		}
	}
	best := Unknown
	for _, p := range []Phase{Prefill, Decode, Mixed, Draft, Verify, Forward, Backward, Optimizer} {
		if count[p] > count[best] {
			best = p
		}
	}
	if total == 0 {
		return Result{}, false
	}
	return Result{
		Phase: best, Score: float64(count[best]) / float64(total),
		Reason: fmt.Sprintf("%d of %d annotations say so, as in %q", count[best], total, example[best]),
	}, true
}

// tally counts the families of a step; sample keeps one row per hint.
func tally(names []string) (count map[hint]int, sample map[hint]int) {
	count, sample = map[hint]int{}, map[hint]int{}
	rows := map[string]int{} // a step says few names many times
	for _, n := range names {
		row, seen := rows[n]
		if !seen {
			var ok bool
			if row, ok = familyOf(n); !ok {
				row = -1
			}
			rows[n] = row
		}
		if row >= 0 {
			h := families[row].hint
			if count[h]++; count[h] == 1 {
				sample[h] = row
			}
		}
	}
	return count, sample
}

func because(n int, what string, row int) string {
	return fmt.Sprintf("%d %s (%q: %s)", n, what, strings.Join(families[row].words, " "), families[row].source)
}

func byTraining(f Features) (Result, bool) {
	n, at := tally(f.Names)
	back := n[backward] + n[backwardAttention]
	row := at[backward]
	if n[backwardAttention] > 0 {
		row = at[backwardAttention]
	}
	switch {
	case n[optimize] > 0 && back > 0: // a whole training step: the greater part names it, and the score says how great
		r := Result{Phase: Optimizer, Score: float64(max(back, n[optimize])) / float64(back+n[optimize]), Reason: because(n[optimize], "optimizer kernels", at[optimize]) + " beside " + because(back, "backward kernels", row)}
		if back > n[optimize] {
			r.Phase = Backward
		}
		return r, true
	case n[optimize] > 0:
		return Result{Phase: Optimizer, Score: 0.9, Reason: because(n[optimize], "optimizer kernels", at[optimize])}, true
	case back > 0 && n[decodeAttention] == 0:
		return Result{Phase: Backward, Score: 0.9, Reason: because(back, "backward kernels", row)}, true
	case f.Training && n[forwardAttention] > 0 && n[decodeAttention]+n[prefillAttention] == 0:
		return Result{Phase: Forward, Score: 0.8, Reason: because(n[forwardAttention], "forward attention kernels in a trace that trains", at[forwardAttention])}, true
	}
	return Result{}, false
}

func byAttention(f Features) (Result, bool) {
	n, at := tally(f.Names)
	pre, preRow := n[prefillAttention]+n[forwardAttention], at[prefillAttention]
	if n[prefillAttention] == 0 {
		preRow = at[forwardAttention]
	}
	switch {
	case n[rejection] > 0:
		return Result{Phase: Verify, Score: 0.85, Reason: because(n[rejection], "kernels that accept or reject drafted tokens", at[rejection])}, true
	case n[decodeAttention] > 0 && n[prefillAttention] > 0:
		return Result{Phase: Mixed, Score: 0.85, Reason: because(n[decodeAttention], "decode attention kernels", at[decodeAttention]) + " beside " + because(n[prefillAttention], "prefill attention kernels", at[prefillAttention])}, true
	case attendsTwice(f.Names):
		return Result{Phase: Mixed, Score: 0.7, Reason: because(n[decodeAttention], "attention kernels", at[decodeAttention]) + ": split-KV, as prompts with a paged cache take, and paged attention for single tokens, as often as each other"}, true
	case n[decodeAttention] > 0:
		return Result{Phase: Decode, Score: 0.9, Reason: because(n[decodeAttention], "decode attention kernels", at[decodeAttention])}, true
	case n[prefillAttention] > 0:
		return Result{Phase: Prefill, Score: 0.9, Reason: because(pre, "prefill attention kernels", preRow)}, true
	case pre > 0 && f.Serving:
		return Result{Phase: Prefill, Score: 0.8, Reason: because(pre, "forward attention kernels in a trace that serves", preRow)}, true
	}
	return Result{}, false
}

// attendsTwice reports whether every layer attends in two ways: with the split-KV kernel that flash-attention takes for prompts whose cache
// is paged, and with paged attention, which takes one token a request. Kernels that combine what was split do not count.
func attendsTwice(names []string) bool {
	times := map[string]int{}
	for _, n := range names {
		times[n]++
	}
	split, paged := 0, 0
	for n, k := range times { // sums do not depend on the order
		switch n = strings.ToLower(n); {
		case strings.Contains(n, "combine"), strings.Contains(n, "reduce"):
		case strings.Contains(n, "splitkv"):
			split += k
		case strings.Contains(n, "paged_attention"):
			paged += k
		}
	}
	return split > 0 && split == paged
}

func byGraph(f Features) (Result, bool) {
	if !f.Serving || len(f.Names) == 0 || 2*f.GraphKernels <= len(f.Names) {
		return Result{}, false
	}
	return Result{Phase: Decode, Score: 0.7, Reason: fmt.Sprintf("%d of %d kernels are launched by a graph, as servers do for decode", f.GraphKernels, len(f.Names))}, true
}

func byRows(f Features) (Result, bool) {
	if !f.Serving || f.TileRows <= 0 || f.OtherRows <= 0 {
		return Result{}, false
	}
	reason := fmt.Sprintf("matrix products of %d rows beside %d in other classes", f.TileRows, f.OtherRows)
	switch {
	case f.TileRows >= 4*f.OtherRows:
		return Result{Phase: Prefill, Score: 0.65, Reason: reason}, true
	case 4*f.TileRows <= f.OtherRows:
		return Result{Phase: Decode, Score: 0.65, Reason: reason}, true
	}
	return Result{}, false
}

func byTokens(f Features) (Result, bool) {
	switch {
	case f.Tokens <= 0:
		return Result{}, false
	case f.Tokens <= 1:
		return Result{Phase: Decode, Score: 0.65, Reason: "one token per step and request"}, true
	case f.Tokens >= 16:
		return Result{Phase: Prefill, Score: 0.65, Reason: fmt.Sprintf("%.0f tokens per step and request", f.Tokens)}, true
	}
	return Result{}, false
}

func byRatio(f Features) (Result, bool) {
	if !f.Serving || f.Ratio < 3 {
		return Result{}, false
	}
	return Result{Phase: Prefill, Score: 0.5, Reason: fmt.Sprintf("%.1f times as long as the shortest class of as many layers", f.Ratio)}, true
}

func byPosition(f Features) (Result, bool) {
	if !f.Serving || f.Classes < 2 {
		return Result{}, false
	}
	const why = "by position alone: no kernel or annotation tells; the %s of %d classes"
	switch {
	case f.Position < 0.25:
		return Result{Phase: Prefill, Score: 0.2, Reason: fmt.Sprintf(why, "earliest", f.Classes), Position: true}, true
	case f.Position > 0.5:
		return Result{Phase: Decode, Score: 0.2, Reason: fmt.Sprintf(why, "latest", f.Classes), Position: true}, true
	}
	return Result{}, false
}

// Kinds says what a whole trace does, for Features.Training and Features.Serving.
func Kinds(names []string) (training, serving bool) {
	n, _ := tally(names)
	training = n[backward]+n[backwardAttention]+n[optimize] > 0
	serving = !training && n[decodeAttention]+n[prefillAttention]+n[rejection]+n[attention] > 0
	return training, serving
}

// Mode is how the described tool picks one pattern of many.
type Mode string

// The modes.
const (
	ModeAuto    Mode = "auto"    // the most repetitions
	ModePrefill Mode = "prefill" // the earliest centre
	ModeDecode  Mode = "decode"  // the latest centre
)

// Pattern is what Pick needs of a class.
type Pattern struct {
	Repetitions int
	Start, End  int // kernels: the first of the first repetition, behind the last of the last
}

// Pick chooses a pattern as the described tool does; -1 when there is none or the mode is not known. Of equals the first wins.
func Pick(mode Mode, patterns []Pattern) int {
	centre := func(p Pattern) int { return p.Start + p.End }
	order := make([]int, len(patterns))
	for i := range order {
		order[i] = i
	}
	var cmp func(a, b int) int
	switch mode {
	case ModeAuto:
		cmp = func(a, b int) int { return patterns[b].Repetitions - patterns[a].Repetitions }
	case ModePrefill:
		cmp = func(a, b int) int { return centre(patterns[a]) - centre(patterns[b]) }
	case ModeDecode:
		cmp = func(a, b int) int { return centre(patterns[b]) - centre(patterns[a]) }
	}
	if cmp == nil || len(order) == 0 {
		return -1
	}
	slices.SortStableFunc(order, cmp)
	return order[0]
}
