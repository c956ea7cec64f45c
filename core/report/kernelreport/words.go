package kernelreport

import (
	"math"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
)

// What one piece of foreign text may take, in characters.
const (
	maxName = 200  // names of kernels, functions, files on a page
	maxText = 2000 // sentences, paths for machines
)

// clean makes foreign text fit for people, of at most limit characters.
func clean(s string, limit int) string { return foreign.Clean(s, limit) }

// cleanAll cleans the first few strings of a list, and says how many there are more.
func cleanAll(list []string, most, limit int) []string {
	var out []string
	for _, s := range list[:min(len(list), most)] {
		out = append(out, clean(s, limit))
	}
	if n := len(list) - most; n > 0 {
		out = append(out, "and "+figure.Count(n)+" more")
	}
	return out
}

// percent writes a share; it says 0 and 100 only when they are exact.
func percent(share float64) string {
	switch {
	case share >= 1:
		return "100\u00a0%"
	case !(share > 0):
		return "0\u00a0%"
	case share < 0.0001:
		return "<\u00a00.01\u00a0%"
	}
	digits := 2
	if share >= 0.1 {
		digits = 1
	}
	scale := math.Pow10(digits)
	return strconv.FormatFloat(min(math.Floor(share*100*scale)/scale, 100-1/scale), 'f', digits, 64) + "\u00a0%"
}

// ordinal writes 1st, 2nd, 3rd, 4th.
func ordinal(n int64) string {
	end := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			end = "st"
		case 2:
			end = "nd"
		case 3:
			end = "rd"
		}
	}
	return figure.Count(n) + end
}

// ranges writes lanes in short: "0-3, 7". Lanes are taken as they come.
func ranges(lanes []int) string {
	var b strings.Builder
	for i := 0; i < len(lanes); {
		j := i
		for j+1 < len(lanes) && lanes[j+1] == lanes[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(lanes[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(lanes[j]))
		}
		i = j + 1
	}
	return b.String()
}

// maskOf reads a hexadecimal mask; false when it is absent or none.
func maskOf(text string) (uint64, bool) {
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseUint(digits, 16, 64)
	return v, err == nil
}
