package session

import (
	"fmt"
	"path"

	"github.com/prlx-go/prlx/core/diff"
)

// What became of an entry of a file of accepted differences, see docs/formats/accepted.md.
const (
	acceptUsed     = "used"
	acceptUnused   = "unused"
	acceptExpired  = "expired"
	acceptExceeded = "exceeded"
	acceptOther    = "other-kernel"
)

// accept marks what the file of accepted differences accepts of one launch. What package diff has to say of the entries is left out:
// an entry that is of no use here may be of use for another launch. acceptedUse says it once, for all launches.
func (c *comparison) accept(r *diff.Result) error {
	if c.opt.Accepted == nil {
		return nil
	}
	said := len(r.Warnings)
	_, err := c.opt.Accepted.Apply(r, c.opt.Today)
	r.Warnings = r.Warnings[:said:said]
	return err
}

// acceptedUse says what became of every entry over all launches, nil without a file.
func (c *comparison) acceptedUse() *diff.AcceptedUse {
	if c.opt.Accepted == nil {
		return nil
	}
	out := &diff.AcceptedUse{Path: c.opt.Accepted.Path, Entries: []diff.AcceptedRow{}}
	for i := range c.opt.Accepted.Entries {
		e := &c.opt.Accepted.Entries[i]
		row, accepted := c.entryUse(i, e)
		out.Divergences += accepted
		place := out.Path
		if e.Line > 0 {
			place = fmt.Sprintf("%s:%d", out.Path, e.Line)
		}
		switch row.Status {
		case acceptUnused:
			c.warn("%s: nothing differs at %s any more: the entry can go", place, e.Site)
		case acceptExpired:
			c.warn("%s: expired on %s: %s at %s count again", place, e.Until, plural(row.Matched, "divergence"), e.Site)
		case acceptExceeded:
			c.warn("%s: accepts %d at %s of a launch, and there are more: where that is so, all of them count", place, e.Max, e.Site)
		}
		out.Entries = append(out.Entries, row)
	}
	return out
}

func (c *comparison) warn(format string, args ...any) {
	c.doc.Warnings = append(c.doc.Warnings, fmt.Sprintf(format, args...))
}

// entryUse is what became of one entry, and how many divergences it accepted. An entry that accepts too little in one launch is
// exceeded, whatever it does in others.
func (c *comparison) entryUse(i int, e *diff.AcceptedEntry) (row diff.AcceptedRow, accepted int64) {
	row = diff.AcceptedRow{Line: e.Line, Site: e.Site, Reason: e.Reason, Until: e.Until, Status: acceptUnused}
	if e.Max >= 0 {
		row.Max = &e.Max
	}
	switch {
	case !c.hasKernel(e.Kernel):
		row.Status = acceptOther
	case e.Until != "" && c.opt.Today > e.Until:
		row.Status = acceptExpired
	}
	for _, use := range c.accepted {
		if use == nil {
			continue
		}
		of := &use.Entries[i]
		row.Matched += of.Matched
		switch {
		case of.Status == acceptExceeded:
			row.Status = acceptExceeded
		case of.Status == acceptUsed:
			accepted += of.Matched
			if row.Status != acceptExceeded {
				row.Status = acceptUsed
			}
		}
	}
	return row, accepted
}

func (c *comparison) hasKernel(pattern string) bool {
	if pattern == "" {
		return true
	}
	for _, s := range []*Session{c.a, c.b} {
		for i := range s.Launches {
			if ok, _ := path.Match(pattern, s.Launches[i].Kernel); ok {
				return true
			}
		}
	}
	return false
}
