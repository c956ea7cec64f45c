package diff

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

func TestAllowedIsANumberOrNumbersByKind(t *testing.T) {
	counted := map[string]int64{KindBranch: 2, KindValue: 3, kindUnlocated: 1}
	for text, want := range map[string]bool{
		`6`:                             true,
		`5`:                             false,
		`{"*": 6}`:                      true,
		`{"Value": 3, "*": 3}`:          true,
		`{"Value": 2, "*": 9}`:          false, // a kind with a number of its own takes nothing from the others
		`{"Value": 9, "*": 2}`:          false,
		`{"Value": 3, "Branch": 2}`:     false, // one cannot be located, and others have none
		`{"Value": 3, "Output": 1}`:     false,
		`{"Value":3,"Branch":2,"*": 1}`: true,
	} {
		var a Allowed
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := a.passes(counted); got != want {
			t.Errorf("%s passes: got %t, want %t", text, got, want)
		}
	}
}

func TestAllowedRefusesWhatIsNotANumberOfAKind(t *testing.T) {
	for text, want := range map[string]string{
		`-1`:            "max_divergences is -1",
		`"many"`:        "expected a whole number",
		`{"Value": -1}`: "max_divergences of Value is -1",
		`{"Valeu": 1}`:  `"Valeu" is not a kind of divergence`,
	} {
		var a Allowed
		err := json.Unmarshal([]byte(text), &a)
		if !fault.Is(err, fault.Usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want a usage error with %q", text, err, want)
		}
	}
}
