package job_test

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/prlx-go/prlx/core/job"
)

func TestMachineLimits(t *testing.T) {
	const meminfo = "MemTotal:       16777216 kB\nMemFree: 1 kB\n"
	const total = 16 << 30
	tests := []struct {
		name  string
		files map[string]string
		want  job.Machine
	}{
		{"nothing to read", nil, job.Machine{MemorySource: "unknown"}},
		{"no groups", map[string]string{"proc/meminfo": meminfo}, job.Machine{Memory: total, MemorySource: "machine"}},
		{"v2 without limits", map[string]string{
			"proc/meminfo":             meminfo,
			"proc/self/cgroup":         "0::/\n",
			"sys/fs/cgroup/memory.max": "max\n",
			"sys/fs/cgroup/cpu.max":    "max 100000\n",
		}, job.Machine{Memory: total, MemorySource: "machine"}},
		{"v2, the tightest group wins", map[string]string{
			"proc/meminfo":                     meminfo,
			"proc/self/cgroup":                 "0::/jobs/a/leaf\n",
			"sys/fs/cgroup/jobs/memory.max":    "2147483648\n",
			"sys/fs/cgroup/jobs/a/memory.max":  "1073741824\n",
			"sys/fs/cgroup/jobs/a/cpu.max":     "250000 100000\n",
			"sys/fs/cgroup/jobs/a/leaf/memory": "unrelated",
		}, job.Machine{CPUs: 2.5, Memory: 1 << 30, MemorySource: "cgroup v2"}},
		{"v1 in a container: the path is the host's", map[string]string{
			"proc/meminfo":     meminfo,
			"proc/self/cgroup": "5:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":         "50000\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us":        "100000\n",
		}, job.Machine{CPUs: 0.5, Memory: 512 << 20, MemorySource: "cgroup v1"}},
		{"v1 without limits", map[string]string{
			"proc/meminfo":     meminfo,
			"proc/self/cgroup": "5:memory:/\n3:cpu,cpuacct:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":         "-1\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us":        "100000\n",
		}, job.Machine{Memory: total, MemorySource: "machine"}},
		{"garbage does not limit", map[string]string{
			"proc/meminfo":             meminfo,
			"proc/self/cgroup":         "nonsense\n0::../../x\n",
			"sys/fs/cgroup/memory.max": "a lot\n",
			"sys/fs/cgroup/cpu.max":    "1 2 3\n",
		}, job.Machine{Memory: total, MemorySource: "machine"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := fstest.MapFS{}
			for name, text := range test.files {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := job.ReadMachine(files); got != test.want {
				t.Errorf("ReadMachine = %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestThisMachineHasMemory(t *testing.T) {
	if got := job.ReadMachine(os.DirFS("/")); got.Memory < 1<<20 {
		t.Errorf("ReadMachine = %+v, want some memory", got)
	}
}
