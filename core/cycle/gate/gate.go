// Package gate reads what people let a comparison of cycles fail on: "step>3%", "kernel:flash*>5%", "added".
//
// A gate names what it looks at, perhaps a pattern of names behind a colon, and how much more time that may take. It judges nothing: rendering
// holds a comparison against it.
package gate

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/fault"
)

// Gate is one condition.
type Gate struct {
	Text    string  // as it was given
	Subject string  // a level, or one of the constants
	Pattern string  // of names: * is any text, ? one letter; "" all
	Share   float64 // how much more time it may take, as a share; 0 where NS says it
	NS      float64 // the same in ns: of levels a repetition, else a step
}

// What is no level.
const (
	Kernel = "kernel" // kernels of steps
	Idle   = "idle"   // time between kernels
)

var (
	timed  = []string{cycledoc.LevelStep, cycledoc.LevelLayer, cycledoc.LevelBlock, cycledoc.LevelMicrobatch, cycledoc.LevelLoop, Kernel, Idle}
	counts = []string{"added", "removed", "fused", "split", "replaced"}
)

const hint = "such as 'step>3%', 'step:decode*>50us', 'kernel:flash*>5%', 'idle>10%', 'added' or 'removed:*gemm*'"

// Parse reads gates.
func Parse(texts []string) ([]Gate, error) {
	var out []Gate
	for _, text := range texts {
		g, err := parse(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o Gate) bool { return o.Text == text }) {
			return nil, fault.Usagef("fail_on holds %q twice", text)
		}
		out = append(out, g)
	}
	return out, nil
}

// Counts reports whether the gate fails on the presence of kernels, not on a time.
func (g *Gate) Counts() bool { return slices.Contains(counts, g.Subject) }

func parse(text string) (Gate, error) {
	bad := func(why string) (Gate, error) {
		return Gate{}, fault.Usagef("fail_on holds %q: %s", text, why).WithHint("%s", hint)
	}
	g := Gate{Text: text}
	rest := text
	limit, at := "", strings.LastIndexByte(text, '>')
	if at >= 0 && (!strings.Contains(text, ":") || startsAmount(text[at+1:])) { // a > may stand in a pattern
		rest, limit = text[:at], strings.TrimSpace(text[at+1:])
	}
	subject, pattern, named := strings.Cut(rest, ":")
	g.Subject, g.Pattern = strings.TrimSpace(subject), strings.TrimSpace(pattern)
	switch {
	case !slices.Contains(timed, g.Subject) && !g.Counts():
		return bad("expected one of " + strings.Join(slices.Concat(timed, counts), ", "))
	case named && g.Pattern == "":
		return bad("a pattern stands behind the colon")
	case named && g.Subject == Idle:
		return bad("idle time has no name")
	case g.Counts() && limit != "":
		return bad(g.Subject + " takes no amount: one kernel is enough")
	case !g.Counts() && limit == "":
		return bad("it does not say how much more is too much")
	case limit == "":
		return g, nil
	}
	value, unit := split(limit)
	n, err := strconv.ParseFloat(value, 64)
	scale, known := units[unit]
	switch {
	case err != nil || !(n >= 0) || n > most:
		return bad("expected a number of 0 or more behind >")
	case !known:
		return bad("the amount has no unit: %, ns, us, ms or s")
	case unit == "%":
		g.Share = n * scale
	default:
		g.NS = n * scale
	}
	return g, nil
}

const most = 1e9 // of a unit

var units = map[string]float64{"%": 0.01, "ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}

// split parts a number from its unit.
func split(s string) (value, unit string) {
	i := strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune("0123456789.", r) })
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

func startsAmount(s string) bool {
	value, _ := split(strings.TrimSpace(s))
	return value != ""
}

// Takes reports whether the gate looks at a name: one that the pattern fits as a whole, with its namespaces and arguments or without them.
func (g *Gate) Takes(names ...string) bool {
	if g.Pattern == "" {
		return true
	}
	return slices.ContainsFunc(names, func(name string) bool {
		name = strings.TrimPrefix(name, "void ")
		plain, _, _ := strings.Cut(name, "<")
		plain, _, _ = strings.Cut(plain, "(")
		if i := strings.LastIndex(plain, "::"); i >= 0 {
			return fits(g.Pattern, name) || fits(g.Pattern, plain) || fits(g.Pattern, plain[i+len("::"):])
		}
		return fits(g.Pattern, name) || fits(g.Pattern, plain)
	})
}

// fits matches a name with a pattern of * and ?.
func fits(pattern, name string) bool {
	literal := strings.NewReplacer(`\`, `\\`, "[", `\[`, "/", "\x00").Replace // a slash is a letter as any other
	ok, err := path.Match(literal(pattern), strings.ReplaceAll(name, "/", "\x00"))
	return err == nil && ok
}
