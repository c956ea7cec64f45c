package work

import "testing"

// TestLinesThatHoldNoWork: what profilers derive from other lines, and samples of counters, are no kernels.
func TestLinesThatHoldNoWork(t *testing.T) {
	for name, want := range map[string]Role{
		"Stream #16(Kernel)": KernelLine, "XLA Ops": KernelLine, "": KernelLine, "XLA Modules": ModuleLine, "Steps": StepLine,
		"Source code": IgnoredLine, "_counters_": IgnoredLine,
	} {
		if got := RoleOf(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}
