package api

import (
	"encoding/json"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
)

// The shares of memory: the default memory limit is half of what the machine or the control group grants (the other half
// belongs to the program around prlx), and three quarters of a memory limit may be buffers (the rest is for the Go heap
// around them).
const (
	defaultShare = 2
	bufferNumer  = 3
	bufferDenom  = 4
	smallestSize = 16 << 20 // bytes; below this no reader could work
	maxWorkers   = 1024     // each holds buffers; more than any machine has cores to give
)

// size is a number of bytes: a JSON number, or a string such as "512MB", "1.5GiB" or "2g".
type size int64

// units are the suffixes of sizes; a bare K, M, G or T is binary, as users of memory limits expect.
var units = []struct {
	suffix string
	factor float64
}{
	{"kib", 1 << 10},
	{"mib", 1 << 20},
	{"gib", 1 << 30},
	{"tib", 1 << 40},
	{"kb", 1e3},
	{"mb", 1e6},
	{"gb", 1e9},
	{"tb", 1e12},
	{"k", 1 << 10},
	{"m", 1 << 20},
	{"g", 1 << 30},
	{"t", 1 << 40},
	{"b", 1},
}

// parseSize reads a size in text.
func parseSize(text string) (size, error) {
	number, factor := strings.ToLower(strings.TrimSpace(text)), 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, factor = strings.TrimSpace(rest), u.factor
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n*factor >= 1<<62 {
		return 0, fault.Usagef("%q is not a size in bytes", text).WithHint("write it like 512MB, 1.5GiB or 1073741824")
	}
	return size(n * factor), nil
}

// UnmarshalJSON reads a number of bytes or a text.
func (s *size) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) != nil {
		text = string(b)
	}
	n, err := parseSize(text)
	if err == nil {
		*s = n
	}
	return err
}

// requestLimits are the fields that every request may carry: they limit its own job.
type requestLimits struct {
	// Parallel workers; the output is the same for any number.
	Workers *int `json:"workers" takes:"whole" unset:"all CPUs" setting:"shared" diff.rare:"yes" assert.rare:"yes" combine.rare:"yes"`
	// Memory that the job may take, such as 512MiB. The output is the same for any.
	MemoryLimit *size `json:"memory_limit" takes:"size" unset:"half of the cgroup's limit, or of the machine" setting:"shared" rare:"yes"`
}

// check refuses limits under which nothing could run.
func (l requestLimits) check() error {
	if l.Workers != nil && (*l.Workers < 1 || *l.Workers > maxWorkers) {
		return fault.Usagef("%d workers are asked for, expected 1 to %d", *l.Workers, maxWorkers).WithHint("without --workers every CPU is used")
	}
	if l.MemoryLimit != nil && *l.MemoryLimit < smallestSize {
		return fault.Usagef("the memory limit is %d bytes, expected at least 16MiB (%d)", *l.MemoryLimit, smallestSize).WithHint("write it like 512MiB, or leave it out")
	}
	return nil
}

// options turns limits into those of a job; what is absent is 0: inherited.
func (l requestLimits) options() job.Options {
	var opt job.Options
	if l.Workers != nil {
		opt.Workers = *l.Workers
	}
	if l.MemoryLimit != nil {
		opt.MemoryLimit = bufferBytes(int64(*l.MemoryLimit))
	}
	return opt
}

func bufferBytes(memoryLimit int64) int64 { return memoryLimit / bufferDenom * bufferNumer }

// collector keeps the Go collector's soft limit at the tightest memory limit of the jobs that run.
type collector struct {
	mu      sync.Mutex
	standby int64   // bytes, between jobs that set their own
	running []int64 // bytes
}

func (c *collector) setStandby(limit int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.standby = limit
	c.apply()
}

// hold applies limit until the returned function is called.
func (c *collector) hold(limit int64) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = append(c.running, limit)
	c.apply()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.Index(c.running, limit)
		c.running = slices.Delete(c.running, i, i+1)
		c.apply()
	}
}

func (c *collector) apply() {
	debug.SetMemoryLimit(slices.Min(append(c.running[:len(c.running):len(c.running)], c.standby)))
}

// configuration is the request of the operation configure: what Python says once, when it loads the core.
type configuration struct {
	requestLimits
	Debug bool `json:"debug_ops"` // opens the operations named debug.*
}

// ConfigureDocument says which limits hold from now on.
type ConfigureDocument struct {
	Schema       string `json:"schema"`
	Workers      int    `json:"workers"`
	MemoryLimit  int64  `json:"memory_limit"`  // bytes
	MemorySource string `json:"memory_source"` // "given", or where the machine's size was read: "cgroup v2", "cgroup v1", "machine"
}

// configure sets the limits of all jobs to come.
func (c *Core) configure(request []byte) ([]byte, error) {
	var want configuration
	if err := decode(request, &want); err != nil {
		return nil, err
	}
	if err := want.check(); err != nil {
		return nil, err
	}
	machine := job.ReadMachine(os.DirFS("/"))
	doc := ConfigureDocument{
		Schema:       "prlx.configure/1",
		Workers:      runtime.GOMAXPROCS(0),
		MemoryLimit:  machine.Memory / defaultShare,
		MemorySource: machine.MemorySource,
	}
	if quota := int(math.Ceil(machine.CPUs)); quota > 0 {
		doc.Workers = min(doc.Workers, quota)
	}
	if want.Workers != nil {
		doc.Workers = min(*want.Workers, runtime.NumCPU())
	}
	if want.MemoryLimit != nil {
		doc.MemoryLimit, doc.MemorySource = int64(*want.MemoryLimit), "given"
	}
	if doc.Workers != runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(doc.Workers)
	}
	standby := int64(math.MaxInt64)
	if doc.MemoryLimit > 0 {
		standby = doc.MemoryLimit
	}
	c.collector.setStandby(standby)
	c.jobs.SetLimits(job.Options{Workers: doc.Workers, MemoryLimit: bufferBytes(doc.MemoryLimit)})
	c.debug.Store(want.Debug)
	return encode(doc)
}
