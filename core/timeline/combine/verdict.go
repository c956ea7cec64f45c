package combine

import (
	"fmt"
	"strconv"
)

// verdict says in one sentence what became of the clocks.
func (d *Document) verdict() string {
	count := 0
	for i := range d.Nodes {
		count += max(1, len(d.Nodes[i].Holds))
	}
	nodes := plural(count, "node")
	if d.NotAligned != "" {
		return fmt.Sprintf("%s: not aligned: %s", nodes, d.NotAligned)
	}
	return fmt.Sprintf("%s on the clock of %s: %s", nodes, nodeName(d.Reference), d.Status)
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
	return said
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
