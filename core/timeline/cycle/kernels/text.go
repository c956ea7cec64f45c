package kernels

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/timeline/cycle/naming/phase"
)

// saying is what the text of an annotation says.
type saying struct {
	kind   MarkKind
	phase  string
	step   int64
	tokens int
	batch  int
}

var (
	stepText   = regexp.MustCompile(`^ProfilerStep\s*#\s*(\d+)`)
	vllmText   = regexp.MustCompile(`execute_(?:(\d+)_)?context_(\d+)\((.*?)\)_generation_(\d+)\((.*?)\)`)
	sglangText = regexp.MustCompile(`(?i)\bstep\[\s*[A-Z_]+`)
	atomText   = regexp.MustCompile(`(?i)^\s*(?:prefill|decode|mixed|draft|verify)\s*\[`)
	batchText  = regexp.MustCompile(`(?i)\b(?:bs|batch|batch_size|num_seqs|reqs)\s*[=:]\s*(\d+)`)
	tokensText = regexp.MustCompile(`(?i)\b(?:toks|tokens|num_tokens|tok)\s*[=:]\s*(\d+)`)
	countText  = regexp.MustCompile(`^(?:sq)?(\d+)`)
)

// read says what an annotation means; every text is at least a range of the user.
func read(text string) saying {
	s := saying{kind: NVTX, step: -1}
	if p, ok := phase.Annotated(text); ok {
		s.phase = string(p)
	}
	if m := stepText.FindStringSubmatch(text); m != nil {
		s.kind, s.step = ProfilerStep, int64(number(m[1]))
		return s
	}
	if m := vllmText.FindStringSubmatch(text); m != nil {
		s.kind = VLLM
		s.batch = number(m[2]) + number(m[4])
		if s.tokens = number(m[1]); s.tokens == 0 { // newer spellings give tokens and keys of each part
			for _, part := range []string{m[3], m[5]} {
				if c := countText.FindStringSubmatch(part); c != nil {
					s.tokens += number(c[1])
				}
			}
		}
		return s
	}
	switch {
	case sglangText.MatchString(text) && s.phase != "":
		s.kind = SGLang
	case atomText.MatchString(text):
		s.kind = ATOM
	default:
		return s
	}
	if m := batchText.FindStringSubmatch(text); m != nil {
		s.batch = number(m[1])
	}
	if m := tokensText.FindStringSubmatch(text); m != nil {
		s.tokens = number(m[1])
	}
	return s
}

// number reads digits; what is no sensible count is 0.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil || n > 1<<40 {
		return 0
	}
	return n
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
		na, nb := leadingDigits(a), leadingDigits(b)
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

func leadingDigits(s string) int {
	i := 0
	for i < len(s) && s[i]-'0' <= 9 {
		i++
	}
	return i
}
