package signature

import (
	"context"
	"io"
	"regexp"

	"github.com/BurntSushi/toml"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// Limits of a file of rules, and of a key that rules make.
const (
	maxRulesFile = 1 << 20
	maxRules     = 1000
	maxPattern   = 4096
)

const (
	strictKey = "strict"
	looseKey  = "loose"
)

type rule struct {
	match   *regexp.Regexp
	replace string
	key     string
}

// Rules are the rules of a user, applied in order: those for the strict key behind the product's own, those for the loose key on
// the strict key and before the product's own. The nil Rules are none.
type Rules struct{ rules []rule }

// ReadRules reads the rules in a file, see parseRules; nil without a path.
func ReadRules(ctx context.Context, path string) (*Rules, error) {
	if path == "" {
		return nil, nil
	}
	src, err := file.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if src.Size() > maxRulesFile {
		return nil, fault.New(fault.Limit, "has %d bytes; rules of at most %d are read", src.Size(), maxRulesFile).WithPath(path)
	}
	text, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
	if err != nil {
		return nil, fault.FromIO(path, err)
	}
	return parseRules(path, text)
}

// parseRules reads a TOML file of rules:
//
//	[[rule]]
//	match = '^my_(\w+)_v[0-9]+$'   # RE2
//	replace = 'my_$1'
//	key = 'loose'                  # or 'strict', which the loose key inherits; default loose
func parseRules(path string, text []byte) (*Rules, error) {
	if len(text) > maxRulesFile {
		return nil, fault.New(fault.Limit, "a file of rules may have %d bytes", maxRulesFile).WithPath(path)
	}
	var doc struct {
		Rule []struct{ Match, Replace, Key string }
	}
	meta, err := toml.Decode(string(text), &doc)
	if err != nil {
		return nil, fault.FromTOML(path, "not TOML", err).WithHint("a [[rule]] has match, replace and key")
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, fault.Formatf(path, fault.Unknown, "unknown key %q", unknown[0].String()).WithHint("a [[rule]] has match, replace and key")
	}
	if len(doc.Rule) > maxRules {
		return nil, fault.New(fault.Limit, "%d rules, at most %d", len(doc.Rule), maxRules).WithPath(path)
	}
	out := &Rules{}
	for i, r := range doc.Rule {
		if r.Key == "" {
			r.Key = looseKey
		}
		if r.Key != looseKey && r.Key != strictKey {
			return nil, fault.Formatf(path, 0, "rule %d: key %q is neither strict nor loose", i+1, r.Key)
		}
		if r.Match == "" || len(r.Match) > maxPattern || len(r.Replace) > maxPattern {
			return nil, fault.Formatf(path, 0, "rule %d: match must have 1 to %d bytes, replace at most as many", i+1, maxPattern)
		}
		re, err := regexp.Compile(r.Match)
		if err != nil {
			return nil, fault.Formatf(path, 0, "rule %d: %v", i+1, err).WithHint("patterns are RE2: no look-around, no back-references")
		}
		out.rules = append(out.rules, rule{re, r.Replace, r.Key})
	}
	return out, nil
}

// Len is the number of rules.
func (r *Rules) Len() int {
	if r == nil {
		return 0
	}
	return len(r.rules)
}

// apply runs the rules of one key. A rule that empties a name, or makes it longer than names may be, is not applied.
func (r *Rules) apply(key, name string) string {
	if r == nil || len(name) > maxName {
		return name
	}
	for _, one := range r.rules {
		if one.key != key || !one.match.MatchString(name) {
			continue
		}
		if len(name)*(len(one.replace)+1) > 1<<26 {
			continue
		}
		if next := one.match.ReplaceAllString(name, one.replace); next != "" && len(next) <= maxName {
			name = next
		}
	}
	return name
}
