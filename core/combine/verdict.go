package combine

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// verdict says in one sentence what became of the clocks.
func (d *Document) verdict() string {
	count := 0
	for i := range d.Nodes {
		count += max(1, len(d.Nodes[i].Holds))
	}
	nodes := plural(count, "node")
	lost := incomplete(d.salvaged(), d.Skipped, d.Files, d.Ranks)
	if d.NotAligned != "" {
		return fmt.Sprintf("%s: not aligned: %s%s", nodes, d.NotAligned, lost)
	}
	outside := ""
	if d.Outside != nil {
		outside = "; " + d.Outside.brief()
	}
	for _, b := range d.beside {
		outside += "; " + b
	}
	return fmt.Sprintf("%s on the clock of %s: %s%s%s", nodes, nodeName(d.Reference), d.Status, lost, outside)
}

// salvaged lists the nodes whose trace was cut.
func (d *Document) salvaged() (ids []string) {
	for i := range d.Nodes {
		if d.Nodes[i].Salvaged != nil {
			ids = append(ids, d.Nodes[i].ID)
		}
	}
	return ids
}

// Limits says which traces the result lacks, and what was assumed outside of the clock readings: whole sentences for a report.
func (d *Document) Limits() (out []string) {
	for _, u := range d.Skipped {
		out = append(out, fmt.Sprintf("%s could not be read and was left out.", u.name()))
	}
	for _, p := range d.Files.lost() {
		if !slices.ContainsFunc(d.Skipped, func(u Unreadable) bool { return filepath.Base(p.Path) == u.Path }) {
			out = append(out, fmt.Sprintf("%s was passed over: %s.", p.Path, p.Why))
		}
	}
	if r := d.Ranks.said(); r != "" {
		out = append(out, r+".")
	}
	for i := range d.Nodes {
		if d.Nodes[i].Salvaged != nil {
			out = append(out, fmt.Sprintf("The trace of %s was cut, and what is complete of it was salvaged.", nodeName(d.Nodes[i].ID)))
		}
	}
	if d.Outside != nil && d.NotAligned == "" {
		out = append(out, strings.ToUpper(d.Outside.Said[:1])+d.Outside.Said[1:]+".")
	}
	return out
}

// incomplete says which traces a result lacks, whole or in part.
func incomplete(salvaged []string, skipped []Unreadable, files *Ledger, ranks *Ranks) string {
	said := ""
	if r := ranks.said(); r != "" {
		said += "; " + r
	}
	if len(salvaged) > 0 {
		said += "; cut and salvaged: " + shortList(salvaged)
	}
	if len(skipped) > 0 {
		names := make([]string, len(skipped))
		for i := range skipped {
			names[i] = skipped[i].name()
		}
		said += fmt.Sprintf("; left out, as unreadable: %s", shortList(names))
	}
	var over []string
	for _, p := range files.lost() {
		if !slices.ContainsFunc(skipped, func(u Unreadable) bool { return filepath.Base(p.Path) == u.Path }) {
			over = append(over, p.Path)
		}
	}
	if len(over) > 0 {
		said += "; passed over: " + shortList(over)
	}
	return said
}

// StatusMeaning says what a status of a document means.
func StatusMeaning(status string) string {
	switch status {
	case StatusAligned:
		return "every clock is known over its whole trace"
	case StatusDegraded:
		return "some clock is not known over its whole trace"
	case StatusUnaligned:
		return "no clock was corrected"
	}
	return ""
}

// verdict says in one sentence how many collectives are possible.
func (d *ValidateDocument) verdict() string {
	said := fmt.Sprintf("%s: %d impossible, %d consistent, %d undecidable, %d unmatched",
		plural(d.Groups, "collective"), d.Violated, d.Consistent, d.Undecidable, d.Unmatched)
	if d.Passed == nil {
		said += "; inconclusive: nothing could be judged"
	}
	var salvaged []string
	for _, s := range d.Salvaged {
		salvaged = append(salvaged, s.ID)
	}
	return said + incomplete(salvaged, d.Skipped, d.Files, d.Ranks)
}

// plural writes a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// nodeName is "node 3" for 3; ids that say what they are stand for themselves.
func nodeName(id string) string {
	if _, err := strconv.ParseUint(id, 10, 64); err == nil {
		return "node " + id
	}
	return id
}
