package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A bench is where mutants are built and tried: nothing is written outside of dir.
type bench struct {
	root    string // of the module
	dir     string // build/mutants, which is kept
	scratch string // a folder in it for this run alone
}

// limits end a run that a mutant keeps from ending: seconds of CPU time and, for one that waits, seconds.
type limits struct{ cpu, wall float64 }

// memory is what a test may take, in KiB of address space: a mutant that never stops allocating fails and nothing else does.
const memory = 12 << 20

type outcome struct {
	failed, limited bool
	cpu, wall       float64
	output          string
}

// execute runs a test binary in the folder of its package.
func (b *bench) execute(room string, words []string, l limits) outcome {
	temp := filepath.Join(b.scratch, "tmp")
	defer os.RemoveAll(temp)
	if err := os.MkdirAll(temp, 0o755); err != nil {
		return outcome{failed: true, output: err.Error()}
	}
	wait := time.Duration(l.wall * float64(time.Second))
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	script := fmt.Sprintf(`ulimit -t %d; ulimit -v %d 2>/dev/null || true; exec "$@"`, int(l.cpu+1), memory)
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, "sh"}, words...)...)
	cmd.Dir = filepath.Join(b.root, room)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	start := time.Now()
	out, err := cmd.CombinedOutput()
	o := outcome{failed: err != nil, wall: time.Since(start).Seconds(), output: string(out)}
	if p := cmd.ProcessState; p != nil {
		o.cpu = (p.UserTime() + p.SystemTime()).Seconds()
		status, ok := p.Sys().(syscall.WaitStatus)
		o.limited = errors.Is(ctx.Err(), context.DeadlineExceeded) || ok && status.Signaled() && status.Signal() == syscall.SIGKILL && o.cpu > l.cpu/2
	}
	return o
}

// A verdict says what became of a mutant.
type verdict struct {
	Verdict string   `json:"verdict"`
	By      []string `json:"by,omitempty"`    // the tests that failed, or that were running when a limit was reached
	Reached int      `json:"reached"`         // tests that run the mutated place
	Seconds float64  `json:"seconds"`         // of CPU time, without building
	Said    string   `json:"said,omitempty"`  // the first lines of the failure
	State   string   `json:"state,omitempty"` // what the verdict depends on
}

const (
	killed    = "killed"
	limited   = "killed by a limit"
	survived  = "survived"
	unreached = "not reached"
	broken    = "does not build"
)

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// try builds the mutant into each suite that reaches it and runs the tests that do, cheap ones first, until one fails.
func (b *bench) try(s *source, m *mutant, suites []*suite) (verdict, error) {
	v := verdict{Verdict: unreached}
	for _, t := range suites {
		tests := t.reaching(s.path, m)
		if len(tests) == 0 {
			continue
		}
		v.Verdict, v.Reached = survived, v.Reached+len(tests)
		binary, err := b.build(s, m, t.room)
		if err != nil {
			v.Verdict, v.Said = broken, err.Error()
			return v, nil
		}
		for _, batch := range batches(tests) {
			names, l := make([]string, len(batch)), limits{cpu: 5, wall: 60}
			for i, t := range batch {
				names[i] = t.Name
				l.cpu, l.wall = l.cpu+10*t.CPU, l.wall+30*t.Wall
			}
			run := []string{binary, "-test.failfast", "-test.run", "^(" + strings.Join(names, "|") + ")$"}
			o := b.execute(t.room, run, l)
			v.Seconds += o.cpu
			if !o.failed {
				continue
			}
			v.Verdict, v.Said = killed, first(o.output, 12)
			if o.limited {
				v.Verdict = limited
			}
			if f := failedTest.FindStringSubmatch(o.output); f != nil {
				names = f[1:]
			}
			for _, n := range names {
				v.By = append(v.By, t.room+"."+n)
			}
			return v, os.Remove(binary)
		}
		if err := os.Remove(binary); err != nil {
			return v, err
		}
	}
	return v, nil
}

// build makes the test binary of a room with the mutant in it. The tree stays as it is.
func (b *bench) build(s *source, m *mutant, room string) (string, error) {
	mutated, overlay, binary := filepath.Join(b.scratch, "mutated.go"), filepath.Join(b.scratch, "overlay.json"), filepath.Join(b.scratch, "mutant.test")
	if err := os.WriteFile(mutated, m.apply(s.texts[m.File]), 0o644); err != nil {
		return "", err
	}
	if err := write(overlay, map[string]any{"Replace": map[string]string{filepath.Join(s.dir, m.File): mutated}}); err != nil {
		return "", err
	}
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, "./"+room)
	build.Dir = b.root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, first(string(out), 5))
	}
	return binary, nil
}

// batches are the tests that cost little, together, and then each of the others.
func batches(tests []test) [][]test {
	const cheap = 1.5 // seconds
	total, n := 0.0, 0
	for n < len(tests) && (n == 0 || total+tests[n].CPU <= cheap) {
		total += tests[n].CPU
		n++
	}
	var all [][]test
	if n > 0 {
		all = append(all, tests[:n])
	}
	for rest := range slices.Chunk(tests[n:], 1) {
		all = append(all, rest)
	}
	return all
}

// first is the first n lines of a text.
func first(s string, n int) string {
	lines := strings.SplitN(s, "\n", n+1)
	return strings.TrimSpace(strings.Join(lines[:min(n, len(lines))], "\n"))
}

// write makes a file of JSON, and its folder.
func write(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}
