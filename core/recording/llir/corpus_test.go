package llir

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// generated are the modules that tests/llir/compile.py made, under build/llir or PRLX_LLIR_CORPUS.
func generated(t testing.TB) []string {
	t.Helper()
	dir := os.Getenv("PRLX_LLIR_CORPUS")
	if dir == "" {
		dir = "../../../build/llir"
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*.ll"))
	if len(files) == 0 {
		t.Skip("no generated corpus: make corpus")
	}
	return files
}

func TestGeneratedCorpusIsRewritten(t *testing.T) {
	made := 0
	for _, file := range generated(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := Instrument(string(text), Options{})
		if strings.Contains(r.Warning, "line ") || r.Functions == 0 && strings.Contains(string(text), "br i1 %") && !strings.Contains(r.Warning, "registers left") {
			t.Errorf("%s: %d sites; %s", file, len(r.Sites), r.Warning)
		}
		if len(r.Sites) > 0 {
			made++
		}
	}
	if made < 80 {
		t.Errorf("only %d modules were rewritten", made)
	}
}

// spent is the processor time of this process, collector and all: other programs have the processor, too.
func spent(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCorpus says how long one module takes: half of them less than p50-ms. Beside it stands what finding the lines alone takes.
func BenchmarkCorpus(b *testing.B) {
	var texts []string
	n := 0
	for _, file := range generated(b) {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		texts = append(texts, string(text))
		n += len(text)
	}
	b.SetBytes(int64(n))
	var took []float64
	all, lines := 0.0, 0.0
	for b.Loop() {
		took, all, lines = took[:0], 0, 0
		for _, text := range texts {
			best := time.Duration(1 << 62)
			for range 3 {
				start := spent(b)
				Instrument(text, Options{})
				best = min(best, spent(b)-start)
			}
			start := spent(b)
			if len(strings.Split(text, "\n")) == 0 {
				b.Fatal("no lines")
			}
			lines += (spent(b) - start).Seconds()
			took = append(took, best.Seconds()*1e3)
			all += best.Seconds()
		}
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "p50-ms")
	b.ReportMetric(took[len(took)*99/100], "p99-ms")
	b.ReportMetric(took[len(took)-1], "max-ms")
	b.ReportMetric(float64(n)/1e6/all, "text-MB/s")
	b.ReportMetric(all/lines, "x-splitting")
	b.ReportMetric(float64(len(texts)), "modules")
}
