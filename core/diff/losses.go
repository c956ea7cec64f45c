package diff

import (
	"fmt"

	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// DescribeLosses is what is missing from a recording, also in sentences.
func DescribeLosses(l warptrace.Losses) Losses {
	doc := Losses{
		Events: l.Events, Dropped: l.Dropped, WarpsWithDrops: l.WarpsWithDrops,
		SampleRate: l.SampleRate, Truncated: l.Truncated, Notes: append([]string{}, l.Notes...),
	}
	if l.Dropped > 0 {
		doc.DroppedShare = float64(l.Dropped) / float64(l.Events+l.Dropped)
		doc.Notes = append(doc.Notes, fmt.Sprintf("%s of %s (%.3g %% of all) were lost because buffers were full",
			counted(l.Dropped, "event"), counted(l.WarpsWithDrops, "warp"), 100*doc.DroppedShare))
	}
	if l.SampleRate > 1 {
		doc.Notes = append(doc.Notes, fmt.Sprintf("one event in %d was kept", l.SampleRate))
	}
	return doc
}
