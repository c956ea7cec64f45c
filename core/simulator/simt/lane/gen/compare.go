package main

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
)

// renderCompares writes the comparisons. The bits are shifted in from the top: after 32 lanes the first is the lowest.
func renderCompares(name string, list []compare) []byte {
	sort.Slice(list, func(i, j int) bool { return list[i].key < list[j].key })
	var b bytes.Buffer
	b.WriteString(header)
	for _, c := range list {
		if strings.Contains(kinds[c.in].load, "math.") {
			b.WriteString("import \"math\"\n\n")
			break
		}
	}
	fmt.Fprintf(&b, "// %sLoops are the comparisons of this file by the name that decoding gives them.\nvar %sLoops = map[string]compareFunc{\n", name, name)
	for _, c := range list {
		fmt.Fprintf(&b, "%q: %s,\n", c.key, goName(c.key))
	}
	b.WriteString("}\n\n")
	for _, c := range list {
		k := kinds[c.in]
		fmt.Fprintf(&b, "func %s(r *Regs, at, by int32) (m uint32) {\na, b := &r.%s[at], &r.%s[by]\nfor i := range a {\n", goName(c.key), k.bank, k.bank)
		x, y := fmt.Sprintf(k.load, "a[i]"), fmt.Sprintf(k.load, "b[i]")
		expr := c.expr
		if plain(expr) {
			expr = strings.Replace(strings.Replace(expr, "x", x, 1), "y", y, 1)
		} else {
			fmt.Fprintf(&b, "x, y := %s, %s\n", x, y)
		}
		fmt.Fprintf(&b, "m = m>>1 | bit(%s)<<31\n}\nreturn m\n}\n\n", expr)
	}
	return tidy(b.Bytes())
}

func plain(expr string) bool { return len(strings.Fields(expr)) == 3 && !strings.Contains(expr, "(") }
