package kernels

import (
	"bytes"
	"strings"

	"github.com/prlx-go/prlx/core/cycle/naming/phase"
	"github.com/prlx-go/prlx/core/lazyregexp"
	"github.com/prlx-go/prlx/core/trace/work"
)

var (
	stepText   = lazyregexp.New(`^ProfilerStep\s*#\s*(\d+)`)
	vllmText   = lazyregexp.New(`execute_(?:(\d+)_)?context_(\d+)\((.*?)\)_generation_(\d+)\((.*?)\)`)
	sglangText = lazyregexp.New(`(?i)\bstep\[\s*[A-Z_]+`)
	atomText   = lazyregexp.New(`(?i)^\s*(?:prefill|decode|mixed|draft|verify)\s*\[`)
	batchText  = lazyregexp.New(`(?i)\b(?:bs|batch|batch_size|num_seqs|reqs)\s*[=:]\s*(\d+)`)
	tokensText = lazyregexp.New(`(?i)\b(?:toks|tokens|num_tokens|tok)\s*[=:]\s*(\d+)`)
	countText  = lazyregexp.New(`^(?:sq)?(\d+)`)
)

// read says what an annotation means; every text is at least a range of the user.
func read(text string) work.Saying {
	s := work.Saying{Kind: NVTX, Step: -1}
	if p, ok := phase.Annotated(text); ok {
		s.Phase = string(p)
	}
	if m := stepText.FindStringSubmatch(text); m != nil {
		s.Kind, s.Step = ProfilerStep, int64(work.Number(m[1]))
		return s
	}
	if m := vllmText.FindStringSubmatch(text); m != nil {
		s.Kind = VLLM
		s.Batch = work.Number(m[2]) + work.Number(m[4])
		if s.Tokens = work.Number(m[1]); s.Tokens == 0 { // newer spellings give tokens and keys of each part
			for _, part := range []string{m[3], m[5]} {
				if c := countText.FindStringSubmatch(part); c != nil {
					s.Tokens += work.Number(c[1])
				}
			}
		}
		return s
	}
	switch {
	case sglangText.MatchString(text) && s.Phase != "":
		s.Kind = SGLang
	case atomText.MatchString(text):
		s.Kind = ATOM
	default:
		return s
	}
	if m := batchText.FindStringSubmatch(text); m != nil {
		s.Batch = work.Number(m[1])
	}
	if m := tokensText.FindStringSubmatch(text); m != nil {
		s.Tokens = work.Number(m[1])
	}
	return s
}

// collectives are what the names of kernels that wait for other ranks contain, in small letters and without - and _.
var collectives = []string{"nccl", "rccl", "allreduce", "allgather", "reducescatter", "alltoall", "collectivepermute", "crossdevicereduce"}

// collective reports whether a kernel waits for other ranks.
func collective(name string) bool {
	plain := make([]byte, 0, 256)
	for _, c := range []byte(name) {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != '-' && c != '_' {
			plain = append(plain, c)
		}
	}
	for _, part := range collectives {
		if bytes.Contains(plain, []byte(part)) {
			return true
		}
	}
	return false
}

// lessNatural orders names so that "GPU 2" comes before "GPU 10".
func lessNatural(a, b string) int {
	for a != "" && b != "" {
		na, nb := work.LeadingDigits(a), work.LeadingDigits(b)
		if na > 0 && nb > 0 {
			da, db := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if len(da) != len(db) {
				return len(da) - len(db)
			}
			if c := strings.Compare(da, db); c != 0 {
				return c
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}
