package combine

import (
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

func TestAnOutputHasTheNameOfWhatIsWritten(t *testing.T) {
	for _, c := range []struct {
		output string
		format Format
		ok     bool
	}{
		{"out.pb", FormatChrome, false},
		{"dir/OUT.XPLANE.PB", FormatChrome, false},
		{"out.json.gz", FormatXPlane, false},
		{"out.json", FormatXPlane, false},
		{"out.pb", FormatXPlane, true},
		{"out.json.zst", FormatChrome, true},
		{"out", FormatChrome, true},
		{"out.json", FormatRun, true}, // a directory may have almost any name
		{"out.html", FormatRun, false},
		{"out.csv", FormatRun, false},
		{"", FormatChrome, true},
	} {
		err := refuseOtherEnding(c.output, c.format)
		if (err == nil) != c.ok || err != nil && (!fault.Is(err, fault.Usage) || fault.Of(err).Path != c.output || fault.Of(err).Hint == "") {
			t.Errorf("%s as %s: got %v", c.output, c.format, err)
		}
	}
}
