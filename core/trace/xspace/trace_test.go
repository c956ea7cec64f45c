package xspace

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestCrossedTextIsValidWhateverTheTraceHolds(t *testing.T) {
	text := "\xff\x00\"\\\u2028é\x1f"
	dst := appendStat(nil, &xStat{Kind: statStr, Bytes: []byte(text)})
	var back string
	if err := json.Unmarshal(dst, &back); err != nil || back != strings.ToValidUTF8(text, "\ufffd") {
		t.Errorf("%q became %s: %v", text, dst, err)
	}
	for _, c := range []struct {
		st   xStat
		want string
	}{
		{xStat{Kind: statInt, Int: -1 << 53}, "-9007199254740992"},
		{xStat{Kind: statInt, Int: 1<<53 + 1}, `"9007199254740993"`},
		{xStat{Kind: statUint, Uint: 1<<64 - 1}, `"18446744073709551615"`},
		{xStat{Kind: statDouble, Double: 0.1}, "0.1"},
		{xStat{Kind: statDouble, Double: math.Inf(-1)}, `"-Inf"`},
		{xStat{Kind: statRef, Ref: "jit_f"}, `"jit_f"`},
	} {
		if got := string(appendStat(nil, &c.st)); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.st, got, c.want)
		}
	}
}
