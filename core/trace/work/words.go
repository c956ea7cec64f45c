package work

import (
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/lazyregexp"
)

// RankText finds a rank in a name: "rank 3".
var RankText = lazyregexp.New(`(?i)\brank[ _-]?(\d+)\b`)

// DeviceOf shortens "/device:GPU:0 (host)" to "GPU 0", and "/device:TPU:0" to "TPU 0".
func DeviceOf(name string) string {
	name = strings.TrimPrefix(name, "/device:")
	if i := strings.IndexByte(name, ' '); i > 0 {
		name = name[:i]
	}
	if kind, n, ok := strings.Cut(name, ":"); ok && n != "" && LeadingDigits(n) == len(n) {
		return kind + " " + n
	}
	return name
}

// Role is what a line of an XSpace, or a thread of a trace made of one, holds.
type Role uint8

// The roles.
const (
	KernelLine Role = iota
	IgnoredLine
	ModuleLine
	StepLine
)

// RoleOf tells the lines that hold work from those that say what the work belongs to.
func RoleOf(name string) Role {
	switch name {
	case "XLA Modules":
		return ModuleLine
	case "Steps":
		return StepLine
	case "Async XLA Ops", "XLA TraceMe", "Framework Ops", "Framework Name Scope", "TensorFlow Ops", "TensorFlow Name Scope", "TF Name Scope", "TF Ops",
		"Source code", "Source Code", "Launch Stats", "SparseCore Steps", "SparseCore Modules", "Step Names", "XLA Flops", "Name Scope", "Host Offload Ops", "TC Overlay", "Overlay",
		"_counters_": // samples of counters, as XLA names such lines
		return IgnoredLine
	}
	return KernelLine
}

// Number reads digits; what is not a sensible count is 0.
func Number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil || n > 1<<40 {
		return 0
	}
	return n
}

// LeadingDigits is how many digits a text begins with.
func LeadingDigits(s string) int {
	i := 0
	for i < len(s) && s[i]-'0' <= 9 {
		i++
	}
	return i
}
