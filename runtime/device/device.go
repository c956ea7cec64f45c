// Package device holds the recorder that runs inside of kernels, as LLVM IR text: a part for each kind of GPU, and one that they share; and a
// kernel of its own, as PTX and as LLVM IR.
// core/recording/llir appends it to modules; what it writes is core/recording/observe/arena's to read.
package device

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"strings"
)

//go:embed nvptx.ll
var nvptx string

//go:embed amdgcn.ll
var amdgcn string

//go:embed event.ll
var event string

//go:embed store.ll
var store string

//go:embed sums.ll
var sums string

//go:embed values.ll
var values string

//go:embed contents.ptx
var contents string

// Contents is a kernel, prlx_contents, that makes digests of what memory of an NVIDIA GPU holds.
func Contents() string { return contents }

//go:embed contents.ll
var contentsAMD string

// ContentsAMD is the same kernel for AMD GPUs, as LLVM IR.
func ContentsAMD() string { return contentsAMD }

// NVPTX is the recorder for NVIDIA GPUs.
func NVPTX() string {
	return strings.ReplaceAll(event+"\n"+store+"\n"+sums+"\n"+values, `syncscope("agent")`, `syncscope("device")`) + "\n" + nvptx
}

// AMDGCN is the recorder for AMD GPUs, for waves of 32 and of 64 lanes.
func AMDGCN() string { return event + "\n" + store + "\n" + sums + "\n" + values + "\n" + amdgcn }

// Digest names the recorders by their text: kernels that were compiled with others are not the same.
func Digest() string {
	sum := sha256.Sum256([]byte(nvptx + amdgcn + event + store + sums + values))
	return fmt.Sprintf("%x", sum[:8])
}
