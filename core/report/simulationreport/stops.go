package simulationreport

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/diff/simulated"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/simulator/watch"
)

// stopPart is what the lanes of a warp held at a line.
type stopPart struct {
	Title  string
	Values []valueRow
}

type valueRow struct{ What, From, Type, Lanes string }

func (p *page) stops(d *simulated.Document) {
	for i := range d.Stops[:min(len(d.Stops), maxStops)] {
		s := &d.Stops[i]
		part := stopPart{Title: clean(fmt.Sprintf("%s:%d in %s, launch %d, block (%d, %d, %d), warp %d, pass %d, %s",
			path.Base(s.File), s.Line, s.Kernel, s.Launch, s.Block[0], s.Block[1], s.Block[2], s.Warp, s.Pass, lanesText(s.Active)), maxText)}
		for k := range s.Values {
			v := &s.Values[k]
			part.Values = append(part.Values, valueRow{What: clean(cmp.Or(v.Variable, v.Register), maxName), From: clean(originText(v), maxText), Type: clean(v.Type, maxName), Lanes: clean(heldText(v), maxText)})
		}
		p.Stops = append(p.Stops, part)
	}
	if n := int64(len(d.Stops)-len(p.Stops)) + d.MoreStops; n > 0 {
		p.MoreStops = figure.Plural(n, "more stop is", "more stops are") + " not shown."
	}
}

// originText says where a value comes from.
func originText(v *watch.Value) string {
	text := v.Origin
	if v.Name != "" {
		text += " " + v.Name
	}
	if v.Where != nil {
		text += fmt.Sprintf(" at %s:%d", path.Base(v.Where.File), v.Where.Line)
	}
	if v.Made {
		text += " (" + v.Instruction + ")"
	}
	return text
}

// heldText writes the values of lanes, equal ones once.
func heldText(v *watch.Value) string {
	if len(v.Bits) == 0 || len(v.Bits) != len(v.Lanes) {
		return ""
	}
	texts := make([]string, len(v.Bits))
	same := true
	for i, b := range v.Bits {
		texts[i] = bitsText(v, b)
		same = same && texts[i] == texts[0]
	}
	if same {
		return texts[0]
	}
	return strings.Join(texts, " ")
}

func bitsText(v *watch.Value, bits uint64) string {
	switch v.Type {
	case "ptr":
		return v.Array + "+" + strconv.FormatUint(bits, 10)
	case "f32":
		return warptrace.FormatValue(bits, warptrace.TypeF32)
	case "f64":
		return strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64)
	case "s32":
		return strconv.FormatInt(int64(int32(bits)), 10)
	case "s64":
		return strconv.FormatInt(int64(bits), 10)
	case "s16":
		return strconv.FormatInt(int64(int16(bits)), 10)
	case "f16":
		return warptrace.FormatValue(bits, warptrace.TypeF16)
	case "bf16":
		return warptrace.FormatValue(bits, warptrace.TypeBF16)
	}
	if strings.HasPrefix(v.Type, "b") {
		return fmt.Sprintf("%#x", bits)
	}
	return strconv.FormatUint(bits, 10)
}
