package simt

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/job"
)

// mutate changes a few lines of a text: it drops, doubles, swaps and moves them, and puts words of one into another.
func mutate(g *rand.Rand, text string) string {
	lines := strings.Split(text, "\n")
	for range 1 + g.IntN(6) {
		i, j := g.IntN(len(lines)), g.IntN(len(lines))
		switch g.IntN(6) {
		case 0:
			lines[i] = ""
		case 1:
			lines[i] += "\n" + lines[i]
		case 2:
			lines[i], lines[j] = lines[j], lines[i]
		case 3:
			lines[i] = swapWord(g, lines[i], lines[j])
		case 4:
			lines[i] = swapWord(g, lines[i], strconv.Itoa([]int{0, -1, 1, 3, 4, 7, 16, 31, 32, 64, 1 << 20, 1 << 31, 1 << 40}[g.IntN(13)]))
		case 5:
			lines[i] = swapWord(g, lines[i], lines[i])
		}
	}
	return strings.Join(lines, "\n")
}

// swapWord replaces a word of a line by one of another.
func swapWord(g *rand.Rand, line, other string) string {
	mine, theirs := strings.FieldsFunc(line, apart), strings.FieldsFunc(other, apart)
	if len(mine) == 0 || len(theirs) == 0 {
		return line
	}
	return strings.Replace(line, mine[g.IntN(len(mine))], theirs[g.IntN(len(theirs))], 1)
}

func apart(r rune) bool { return strings.ContainsRune(" \t,;[]{}().", r) }

// TestMutatedKernelsDoNoHarm runs kernels of which a few lines were changed: they are refused, or run, or meet the limit.
// PRLX_MACHINE_MUTANTS sets how many, PRLX_MACHINE_PTX a pattern of more files to begin with.
func TestMutatedKernelsDoNoHarm(t *testing.T) {
	n := 1500
	if v, err := strconv.Atoi(os.Getenv("PRLX_MACHINE_MUTANTS")); err == nil {
		n = v
	}
	files, _ := filepath.Glob(filepath.Join("testdata", "*", "*.ptx"))
	if pattern := os.Getenv("PRLX_MACHINE_PTX"); pattern != "" {
		more, _ := filepath.Glob(pattern)
		files = more
	}
	if len(files) == 0 {
		t.Fatal("no kernels")
	}
	var texts []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	ran, refused := 0, 0
	for seed := range uint64(n) {
		g := rand.New(rand.NewPCG(seed, 7))
		text := mutate(g, texts[g.IntN(len(texts))])
		ok, err := runHostile(text, seed)
		if err != nil {
			mustBeTheUsers(t, err)
			refused++
		}
		if ok {
			ran++
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, text)
		}
	}
	t.Logf("%d of %d ran, %d were refused or ended early", ran, n, refused)
	if ran < n/10 {
		t.Errorf("only %d of %d ran: the mutations are too wild to test anything", ran, n)
	}
}

// runHostile loads and runs every kernel of a text.
func runHostile(text string, seed uint64) (ran bool, err error) {
	p, err := Load(context.Background(), "mutant.ptx", []byte(text))
	if err != nil {
		return false, err
	}
	for _, name := range p.Kernels() {
		params, err := p.Params(name)
		if err != nil {
			return ran, err
		}
		l := hostileLaunch(name, params, seed)
		for _, f := range p.module.Functions {
			if f.Name == name && f.ReqNTID[0] > 0 {
				l.Block = [3]uint32{f.ReqNTID[0], max(f.ReqNTID[1], 1), max(f.ReqNTID[2], 1)}
			}
		}
		if _, err := p.Run(job.New(context.Background(), job.Options{Workers: 1, MemoryLimit: 64 << 20}), l); err != nil {
			return ran, err
		}
		ran = true
	}
	return ran, nil
}
