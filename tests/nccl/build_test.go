// Package nccl_test plays NCCL to the recorder of runtime/nccl and compares what was recorded with what was played, event by event.
//
// The harness (replay/) opens a plug-in as NCCL's releases do and calls it from threads of its own; what it passed is a line of text for
// each call, which its own description of NCCL's interface makes. The same lines are made here of what core/nccl/segment reads.
package nccl_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const runtimeDir = "../../runtime/nccl"

// built is a pair of recorder and harness that were compiled with the same flags.
type built struct{ plugin, replay string }

var (
	builds    sync.Map // by flags: func() (built, error)
	buildRoot string
)

func TestMain(m *testing.M) {
	var err error
	if buildRoot, err = os.MkdirTemp("", "prlx-nccl-test"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(buildRoot)
	os.Exit(code)
}

// build compiles recorder and harness, once for each set of flags.
func build(t *testing.T, flags ...string) built {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler:", err)
	}
	once, _ := builds.LoadOrStore(strings.Join(flags, " "), sync.OnceValues(func() (built, error) { return compile(cc, flags) }))
	b, err := once.(func() (built, error))()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func compile(cc string, flags []string) (built, error) {
	dir, err := os.MkdirTemp(buildRoot, "build")
	if err != nil {
		return built{}, err
	}
	b := built{filepath.Join(dir, "libnccl-profiler-prlx.so"), filepath.Join(dir, "replay")}
	if err := compilePlugin(cc, b.plugin, flags...); err != nil {
		return b, err
	}
	harness, _ := filepath.Glob("replay/*.c")
	args := append([]string{"-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-rdynamic", "-o", b.replay}, flags...)
	return b, run(cc, append(append(args, harness...), "-lpthread", "-ldl")...)
}

// compilePlugin compiles the recorder as setup.py does, with every warning an error.
func compilePlugin(cc, out string, flags ...string) error {
	sources, _ := filepath.Glob(runtimeDir + "/*.c")
	args := append([]string{
		"-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-fvisibility=hidden", "-shared",
		"-Wl,-z,nodelete,-z,now", "-Wl,--version-script=" + runtimeDir + "/exports.map", "-o", out,
	}, flags...)
	return run(cc, append(append(args, sources...), "-lpthread", "-ldl")...)
}

// oldest is the newest symbol version of glibc that may be needed.
var oldest = [2]int{2, 28}

// newerSymbols are those that an old glibc does not have.
func newerSymbols(t *testing.T, path string) (newer []string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols() // the weak ones as well
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		var v [2]int
		if n, _ := fmt.Sscanf(s.Version, "GLIBC_%d.%d", &v[0], &v[1]); s.Section == elf.SHN_UNDEF && n == 2 && slices.Compare(v[:], oldest[:]) > 0 {
			newer = append(newer, s.Name+"@"+s.Version)
		}
	}
	return newer
}

func run(program string, args ...string) error {
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out)
	}
	return nil
}

// play runs the harness with a directory for recordings and returns what it printed. Recordings go to dir.
func (b built) play(t *testing.T, dir string, environment []string, args ...string) string {
	t.Helper()
	out, err := b.command(dir, environment, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("replay %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (b built) command(dir string, environment []string, args ...string) *exec.Cmd {
	cmd := exec.Command(b.replay, append([]string{b.plugin}, args...)...)
	cmd.Env = append(os.Environ(), "PRLX_NCCL_DIR="+dir, "PRLX_NCCL_LEVEL=3", "PRLX_NCCL_MAX_BYTES=4G", "PRLX_NCCL_DUTY=")
	cmd.Env = append(cmd.Env, environment...)
	return cmd
}

// recording is the one recording of a directory.
func recording(t *testing.T, dir string) string {
	t.Helper()
	all, _ := filepath.Glob(filepath.Join(dir, "*.prlx-nccl"))
	if len(all) != 1 {
		t.Fatalf("got %d recordings in %s, want 1: %v", len(all), dir, all)
	}
	return all[0]
}

// sanitized is a build under a sanitizer; the test is skipped where the compiler has none.
func sanitized(t *testing.T, name string) built {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler:", err)
	}
	probe := filepath.Join(t.TempDir(), "probe")
	cmd := exec.Command(cc, "-x", "c", "-fsanitize="+name, "-o", probe, "-")
	cmd.Stdin = strings.NewReader("int main(void) { return 0; }")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if cmd.Run() != nil || exec.Command(probe).Run() != nil {
		t.Skipf("the compiler has no -fsanitize=%s: %s", name, errs.String())
	}
	return build(t, "-fsanitize="+name, "-fno-omit-frame-pointer")
}
