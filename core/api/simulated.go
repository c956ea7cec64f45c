package api

import (
	"encoding/json"

	"github.com/prlx-go/prlx/core/diff/simulated"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
)

type compareSimulatedRequest struct {
	requestLimits
	A json.RawMessage `json:"a"` // prlx.simulate/1 of the version before
	B json.RawMessage `json:"b"` // and of the one after

	Written *simulated.Written `json:"written"` // how what they wrote compares; null: nobody looked
}

// compareSimulated compares what two versions of a program did on the simulator.
func compareSimulated(_ *job.Job, r *compareSimulatedRequest) (*simulated.CompareDocument, error) {
	var sides [2]simulated.Document
	for i, text := range [][]byte{r.A, r.B} {
		if err := decodeDocument("", text, &sides[i]); err != nil {
			return nil, err
		}
		if got := sides[i].Schema; got != simulated.Schema {
			return nil, fault.Usagef("the document has the schema %q, expected %q", got, simulated.Schema).WithHint("prlx simulate --json prints one")
		}
	}
	return simulated.Compare(&sides[0], &sides[1], r.Written), nil
}
