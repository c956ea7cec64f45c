package otherplugins_test

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/nccl/otherplugins"
)

// TestInspectorsLinesAreToldByTheirKeys: whoever writes JSON may put spaces, and keys in another order.
func TestInspectorsLinesAreToldByTheirKeys(t *testing.T) {
	line := inspected(1, 3, 7, "")
	header, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "{"), `,"metadata"`)
	for name, text := range map[string]string{
		"spaces":           strings.ReplaceAll(strings.ReplaceAll(line, ":", " : "), ",", " , "),
		"header last":      `{"metadata"` + strings.TrimSuffix(rest, "}") + "," + header + "}",
		"another key":      strings.Replace(line, `{"header":{"id":"0x7f8c496ae9f661","comm_name":"unknown"`, `{"header":{"comm_name":"unknown","id":"0x7f8c496ae9f661"`, 1),
		"lines before":     "\n \n" + line,
		"as it is written": line,
	} {
		if got := otherplugins.Of([]byte(text)[:min(len(text), 512)]); got != otherplugins.Inspector {
			t.Errorf("%s: not told to be Inspector's", name)
			continue
		}
		r := read(t, text)
		if len(r.Ops) != 1 || r.Ops[0].Sequence != 3 || r.Members[0].Rank != 1 {
			t.Errorf("%s: %+v", name, r.Ops)
		}
	}
	for _, other := range []string{`{"header":{"alg":"none"}}`, `{"metadata":{"title":"x"}}`, `{"header":3}`, `{"traceEvents":[]}`, `{`, `{}`, ``} {
		if got := otherplugins.Of([]byte(other)); got != otherplugins.None {
			t.Errorf("%s: told to be %v", other, got)
		}
	}
}
