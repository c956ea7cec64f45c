package phase

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/lazyregexp"
)

// evidence is one piece, with its weight.
type evidence struct {
	odds  float64
	text  string
	order bool // of the order of classes, nothing else
}

// weigh adds up what tells prefill from decode.
func weigh(all []known, i int) Result {
	f := &all[i]
	if len(f.Names) < leastPass && !attends(f) {
		return Result{Phase: Unknown, Reason: "nothing attends in it, and it is too short for a pass of a model"}
	}
	var list []evidence
	add := func(odds float64, order bool, format string, args ...any) {
		if odds != 0 {
			list = append(list, evidence{odds, fmt.Sprintf(format, args...), order})
		}
	}
	others := beside(all, i)
	work, time := 1.0, 1.0 // by how much others differ, the greatest
	for _, k := range others {
		w, t := workBeside(f, &all[k]), timeBeside(f, &all[k])
		work, time = max(work, w, 1/w), max(time, t, 1/t)
	}
	differ := contrast{some: time >= someTime, clearly: work >= workRatio || time >= timeRatio, much: work >= muchWork && time >= timeRatio || time >= muchTime}
	attentionOdds(all, i, others, differ, add)
	graphOdds(all, i, others, add)
	rowOdds(f, add)
	workOdds(all, i, others, add)
	orderOdds(all, i, others, add)
	if f.Tokens > 0 && f.Tokens <= oneToken {
		add(alike, false, "one token per step and request")
	} else if f.Tokens >= manyTokens {
		add(manyRows, false, "%.0f tokens per step and request", f.Tokens)
	}
	return conclude(list, mixture(all, i, others))
}

// contrast is how much a class differs in work from the others of its level.
type contrast struct{ some, clearly, much bool }

// attends reports whether a class has attention of any kind.
func attends(f *known) bool {
	n := f.count
	return n[bothAttention]+n[decodeAttention]+n[combineAttention] > 0 || slices.ContainsFunc(promptHints, func(h hint) bool { return n[h] > 0 })
}

// known is what is known of a class, worked out once.
type known struct {
	*Features
	count, sample   map[hint]int
	set             map[string]bool
	blocks          map[string]float64 // mean, by name
	rows, sequences float64
	inGraph         float64 // share of the kernels
	captured        bool    // its attention is in graphs too
}

func know(f *Features) known {
	k := known{Features: f, set: nameSet(f), blocks: map[string]float64{}, rows: rows(f), sequences: sequences(f)}
	k.count, k.sample = tally(f.Names)
	k.inGraph, k.captured = inGraph(f)
	n := map[string]float64{}
	for i, b := range f.Blocks {
		if b > 0 {
			k.blocks[f.Names[i]] += b
			n[f.Names[i]]++
		}
	}
	for name := range k.blocks {
		k.blocks[name] /= n[name]
	}
	return k
}

// conclude makes a result of the evidence.
func conclude(list []evidence, share float64) Result {
	sum, other := 0.0, 0
	for _, e := range list {
		sum += e.odds
		if !e.order {
			other++
		}
	}
	slices.SortStableFunc(list, func(a, b evidence) int { return cmp.Compare(math.Abs(b.odds), math.Abs(a.odds)) })
	var texts []string
	for _, e := range list[:min(len(list), maxReasons)] {
		sign := "(points to prefill)"
		if e.odds < 0 {
			sign = "(points to decode)"
		}
		if (e.odds > 0) == (sum > 0) {
			sign = ""
		}
		texts = append(texts, strings.TrimSpace(e.text+" "+sign))
	}
	reason := strings.Join(texts, "; ")
	if len(list) == 0 {
		reason = "no kernel that only one phase has, no other class to compare with, no rows, no graphs"
	}
	r := Result{Reason: reason, Position: len(list) > 0 && other == 0}
	if r.Position {
		r.Reason = "by position alone: no kernel or annotation tells; " + reason
	}
	prefill := calibrated(sum)
	r.Readings = []Reading{{Prefill, prefill}, {Decode, 1 - prefill}}
	if share > 0 && sum > 0 { // tokens of others may be in it
		r.Readings = []Reading{{Prefill, prefill * (1 - share)}, {Mixed, prefill * share}, {Decode, 1 - prefill}}
		if share >= leastReading {
			r.Reason += "; one attention kernel for all requests, so that single tokens may be among the rows"
		}
	}
	slices.SortStableFunc(r.Readings, func(a, b Reading) int {
		if x, y := a.Phase == Decode, b.Phase == Decode; x != y && sum > 0 { // prompts first, whether or not tokens are among them
			if y {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Score, a.Score)
	})
	r.Phase, r.Score = r.Readings[0].Phase, r.Readings[0].Score
	r.Readings = slices.DeleteFunc(r.Readings, func(x Reading) bool { return x.Score < leastReading })
	if math.Abs(sum) < closeOdds {
		r.Phase, r.Score, r.Position = Unknown, 0, false
	}
	return r
}

// mixture is how likely a step of prompts has single tokens of other requests among them: where its attention serves all, servers put both into one
// step when they can.
func mixture(all []known, i int, others []int) float64 {
	f := &all[i]
	n := f.count
	if n[prefillAttention] > 0 && n[pagedAttention]+n[splitAttention]+n[attention] > 0 {
		return mixedCached
	}
	if n[prefillAttention]+n[decodeAttention] > 0 {
		return 0
	}
	apart, same := false, false // single tokens have attention of their own; of the same kind
	for _, k := range others {
		m := all[k].count
		apart = apart || m[decodeAttention] > 0
		same = same || m[forwardAttention] > 0 && n[forwardAttention] > 0 || m[eitherAttention] > 0 && n[eitherAttention] > 0
	}
	r, s := f.rows, f.sequences
	for _, k := range others {
		if theirs := all[k].sequences; s > 0 && theirs > 0 && !apart && (r == 0 || r >= mixedMore*all[k].rows) {
			switch {
			case s > theirs, s == theirs && theirs >= mixedLeast:
				return mixedCounted
			case mixedFewer*s <= theirs:
				return mixedFew
			}
		}
	}
	switch {
	case apart && n[attention]+n[splitAttention] == 0:
		return 0
	case n[forwardAttention]+n[eitherAttention] > 0 && !same:
		return mixedForward
	case f.After:
		return mixedAfter
	}
	return mixedFirst
}

// beside are the classes of the level that are the same model in other steps: with kernels in common and as many layers.
func beside(all []known, i int) []int {
	var out []int
	mine := all[i].set
	for k := range all {
		if k == i || all[k].Level != all[i].Level || len(all[k].Names) == 0 {
			continue
		}
		common, theirs := 0, all[k].set
		for n := range theirs {
			if mine[n] {
				common++
			}
		}
		if a, b := all[i].Layers, all[k].Layers; a > 0 && b > 0 && partRatio*min(a, b) < max(a, b) {
			continue // a part of a pass, or several
		}
		if 2*common >= int(sameNames*float64(len(mine)+len(theirs))) {
			out = append(out, k)
		}
	}
	return out
}

var tileNumbers = lazyregexp.New(`[0-9]+`)

// nameSet are the names of the kernels without numbers: tiles change from phase to phase.
func nameSet(f *Features) map[string]bool {
	out, seen := map[string]bool{}, map[string]bool{}
	for _, n := range f.Names {
		if !seen[n] {
			seen[n] = true
			out[tileNumbers.ReplaceAllString(n, "")] = true
		}
	}
	return out
}

// attentionOdds is what the families of the kernels say. Where a class differs clearly in work from others that have the same kernels, these say
// little about it.
func attentionOdds(all []known, i int, others []int, differ contrast, add func(float64, bool, string, ...any)) {
	n, at := all[i].count, all[i].sample
	common := func(h hint) bool {
		return slices.ContainsFunc(others, func(k int) bool {
			m := all[k].count
			return m[h] > 0
		})
	}
	for _, x := range []struct {
		hint hint
		odds float64
		what string
	}{
		{decodeAttention, -telling, "decode attention kernels"},
		{prefillAttention, telling, "prefill attention kernels"},
		{forwardAttention, leaning, "forward attention kernels"},
		{pagedAttention, leaning, "attention kernels of prompts"},
		{eitherAttention, hardly, "attention kernels"},
		{splitAttention, splitting, "attention kernels over pieces of a cache"},
		{combineAttention, combining, "kernels that combine pieces of attention"},
		{vector, single, "products of a matrix and a vector"},
	} {
		if n[x.hint] == 0 || x.hint == forwardAttention && n[decodeAttention]+n[splitAttention]+n[combineAttention] > 0 {
			continue
		}
		if (x.hint == eitherAttention || x.hint == vector) && 100*n[x.hint] < layerPercent*all[i].Layers { // at the end of a step: tokens are chosen by a softmax too
			continue
		}
		odds, text := x.odds, because(n[x.hint], x.what, at[x.hint])
		switch tells := math.Abs(x.odds) == telling; {
		case !differ.some || tells && !differ.much || !common(x.hint):
		case tells, !differ.clearly:
			odds *= sharedBoth
			text += ", which another class has too"
		default:
			odds *= shared
			text += ", which another class has too"
		}
		add(odds, false, "%s", text)
	}
	if n[decodeAttention]+n[combineAttention] == 0 && n[forwardAttention]+n[pagedAttention]+n[eitherAttention] > 0 && slices.ContainsFunc(others, func(k int) bool {
		m := all[k].count
		return m[decodeAttention] > 0
	}) {
		add(unlike, false, "another class has decode attention kernels")
	}
	if t := all[i].TileRows; t > 0 && t <= smallTile {
		add(smallTiles, false, "matrix products in tiles of %d rows", t)
	} else if t >= greatTile {
		add(-smallTiles, false, "matrix products in tiles of %d rows", t)
	}
}

// inGraph says how much of a repetition a graph launches, and whether its attention is in it.
func inGraph(f *Features) (share float64, attends bool) {
	in, attention, captured := 0, 0, 0
	family := familiar()
	for i, name := range f.Names {
		if i >= len(f.Graph) {
			break
		}
		if f.Graph[i] {
			in++
		}
		if row, ok := family(name); ok && families[row].hint != backward && families[row].hint != optimize && families[row].hint != cache && families[row].hint != vector {
			if attention++; f.Graph[i] {
				captured++
			}
		}
	}
	return float64(in) / float64(max(1, len(f.Names))), attention == 0 || 100*captured > capturedPercent*attention
}

func graphOdds(all []known, i int, others []int, add func(float64, bool, string, ...any)) {
	share, attends := all[i].inGraph, all[i].captured
	mine := share > graphShare && attends
	contrast := slices.ContainsFunc(others, func(k int) bool {
		s, a := all[k].inGraph, all[k].captured
		return (s > graphShare && a) != mine
	})
	switch {
	case mine && contrast:
		add(captured+alone, false, "%.0f %% of the kernels are launched by a graph, those of other classes are not", 100*share)
	case mine:
		add(captured, false, "%.0f %% of the kernels are launched by a graph, as servers do for decode", 100*share)
	case contrast:
		add(-alone, false, "launched without a graph where other classes have one")
	}
}

var (
	rowName   = lazyregexp.New(`(?i)rms_?norm|layer_?norm|rotary|rope|reshape_and_cache|store_kv|kv_buffer|act_and_mul|silu_and_mul|gelu_and_mul`)
	tokenName = lazyregexp.New(`(?i)argmax|sampl|softmax|gather|index_?select|logits`)
)

// RowWise reports whether a kernel has a thread block for every row, or for a few.
func RowWise(name string) bool { return rowName.MatchString(name) }

// rows are those that a step works on, by the thread blocks of kernels that have one per row: the number that most of them have. 0 unknown.
func rows(f *Features) float64 {
	count := map[float64]int{}
	best := 0.0
	fits := matcher(rowName)
	for i, b := range f.Blocks {
		if b > 0 && fits(f.Names[i]) {
			count[b]++
		}
	}
	for b, n := range count {
		if n > count[best] || n == count[best] && (best == 0 || b < best) {
			best = b
		}
	}
	return best
}

// sequences are those that a step chooses tokens for, by kernels that stand in it a few times; 0 unknown.
func sequences(f *Features) float64 {
	times := map[string]int{}
	for _, n := range f.Names {
		times[n]++
	}
	least := 0.0
	fits := matcher(tokenName)
	for i, b := range f.Blocks {
		if b > 0 && times[f.Names[i]] <= tokenTimes && fits(f.Names[i]) && (least == 0 || b < least) {
			least = b
		}
	}
	return least
}

func rowOdds(f *known, add func(float64, bool, string, ...any)) {
	r, s := f.rows, f.sequences
	if r > 0 {
		add(max(-mostRows, min(mostRows, rowWeight*math.Log(r/evenRows))), false, "%.0f rows", r)
	}
	switch {
	case r == 0 || s == 0:
	case r <= alikeRatio*s:
		add(alike, false, "about as many rows as sequences, %.0f and %.0f", r, s)
	case r >= manyRatio*s:
		add(manyRows, false, "%.0f rows of %.0f sequences", r, s)
	}
}

// workBeside is how many times as many thread blocks a class has as another, over the kernels that both have; 1 where nothing is known.
func workBeside(f, o *known) float64 {
	if r, s := f.rows, o.rows; r > 0 && s > 0 {
		return r / s
	}
	var ratios []float64
	for name, b := range f.blocks {
		if t := o.blocks[name]; t > 0 {
			ratios = append(ratios, b/t)
		}
	}
	if len(ratios) < leastRatios {
		return 1
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// timeBeside is how many times as long a class takes as another, a layer; 1 where that is not known.
func timeBeside(f, o *known) float64 {
	a, b := f.BusyNS, o.BusyNS
	if f.Layers > 0 && o.Layers > 0 {
		a, b = a/float64(f.Layers), b/float64(o.Layers)
	}
	if a <= 0 || b <= 0 {
		return 1
	}
	return a / b
}

// workOdds sets the work and the time of a class beside those of the others: the greatest ratio either way counts.
func workOdds(all []known, i int, others []int, add func(float64, bool, string, ...any)) {
	for _, x := range []struct {
		of     func(f, o *known) float64
		clear  float64
		what   string
		graded bool // less than clear counts for less
	}{{workBeside, workRatio, "the work", false}, {timeBeside, timeRatio, "the time a layer", true}} {
		most, least := 1.0, 1.0
		for _, k := range others {
			r := x.of(&all[i], &all[k])
			most, least = max(most, r), min(least, r)
		}
		switch {
		case most >= x.clear && most*least >= 1:
			add(greater, false, "%.1f times %s of another class", most, x.what)
		case least <= 1/x.clear:
			add(-greater, false, "another class has %.1f times %s", 1/least, x.what)
		case !x.graded:
		case most >= someTime && most*least >= 1:
			add(greater*math.Log(most)/math.Log(x.clear), false, "%.1f times %s of another class", most, x.what)
		case least <= 1/someTime:
			add(greater*math.Log(least)/math.Log(x.clear), false, "another class has %.1f times %s", 1/least, x.what)
		}
	}
}

// orderOdds is what the order of classes says: a request begins with its prompt and goes on token by token.
func orderOdds(all []known, i int, others []int, add func(float64, bool, string, ...any)) {
	f := &all[i]
	if len(others) == 0 || f.Runs == 0 {
		return
	}
	run := func(f *known) float64 { return float64(f.Repetitions) / float64(max(1, f.Runs)) }
	first, later, longest := true, false, 0.0
	for _, k := range others {
		first, later = first && f.Start < all[k].Start, later || f.Start > all[k].Start
		longest = max(longest, run(&all[k]))
	}
	if first {
		add(earliest, true, "the earliest of %d classes", len(others)+1)
	} else if later {
		add(-earliest, true, "not the earliest of %d classes", len(others)+1)
	}
	switch mine := run(f); {
	case mine >= runRatio*longest && mine >= leastRun:
		add(lasting, true, "%.1f in a row, others at most %.1f", mine, longest)
	case longest >= runRatio*mine && longest >= leastRun:
		add(-lasting, true, "%.1f in a row, others up to %.1f", mine, longest)
	}
}
