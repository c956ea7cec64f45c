// Package phase says which part of a workload a step is (prefill, decode, training, ...), how sure it is and why. Annotations decide, then kernels
// that only training or speculation has. Prefill and decode are told apart by all evidence together, of the class itself and of how it differs from
// the other classes of its level: see weigh. Where two readings are close, both are given.
package phase

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/lazyregexp"
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
	Training  Phase = "training" // a whole step: forward, backward and optimizer are its parts
	Forward   Phase = "train-fwd"
	Backward  Phase = "train-bwd"
	Optimizer Phase = "optimizer"
	Unknown   Phase = cycledoc.PhaseUnknown
)

// Features are what is known of one class of steps or layers. Zero means not known, except in Level and Start.
type Features struct {
	Names       []string // the kernels of one repetition
	Annotations []string // texts of the marks around repetitions
	Training    bool     // the trace has backward or optimizer kernels somewhere
	Whole       bool     // a step: a mark of the profiler says so, or its class holds most of the kernels of the run
	Serving     bool     // the trace makes tokens: see Kinds

	// By place in Names; nil where nothing is known.
	NS     []float64 // mean time
	Blocks []float64 // mean thread blocks, 0 unknown
	Graph  []bool    // launched by a graph

	Level       int     // classes of one level are set beside each other
	Layers      int     // repetitions of the level below in one
	BusyNS      float64 // of one repetition
	TileRows    int     // the rows of the tiles of matrix products, the median
	Tokens      float64 // tokens per step and request, as marks say
	Repetitions int
	Runs        int     // stretches of repetitions without another class of the level between
	Start       float64 // where the first repetition lies among those of its level, 0..1
	After       bool    // the first repetition follows one of another class at once
}

// Reading is one phase that a class may be of.
type Reading struct {
	Phase Phase
	Score float64
}

// Result is a phase with its score in 0..1 and the reason in words. Position tells that nothing but the order of classes decided.
type Result struct {
	Phase    Phase
	Score    float64
	Reason   string
	Position bool
	Readings []Reading // what it may be, likeliest first; one where nothing else is close
}

// Name says of which phases the classes of a trace are.
func Name(all []Features) []Result {
	out, list := make([]Result, len(all)), make([]known, len(all))
	for i := range all {
		list[i] = know(&all[i])
	}
	for i := range all {
		out[i] = name(list, i)
		if len(out[i].Readings) == 0 && out[i].Phase != Unknown {
			out[i].Readings = []Reading{{out[i].Phase, out[i].Score}}
		}
	}
	return out
}

func name(all []known, i int) Result {
	f := all[i].Features
	for _, judge := range []func(*Features) (Result, bool){byAnnotation, byTraining, byAttention} {
		if r, ok := judge(f); ok {
			return r
		}
	}
	if !f.Serving {
		return Result{Phase: Unknown, Reason: "no annotation, no telling kernel, and nothing that makes tokens"}
	}
	return weigh(all, i)
}

var (
	vllmMark   = lazyregexp.New(`execute_(?:\d+_)?context_(\d+)\(.*?\)_generation_(\d+)\(`)
	sglangMark = lazyregexp.New(`(?i)step\[\s*(TARGET_VERIFY|DRAFT_EXTEND|DRAFT|VERIFY|EXTEND|PREFILL|DECODE|MIXED)`)
	atomMark   = lazyregexp.New(`(?i)^(prefill|decode|mixed|draft|verify)\b`)
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

func byAnnotation(f *Features) (Result, bool) {
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
	for _, p := range []Phase{Prefill, Decode, Mixed, Draft, Verify, Training, Forward, Backward, Optimizer} {
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
	family := familiar()
	for _, n := range names {
		if row, ok := family(n); ok {
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

// byTraining names what has kernels of a backward pass or of an optimizer. Such a kernel names the part that it stands in: a step that has some is a
// training step, most of whose other kernels are of its forward pass.
func byTraining(f *Features) (Result, bool) {
	n, at := tally(f.Names)
	back := n[backward] + n[backwardAttention]
	row := at[backward]
	if n[backwardAttention] > 0 {
		row = at[backwardAttention]
	}
	switch {
	case n[optimize] > 0 && back > 0:
		return Result{Phase: Training, Score: trainingScore, Reason: because(n[optimize], "optimizer kernels", at[optimize]) + " beside " + because(back, "backward kernels", row)}, true
	case n[optimize]+back > 0 && f.Whole && n[decodeAttention] == 0:
		what := because(back, "backward kernels", row)
		if back == 0 {
			what = because(n[optimize], "optimizer kernels", at[optimize])
		}
		return Result{Phase: Training, Score: wholeScore, Reason: what + " in a step that holds most of the run, or that the profiler marks"}, true
	case n[optimize] > 0:
		return Result{Phase: Optimizer, Score: partScore, Reason: because(n[optimize], "optimizer kernels", at[optimize])}, true
	case back > 0 && n[decodeAttention] == 0:
		return Result{Phase: Backward, Score: partScore, Reason: because(back, "backward kernels", row)}, true
	case f.Training && n[forwardAttention]+n[eitherAttention] > 0 && n[decodeAttention]+n[prefillAttention]+n[pagedAttention]+n[splitAttention] == 0:
		h := forwardAttention
		if n[h] == 0 {
			h = eitherAttention
		}
		return Result{Phase: Forward, Score: forwardScore, Reason: because(n[h], "forward attention kernels in a trace that trains", at[h])}, true
	}
	return Result{}, false
}

// byAttention tells steps that verify drafts, and those that take prompts and single tokens together.
func byAttention(f *Features) (Result, bool) {
	n, at := tally(f.Names)
	pre, preRow := 0, 0
	for _, h := range promptHints {
		if pre += n[h]; n[h] > 0 {
			preRow = at[h]
		}
	}
	switch {
	case n[rejection] > 0:
		return Result{Phase: Verify, Score: verifyScore, Reason: because(n[rejection], "kernels that accept or reject drafted tokens", at[rejection])}, true
	case n[bothAttention] > 0:
		return Result{Phase: Mixed, Score: bothScore, Reason: because(n[bothAttention], "kernels that attend for prompts and single tokens at once", at[bothAttention])}, true
	case n[decodeAttention] > 0 && pre > 0 && attendsForBoth(f):
		return Result{Phase: Mixed, Score: besideScore, Reason: because(n[decodeAttention], "decode attention kernels", at[decodeAttention]) + " beside " + because(pre, "prefill attention kernels", preRow)}, true
	case attendsTwice(f.Names):
		return Result{Phase: Mixed, Score: twiceScore, Reason: because(n[splitAttention]+n[decodeAttention], "attention kernels", at[decodeAttention]) + ": split-KV, as prompts with a paged cache take, and paged attention for single tokens, as often as each other"}, true
	}
	return Result{}, false
}

// promptHints are attention that prompts may take, the most telling last.
var promptHints = []hint{attention, splitAttention, eitherAttention, forwardAttention, pagedAttention, prefillAttention}

// attendsForBoth reports whether every layer attends for prompts and for single tokens: a kernel of either kind stands in about every layer. Layers of
// two kinds, of which each has its own attention, are told by what stands in all of them: what turns positions or writes the cache.
func attendsForBoth(f *Features) bool {
	decode, prompt, layer := map[string]int{}, map[string]int{}, map[string]int{}
	neutral := false
	family, inLayers := familiar(), matcher(layerName)
	for _, name := range f.Names {
		if inLayers(name) {
			layer[name]++
		}
		row, ok := family(name)
		switch {
		case !ok:
		case families[row].hint == decodeAttention:
			decode[name]++
		case slices.Contains(promptHints, families[row].hint):
			prompt[name]++
			neutral = neutral || families[row].hint == attention || families[row].hint == splitAttention
		}
	}
	most := func(m map[string]int) int {
		n := 0
		for _, k := range m {
			n = max(n, k)
		}
		return n
	}
	layers := most(layer)
	if layers == 0 {
		if layers = max(most(decode), most(prompt)); neutral {
			return false // alternating layers look the same
		}
	}
	return 100*min(most(decode), most(prompt)) >= bothPercent*layers
}

// layerName tells kernels that stand once in every layer.
var layerName = lazyregexp.New(`(?i)rotary|rope|reshape_and_cache|store_kv|kv_buffer`)

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

// samplingName tells kernels that choose tokens.
var samplingName = lazyregexp.New(`(?i)argmax|multinomial|top_?[kp]_?sampl|sampling|top_?k_?top_?p`)

var (
	serverName = lazyregexp.New(`(?i)vllm|sglang|sgl_|flashinfer|tensorrt_llm|lmdeploy`)
	modelName  = lazyregexp.New(`(?i)rms_?norm|rotary|(silu|swiglu|act)_and_mul`)                                    // of language models
	imageName  = lazyregexp.New(`(?i)conv(olution|[^e1]|$)|im2col|winograd|implicit_?gemm|nchw|group_?norm|upsampl`) // of models that make no tokens
)

// Kinds says what a whole trace does, for Features.Training and Features.Serving. A trace serves when it has kernels of a server, or attention of any
// kind beside kernels that language models have or that choose tokens, and nothing that works on images.
func Kinds(names []string) (training, serving bool) {
	n, _ := tally(names)
	training = n[backward]+n[backwardAttention]+n[optimize] > 0
	server := n[decodeAttention] + n[prefillAttention] + n[pagedAttention] + n[splitAttention] + n[bothAttention] + n[rejection] + n[attention] + n[cache]
	any := func(of *lazyregexp.Regexp) bool { return slices.ContainsFunc(names, of.MatchString) }
	language := n[forwardAttention]+n[eitherAttention] > 0 && (any(samplingName) || any(modelName)) && !any(imageName)
	return training, !training && (server > 0 || any(serverName) || language)
}

// Mode is how uplifter picks one pattern of many.
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

// Pick chooses a pattern as uplifter does; -1 when there is none or the mode is not known. Of equals the first wins.
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
