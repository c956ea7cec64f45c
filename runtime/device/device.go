// Package device holds the recorder that runs inside of kernels, as LLVM IR text, one for each kind of GPU. core/kernel/llir appends it
// to modules; what it writes is core/kernel/observe/arena's to read.
package device

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
)

//go:embed nvptx.ll
var nvptx string

// NVPTX is the recorder for NVIDIA GPUs.
func NVPTX() string { return nvptx }

// Digest names the recorders by their text: kernels that were compiled with others are not the same.
func Digest() string {
	sum := sha256.Sum256([]byte(nvptx))
	return fmt.Sprintf("%x", sum[:8])
}
