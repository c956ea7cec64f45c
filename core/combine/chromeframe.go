package combine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/source"
)

// What stands around the events of one Chrome JSON.

// stated reports whether the output states a top-level key itself.
func stated(key string) bool {
	switch key {
	case "traceEvents", "baseTimeNanoseconds", "displayTimeUnit", "schemaVersion", "prlx", aligned.KeyMark:
		return true
	}
	return false
}

// head writes the document up to the list's opening bracket: the reference's keys, and times for all.
func (d *chromeDocument) head(ctx context.Context, w io.Writer) error {
	if r := d.single(); r != nil {
		return withPath(r.Head(ctx, d.in.nodes[0].Src, w), d.in.nodes[0].Path)
	}
	ref := d.in.nodes[d.in.ref]
	version := "1"
	if ref.text != nil {
		if said := ref.text.Document().Value("schemaVersion"); json.Valid(said) && utf8.Valid(said) {
			version = string(said)
		}
	}
	if _, err := fmt.Fprintf(w, "{\n\"schemaVersion\": %s,\n\"displayTimeUnit\": \"ns\",\n", version); err != nil {
		return err
	}
	if d.zeroNS != 0 {
		if _, err := fmt.Fprintf(w, "\"baseTimeNanoseconds\": %d,\n", d.zeroNS); err != nil {
			return err
		}
	}
	if ref.text != nil {
		if err := writeKeys(ctx, w, ref, func(key string) bool { return !stated(key) }); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "\"traceEvents\": [\n")
	return err
}

// writeKeys copies the keys of a document that want accepts, each followed by a comma.
func writeKeys(ctx context.Context, w io.Writer, n *Node, want func(key string) bool) error {
	return withPath(n.text.Document().CopyKeys(ctx, n.Src, w, want), n.Path)
}

// tail closes the list and adds what the other documents said. It stands at the end because readers look for the rank in the
// first lines.
func (d *chromeDocument) tail(ctx context.Context, w io.Writer) error {
	if r := d.single(); r != nil {
		n := d.in.nodes[0]
		gap, err := r.Gap(n.Src, r.Pieces())
		if err == nil {
			_, err = w.Write(gap)
		}
		if err == nil {
			err = r.Tail(ctx, n.Src, w)
		}
		return withPath(err, n.Path)
	}
	if _, err := io.WriteString(w, "\n],\n\"prlx\": {\"nodes\": ["); err != nil {
		return err
	}
	for k, n := range d.in.nodes {
		open := "\n{\"id\":"
		if k > 0 {
			open = ",\n{\"id\":"
		}
		text := source.AppendString([]byte(open), n.ID)
		if n.Rank != nil {
			text = strconv.AppendInt(append(text, `,"rank":`...), *n.Rank, 10)
		}
		if n.Host != "" {
			text = source.AppendString(append(text, `,"host":`...), n.Host)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		if err := d.document(ctx, w, k); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "}"); err != nil {
			return err
		}
	}
	text, err := d.marks.mark.Text()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n]},\n\"%s\": %s\n}\n", aligned.KeyMark, text)
	return err
}

// document writes what the document of a node said: all but the events; of the reference only what could not stand at the top.
func (d *chromeDocument) document(ctx context.Context, w io.Writer, k int) error {
	n := d.in.nodes[k]
	if n.text == nil || k == d.in.ref && !n.text.Document().Has("prlx") {
		return nil
	}
	if _, err := io.WriteString(w, ",\n\"document\":{\n"); err != nil {
		return err
	}
	want := func(key string) bool { return key == "prlx" || k != d.in.ref && !stated(key) }
	if err := writeKeys(ctx, w, n, want); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\"baseTimeNanoseconds\":%d}", n.facts.StartNS)
	return err
}
