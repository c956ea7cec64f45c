package cyclereport

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/prlx-go/prlx/core/timeline/cycle/cycledoc"
)

// chromeEvent is one event of the trace format that chrome://tracing and Perfetto read; ts and dur are in microseconds.
type chromeEvent struct {
	Name string         `json:"name"`
	Cat  string         `json:"cat,omitempty"`
	Ph   string         `json:"ph"`
	TS   json.Number    `json:"ts,omitempty"`
	Dur  json.Number    `json:"dur,omitempty"`
	PID  int            `json:"pid"`
	TID  int            `json:"tid"`
	Args map[string]any `json:"args,omitempty"`
}

// firstTrack is the number of the first process of the track: above those of programs and below those that recorders make up for devices.
const firstTrack = 900_000_000

// Chrome writes the repetitions that the document lists as a trace: a process per device, a thread per level, a slice per repetition. Times are those
// of the input, so that both open beside each other.
func Chrome(w io.Writer, d *cycledoc.Document, _ Options) error {
	out := &chromeWriter{w: bufio.NewWriter(w)}
	out.raw(`{"displayTimeUnit":"ns",`)
	if d.Input.BaseNS != 0 {
		out.raw(`"baseTimeNanoseconds":` + strconv.FormatInt(d.Input.BaseNS, 10) + `,`)
	}
	out.raw(`"otherData":`)
	out.json(map[string]any{"input": clean(d.Input.Path, maxText), "verdict": clean(d.Verdict, maxText)})
	out.raw(`,"traceEvents":[`)
	type device struct {
		rank int
		name string
	}
	pids := map[device]int{}
	pid := func(rank int, name string) int {
		k := device{rank, name}
		id, ok := pids[k]
		if !ok {
			id = firstTrack + len(pids)
			pids[k] = id
			out.event(chromeEvent{Name: "process_name", Ph: "M", PID: id, Args: map[string]any{"name": "prlx cycles: " + where(d, rank, name)}})
			out.event(chromeEvent{Name: "process_sort_index", Ph: "M", PID: id, Args: map[string]any{"sort_index": -1_000_000 + len(pids)}})
			for i := range d.Levels {
				tid := len(d.Levels) - i
				out.event(chromeEvent{Name: "thread_name", Ph: "M", PID: id, TID: tid, Args: map[string]any{"name": fmt.Sprintf("%s (level %d)", d.Levels[i].Name, i+1)}})
				out.event(chromeEvent{Name: "thread_sort_index", Ph: "M", PID: id, TID: tid, Args: map[string]any{"sort_index": tid}})
			}
		}
		return id
	}
	base := d.ZeroNS - d.Input.BaseNS
	for i := len(d.Levels) - 1; i >= 0; i-- {
		for k := range d.Levels[i].Classes {
			c := &d.Levels[i].Classes[k]
			odd := map[int64]float64{}
			for _, o := range c.Outliers {
				odd[o.Repetition] = o.Score
			}
			for n := range c.Borders {
				b := &c.Borders[n]
				args := map[string]any{"class": c.ID, "repetition": n, "kernels": b.End - b.First, "busy_us": json.Number(exactMicro(b.BusyNS)), "edits": b.Edits}
				if c.Phase != cycledoc.PhaseUnknown {
					args["phase"] = clean(c.Phase, 40)
				}
				if z, ok := odd[int64(n)]; ok {
					args["outlier"] = json.Number(strconv.FormatFloat(z, 'f', 1, 64))
				}
				out.event(chromeEvent{
					Name: clean(c.Name, maxName), Cat: "prlx cycle", Ph: "X", TS: json.Number(exactMicro(base + b.StartNS)), Dur: json.Number(exactMicro(max(0, b.EndNS-b.StartNS))),
					PID: pid(b.Rank, b.Device), TID: len(d.Levels) - i, Args: args,
				})
			}
		}
	}
	out.raw("]}\n")
	if out.err != nil {
		return out.err
	}
	return out.w.Flush()
}

// exactMicro writes ns as µs with all digits.
func exactMicro(ns int64) string {
	sign, n := "", uint64(ns)
	if ns < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%03d", sign, n/1000, n%1000)
}

// chromeWriter writes JSON piece by piece and keeps the first error.
type chromeWriter struct {
	w     *bufio.Writer
	comma bool
	err   error
}

func (c *chromeWriter) raw(s string) {
	if c.err == nil {
		_, c.err = c.w.WriteString(s)
	}
}

func (c *chromeWriter) json(v any) {
	b, err := json.Marshal(v)
	if c.err == nil {
		c.err = err
	}
	c.raw(string(b))
}

func (c *chromeWriter) event(e chromeEvent) {
	if c.comma {
		c.raw(",")
	}
	c.comma = true
	c.raw("\n")
	c.json(e)
}
