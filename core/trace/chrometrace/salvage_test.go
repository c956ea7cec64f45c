package chrometrace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/source"
)

func textsOf(t *testing.T, src *file.Source) ([]string, error) {
	t.Helper()
	trace, err := Scan(t.Context(), src, ScanOptions{})
	if err != nil {
		return nil, err
	}
	var out []string
	err = Events(t.Context(), src, trace, func(byte, []byte, []byte) bool { return true }, func(e *Event) error {
		out = append(out, fmt.Sprintf("%c %s %d %d", e.Phase, e.Name, e.Start.NS-trace.BaseNS, e.DurationPS))
		return nil
	})
	return out, err
}

// TestWhatIsCompleteInACutDocumentIsSalvaged: cut at any byte it is whole, or nothing was complete, or the first events are there.
func TestWhatIsCompleteInACutDocumentIsSalvaged(t *testing.T) {
	event := func(k int) string {
		return fmt.Sprintf(`{"ph":"X","name":"k\"%d]}","pid":1,"tid":2,"ts":%d,"dur":3,"args":{"a":[1,{"b":"\\"}],"c":"x,y"}}`, k, 1000+k)
	}
	list := event(0) + ",\n " + event(1) + " ,\n" + event(2) + "," + event(3)
	for name, text := range map[string]string{
		"list last":   `{"schemaVersion": 1, "deviceProperties": [{"id": 0}, {"id": 1}], "distributedInfo": {"rank": 3, "pg": [1, 2]}, "traceEvents": [` + list + `]}`,
		"keys behind": `{"traceEvents": [` + list + "\n], \"traceName\": \"a,b\", \"baseTimeNanoseconds\": 1700000000000000000}\n",
		"bare list":   `[` + list + `]`,
	} {
		src, err := file.FromBytes("whole", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if said, _, err := salvage(t.Context(), src); said != nil || err != nil {
			t.Errorf("%s: whole, and yet %+v, %v", name, said, err)
		}
		all, err := textsOf(t, src)
		if err != nil || len(all) != 4 {
			t.Fatalf("%s: %d events, %v", name, len(all), err)
		}
		most := 0
		for at := range strings.LastIndexAny(text, "]}") + 1 {
			src, err := file.FromBytes("cut", []byte(text[:at]))
			if err != nil {
				t.Fatal(err)
			}
			out, said, err := source.Salvage(t.Context(), src, false, salvage)
			if err != nil || said == nil && at > 0 {
				t.Fatalf("%s cut at %d: %+v, %v", name, at, said, err)
			}
			events, err := textsOf(t, out)
			begun := strings.Contains(text[:at], "traceEvents\": [") || name == "bare list"
			if begun && at > 1 && err != nil {
				t.Fatalf("%s cut at %d: salvaged, and then %v", name, at, err)
			}
			if len(events) > len(all) || !slices.Equal(events, all[:len(events)]) {
				t.Fatalf("%s cut at %d: events %v", name, at, events)
			}
			if whole := strings.Count(text[:at], `"x,y"}}`); len(events) != whole {
				t.Errorf("%s cut at %d: %d events of %d complete ones", name, at, len(events), whole)
			}
			most = max(most, len(events))
		}
		if most != len(all) {
			t.Errorf("%s: at most %d events", name, most)
		}
	}
	for name, text := range map[string]string{"no brackets": "hello, world", "they do not fit": `{"traceEvents": [}`, "too deep": strings.Repeat("[", 2*maxDepth), "nothing": ""} {
		src, err := file.FromBytes(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if said, _, err := salvage(t.Context(), src); said != nil || err != nil {
			t.Errorf("%s: %+v, %v", name, said, err)
		}
	}
}
