package job

import (
	"bufio"
	"bytes"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Machine is what this process may use: the limits of its control groups where there are any, else the machine's own size.
type Machine struct {
	CPUs         float64 // cores by the CPU quota, 0 when there is no quota
	Memory       int64   // bytes, 0 when nothing could be read
	MemorySource string  // "cgroup v2", "cgroup v1", "machine" or "unknown"
}

// ReadMachine reads the limits from proc and sys below root (os.DirFS("/") in earnest). Every group from the process's own up
// to the root counts: the tightest limit wins. What cannot be read does not limit.
func ReadMachine(root fs.FS) Machine {
	m := Machine{Memory: memTotal(root), MemorySource: "machine"}
	if m.Memory == 0 {
		m.MemorySource = "unknown"
	}
	v2, v1Memory, v1CPU := groupPaths(root)
	limit := func(bytes int64, source string) {
		if bytes > 0 && (m.Memory == 0 || bytes < m.Memory) {
			m.Memory, m.MemorySource = bytes, source
		}
	}
	quota := func(cores float64) {
		if cores > 0 && (m.CPUs == 0 || cores < m.CPUs) {
			m.CPUs = cores
		}
	}
	for _, dir := range ancestors("sys/fs/cgroup", v2) {
		limit(readInt(root, path.Join(dir, "memory.max")), "cgroup v2")
		if f := strings.Fields(readText(root, path.Join(dir, "cpu.max"))); len(f) == 2 {
			quota(ratio(f[0], f[1]))
		}
	}
	for _, dir := range ancestors("sys/fs/cgroup/memory", v1Memory) {
		limit(readInt(root, path.Join(dir, "memory.limit_in_bytes")), "cgroup v1")
	}
	for _, dir := range ancestors("sys/fs/cgroup/cpu", v1CPU) {
		quota(ratio(readText(root, path.Join(dir, "cpu.cfs_quota_us")), readText(root, path.Join(dir, "cpu.cfs_period_us"))))
	}
	return m
}

// groupPaths reads proc/self/cgroup: lines of "id:controllers:path", where v2 has no controllers.
func groupPaths(root fs.FS) (v2, v1Memory, v1CPU string) {
	for _, line := range strings.Split(readText(root, "proc/self/cgroup"), "\n") {
		f := strings.SplitN(line, ":", 3)
		if len(f) != 3 {
			continue
		}
		if f[1] == "" {
			v2 = f[2]
		}
		for _, controller := range strings.Split(f[1], ",") {
			switch controller {
			case "memory":
				v1Memory = f[2]
			case "cpu":
				v1CPU = f[2]
			}
		}
	}
	return v2, v1Memory, v1CPU
}

// ancestors lists mount/group, its parents and the mount itself. Inside a container the group's path may be the host's and
// not exist below the mount; the mount itself is then the container's group.
func ancestors(mount, group string) []string {
	var dirs []string
	for g := path.Clean("/" + group); g != "/"; g = path.Dir(g) {
		dirs = append(dirs, mount+g)
	}
	return append(dirs, mount)
}

func memTotal(root fs.FS) int64 {
	lines := bufio.NewScanner(strings.NewReader(readText(root, "proc/meminfo")))
	for lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) >= 2 && f[0] == "MemTotal:" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			if err == nil {
				return kib << 10
			}
		}
	}
	return 0
}

// readInt returns the number that a file holds, 0 when it holds none ("max") or does not exist.
func readInt(root fs.FS, name string) int64 {
	n, err := strconv.ParseInt(readText(root, name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func readText(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
}

// ratio is quota / period, 0 when there is no quota ("max" or -1).
func ratio(quota, period string) float64 {
	q, errQ := strconv.ParseInt(quota, 10, 64)
	p, errP := strconv.ParseInt(period, 10, 64)
	if errQ != nil || errP != nil || q <= 0 || p <= 0 {
		return 0
	}
	return float64(q) / float64(p)
}
