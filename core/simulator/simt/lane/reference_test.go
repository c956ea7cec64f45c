package lane

import (
	"strings"
	"testing"
)

// otherReferences are the families whose results are compared elsewhere than in the table of integers.
var otherReferences = map[string]string{
	"mov": "TestMovPacksAndUnpacks", "addc": "TestCarriesGoFromWordToWord", "subc": "TestCarriesGoFromWordToWord", "madc": "TestCarriesGoFromWordToWord",
	"shf": "TestFunnelShiftsAreThoseOf64Bits", "prmt": "TestPermutePicksBytes", "lop3": "TestLop3IsItsTable", "selp": "TestSelections", "slct": "TestSelections",
	"setp": "compare_test.go", "set": "compare_test.go", "cvt": "convert_test.go", "cvta": "convert_test.go", "vote": "warp_test.go", "match": "warp_test.go",
	"shfl": "warp_test.go", "redux": "warp_test.go", "activemask": "warp_test.go", "elect": "warp_test.go", "mma": "mma_test.go", "dp4a": "rare_test.go", "dp2a": "rare_test.go", "fns": "rare_test.go",
	"bmsk": "rare_test.go", "szext": "rare_test.go", "movmatrix": "rare_test.go", "wmma": "../wmma_test.go",
}

// A form of an integer instruction that decodes has a row in the table of references: without one nobody compares it with anything.
func TestEveryIntegerFormHasAReference(t *testing.T) {
	known := map[string]bool{}
	for _, c := range intCases {
		for _, typ := range c.on {
			known[c.op+"."+typ] = true
		}
	}
	forms := 0
	for _, f := range Families() {
		if otherReferences[f.Name] != "" || IsVideo(f.Name) { // of these video_test.go
			continue
		}
		for _, mods := range []string{"", ".lo", ".hi", ".wide", ".sat", ".hi.sat", ".shiftamt"} {
			for _, typ := range append(append([]string{}, intTypes...), bitTypes...) {
				op := f.Name + mods
				form := mods
				if form == ".sat" || form == ".hi.sat" { // the text has .sat before the type, too
					form = strings.Replace(form, ".sat", "", 1) + ".sat"
				}
				in, function := instruction(t, f.Name+form+"."+typ+" %r0, %r1, %r2, %r3, %r4;")
				decoded, err := Decode(in, function)
				if err != nil || decoded.Lanewise == nil {
					continue
				}
				if forms++; !known[op+"."+typ] && !strings.Contains(op, "24.hi") { // of these rare_test.go
					t.Errorf("%s.%s decodes and has no reference", op, typ)
				}
			}
		}
	}
	if forms < len(known)-10 {
		t.Errorf("%d forms decode, of %d in the table", forms, len(known))
	}
}
