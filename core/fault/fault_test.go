package fault

import (
	"errors"
	"testing"

	"github.com/BurntSushi/toml"
)

func TestATextThatIsNoTOMLIsRefusedWithItsLineInWords(t *testing.T) {
	var doc map[string]any
	for text, want := range map[string]string{
		"a = 1\n[x":  "rules.toml:2: not TOML: expected '.' or ']' to end table name, but got the end of the file instead",
		"a = 1\nb c": "rules.toml:2: not TOML: expected '.' or '=', but got 'c' instead",
	} {
		_, err := toml.Decode(text, &doc)
		if got := FromTOML("rules.toml", "not TOML", err); got.Error() != want || got.Kind != Format {
			t.Errorf("%q: %q (%s), want %q", text, got.Error(), got.Kind, want)
		}
	}
	if got := FromTOML("rules.toml", "not TOML", errors.New("broken")); got.Error() != "rules.toml: not TOML: broken" {
		t.Errorf("%q", got.Error())
	}
}
