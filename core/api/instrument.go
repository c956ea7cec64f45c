package api

import (
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/llir"
	"github.com/prlx-go/prlx/core/recording/observe"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/runtime/device"
)

type instrumentRequest struct {
	requestLimits
	Text     string          `json:"text"`     // LLVM IR
	Kernels  []string        `json:"kernels"`  // patterns; none: all
	Places   []observe.Place `json:"places"`   // none: all
	Fewer    bool            `json:"fewer"`    // branches and switches alone, for a kernel that is short of registers
	Stores   bool            `json:"stores"`   // an event for each store, beside the sums
	Atomics  bool            `json:"atomics"`  // likewise for atomics
	Barriers bool            `json:"barriers"` // and barriers
	Values   bool            `json:"values"`   // operands of every lane beside events
	Digest   bool            `json:"digest"`   // counts and hashes of events alone
}

// instrumentDocument never leaves the boundary.
type instrumentDocument struct {
	Text    string `json:"text"`
	Table   string `json:"table"` // "": the text records nothing
	Sites   int    `json:"sites"`
	Warning string `json:"warning"`
}

// instrument makes a kernel record by itself.
func instrument(_ *job.Job, r *instrumentRequest) (*instrumentDocument, error) {
	filter := observe.Filter{Kernels: r.Kernels, Places: r.Places}
	if r.Fewer {
		filter.Kinds = []site.Kind{site.Branch, site.Switch}
	}
	made := llir.Instrument(r.Text, llir.Options{Filter: filter, Stores: r.Stores && !r.Fewer, Atomics: r.Atomics && !r.Fewer, Barriers: r.Barriers && !r.Fewer, Values: r.Values && !r.Fewer && !r.Digest, Digest: r.Digest})
	if r.Fewer && len(made.Sites) > 0 {
		made.Warning = strings.TrimPrefix(made.Warning+"; not recorded: masks and what they compare, for with them values would not fit into registers", "; ")
	}
	doc := &instrumentDocument{Text: made.Text, Sites: len(made.Sites), Warning: made.Warning}
	if len(made.Sites) == 0 {
		return doc, nil
	}
	table := observe.Table{
		Sites: made.Sites, Types: made.Types, Sums: made.Sums, Sought: made.Sought, Stores: r.Stores && !r.Fewer, Atomics: r.Atomics && !r.Fewer,
		Barriers: r.Barriers && !r.Fewer, Values: r.Values && !r.Fewer && !r.Digest, Digest: r.Digest, Unseen: made.Unseen, Warning: made.Warning,
	}
	text, err := table.Encode()
	if err != nil { // too large to travel with the kernel: it stays as it is
		return &instrumentDocument{Text: r.Text, Warning: "not recorded: " + err.Error()}, nil
	}
	doc.Table = text
	return doc, nil
}

type recorderDocument struct {
	Digest string `json:"digest"`
}

// contentsKernelDocument never leaves the boundary.
type contentsKernelDocument struct {
	Code string `json:"code"` // PTX
	AMD  string `json:"amd"`  // LLVM IR
	Name string `json:"name"`
}

// contentsKernel is the kernel that makes digests of what the memory behind arguments holds.
func contentsKernel(_ *job.Job, _ *requestLimits) (*contentsKernelDocument, error) {
	return &contentsKernelDocument{device.Contents(), device.ContentsAMD(), "prlx_contents"}, nil
}

// recorderDigest names the recorder that instrument inserts and the table that goes with it: what was compiled with another is not the same.
func recorderDigest(_ *job.Job, _ *requestLimits) (*recorderDocument, error) {
	return &recorderDocument{Digest: fmt.Sprintf("%s-%d", device.Digest(), observe.TableVersion())}, nil
}
