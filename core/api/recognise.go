package api

import (
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording"
)

// siteMapArgs are the fields of a request that say where the names of the sites of v1 recordings come from.
type siteMapArgs struct {
	// Site map of v1 recordings. In Python an empty text looks for none.
	SiteMap string `json:"site_map" takes:"path" also:"--map" unset:"one found nearby" assert.rare:"yes" only:"diff assert" group:"code"`
	LookIn  string `json:"look_in"` // the directory from which it is looked for besides that of the recording; "" does not look
}

func (a siteMapArgs) maps() recording.Maps { return recording.Maps(a) }

type recogniseRequest struct {
	requestLimits
	Path string `json:"path"`
}

// recogniseDocument says what a path holds.
type recogniseDocument struct {
	Schema string `json:"schema"`
	What   string `json:"what"` // "recording", "session" or "timeline"
}

// recognise tells recordings and sessions from everything else, which is a timeline's to refuse.
func recognise(j *job.Job, r *recogniseRequest) (*recogniseDocument, error) {
	doc := &recogniseDocument{Schema: "prlx.recognise/1", What: "timeline"}
	switch kind, err := recording.Holds(j.Context(), r.Path); {
	case err != nil:
		return nil, err
	case kind != "":
		doc.What = kind
	}
	return doc, nil
}
