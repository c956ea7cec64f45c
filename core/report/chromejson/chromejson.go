// Package chromejson writes traces that chrome://tracing and Perfetto read, event by event, for the tracks that reports add beside a trace.
package chromejson

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// Event is one event of the format; see "Trace Event Format" by the makers of chrome://tracing. TS and Dur are in microseconds.
type Event struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Ph    string         `json:"ph"`
	Scope string         `json:"s,omitempty"`
	TS    json.Number    `json:"ts,omitempty"`
	Dur   json.Number    `json:"dur,omitempty"`
	PID   int64          `json:"pid"`
	TID   int64          `json:"tid"`
	Args  map[string]any `json:"args,omitempty"`
}

// Micro writes ns as µs with all digits.
func Micro(ns int64) json.Number {
	sign, n := "", uint64(ns)
	if ns < 0 {
		sign, n = "-", -n
	}
	return json.Number(fmt.Sprintf("%s%d.%03d", sign, n/1000, n%1000))
}

// Writer writes one trace and keeps the first error, which End returns.
type Writer struct {
	w     *bufio.Writer
	comma bool
	err   error
}

// Begin writes what stands before the events: about is shown by viewers as what is known of the whole, baseNS is the instant from which times
// count, 0 where they count from the epoch or from nothing that is known.
func Begin(w io.Writer, baseNS int64, about map[string]any) *Writer {
	out := &Writer{w: bufio.NewWriter(w)}
	out.raw(`{"displayTimeUnit":"ns",`)
	if baseNS != 0 {
		out.raw(fmt.Sprintf(`"baseTimeNanoseconds":%d,`, baseNS))
	}
	out.raw(`"otherData":`)
	out.json(about)
	out.raw(`,"traceEvents":[`)
	return out
}

// Event writes one event.
func (w *Writer) Event(e Event) {
	if w.comma {
		w.raw(",")
	}
	w.comma = true
	w.raw("\n")
	w.json(e)
}

// Process names a process and says where it stands among others.
func (w *Writer) Process(pid int64, name string, place int) {
	w.Event(Event{Name: "process_name", Ph: "M", PID: pid, Args: map[string]any{"name": name}})
	w.Event(Event{Name: "process_sort_index", Ph: "M", PID: pid, Args: map[string]any{"sort_index": place}})
}

// Thread names a thread; threads stand in the order of their numbers.
func (w *Writer) Thread(pid, tid int64, name string) {
	w.Event(Event{Name: "thread_name", Ph: "M", PID: pid, TID: tid, Args: map[string]any{"name": name}})
	w.Event(Event{Name: "thread_sort_index", Ph: "M", PID: pid, TID: tid, Args: map[string]any{"sort_index": tid}})
}

// End writes what stands behind the events, and returns the first error of all that was written.
func (w *Writer) End() error {
	w.raw("\n]}\n")
	if w.err != nil {
		return w.err
	}
	return w.w.Flush()
}

func (w *Writer) raw(s string) {
	if w.err == nil {
		_, w.err = w.w.WriteString(s)
	}
}

func (w *Writer) json(v any) {
	b, err := json.Marshal(v)
	if w.err == nil {
		w.err = err
	}
	w.raw(string(b))
}
