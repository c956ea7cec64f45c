package kernelreport_test

import (
	"os"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/report/kernelreport"
)

// The annotations of a comparison that found one branch.
func ExampleWrite() {
	doc := &diff.Document{
		Status: "diverged", Verdict: "1 of 64 warps differs, first at scale.py:12.", WarpsCompared: 64, WarpsDiverged: 1, A: diff.Recording{Kernel: "scale", WarpsPerBlock: 4},
		Sites: []diff.SiteSummary{{
			SiteID: "0x00000001", SourceLocation: "/repo/kernels/scale.py:scale:12:8", Divergences: 1, Warps: 1, WarpRanges: "9", Breakdown: map[string]int64{"Branch": 1},
		}},
		Divergences: []diff.Divergence{{
			WarpIdx: 9, EventIdx: 30, EventIdxB: 30, SiteID: "0x00000001", SourceLocation: "/repo/kernels/scale.py:scale:12:8", Kind: "Branch",
			MaskA: "0xffffffff", MaskB: "0xffffffff", TakenA: "0x0000ffff", TakenB: "0x000fffff",
		}},
	}
	if err := kernelreport.Write("github", os.Stdout, doc, kernelreport.Options{Root: "/repo"}); err != nil {
		panic(err)
	}
	// Output:
	// ::error title=prlx%3A scale::1 of 64 warps differs, first at scale.py:12.
	// ::error file=kernels/scale.py,line=12,col=8,title=prlx%3A Branch::another decision: 1 divergence in 1 warp (9); taken by 16 of 32 lanes in A, by 20 in B; warp 9 (block 2, warp 1 of it), event 30
}
