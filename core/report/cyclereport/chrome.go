package cyclereport

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/report/chromejson"
)

// firstTrack is the number of the first process of the track: above those of programs and below those that recorders make up for devices.
const firstTrack = 900_000_000

// chrome writes the repetitions that the document lists as a trace: a process per device, a thread per level, a slice per repetition. Times are those
// of the input, so that both open beside each other.
func chrome(w io.Writer, d *cycledoc.Document, _ Options) error {
	out := chromejson.Begin(w, d.Input.BaseNS, map[string]any{"input": clean(d.Input.Path, maxText), "verdict": clean(d.Verdict, maxText)})
	type device struct {
		rank int
		name string
	}
	pids := map[device]int64{}
	pid := func(rank int, name string) int64 {
		k := device{rank, name}
		id, ok := pids[k]
		if !ok {
			id = firstTrack + int64(len(pids))
			pids[k] = id
			out.Process(id, "prlx cycles: "+where(d, rank, name), -1_000_000+len(pids))
			for i := range d.Levels {
				out.Thread(id, int64(len(d.Levels)-i), fmt.Sprintf("%s (level %d)", d.Levels[i].Name, i+1))
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
				args := map[string]any{"class": c.ID, "repetition": n, "kernels": b.End - b.First, "busy_us": chromejson.Micro(b.BusyNS), "edits": b.Edits}
				if c.Phase != cycledoc.PhaseUnknown {
					args["phase"] = clean(c.Phase, 40)
				}
				if z, ok := odd[int64(n)]; ok {
					args["outlier"] = json.Number(strconv.FormatFloat(z, 'f', 1, 64))
				}
				out.Event(chromejson.Event{
					Name: clean(c.Name, maxName), Cat: "prlx cycle", Ph: "X", TS: chromejson.Micro(base + b.StartNS), Dur: chromejson.Micro(max(0, b.EndNS-b.StartNS)),
					PID: pid(b.Rank, b.Device), TID: int64(len(d.Levels) - i), Args: args,
				})
			}
		}
	}
	return out.End()
}
