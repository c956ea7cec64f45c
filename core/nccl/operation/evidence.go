package operation

import (
	"fmt"
	"strings"

	"github.com/prlx-go/prlx/core/verdict"
)

// Evidence says how many ranks were recorded, of how many, and what of them is not there: whoever judges a job rests on it.
func (j *Job) Evidence(e *verdict.Evidence) {
	if !j.ranks(e) { // else all are there, and what else lies in the folder is of nobody who is missing
		for _, u := range j.Unread {
			e.Missed("file", 1, u.Why)
		}
	}
	for i, r := range j.Recordings {
		if r.Doubted() {
			e.Lacks("records of "+j.whose(int32(i)), "the file is damaged: "+strings.Join(r.Loss.Harm, ", "))
		}
		if n := r.Loss.Lost; n > 0 {
			e.Missed("records of "+j.whose(int32(i)), int64(n), "they found no room")
		}
	}
	for i := range j.Others {
		if o := &j.Others[i]; !o.Before {
			e.Missed("recordings", int64(len(o.Recordings)), "they are of another job that ran at the same time: name its files")
		}
	}
}

// ranks says how many ranks were recorded; true: that is all of them.
func (j *Job) ranks(e *verdict.Evidence) bool {
	recorded, missing, told := int64(0), 0, len(j.Comms) > 0
	for i := range j.Ranks {
		if j.Ranks[i].Recording >= 0 {
			recorded++
		}
	}
	for i := range j.Comms {
		c := &j.Comms[i]
		told = told && c.Told
		for _, seat := range c.Unrecorded() {
			who := fmt.Sprintf("rank %d of %s", seat, c.Name)
			if r := c.Seats[seat].Rank; r >= 0 {
				if !c.World {
					continue // the communicator of all says it
				}
				who = "rank " + j.Ranks[r].ID
			}
			missing++
			e.Missed("recording of "+who, 1, "no file of it could be read")
		}
	}
	switch {
	case !told:
		e.Looked("ranks", recorded)
		e.Lacks("other ranks", fmt.Sprintf("%d seen, total unknown: not every communicator says how many it has", recorded))
	case missing > 0:
		e.Looked("ranks", recorded)
	default:
		e.LookedOf("ranks", recorded, recorded)
	}
	return told && missing == 0
}

// whose names the ranks of a recording.
func (j *Job) whose(recording int32) string {
	var names []string
	for i := range j.Ranks {
		if j.Ranks[i].Recording == recording {
			names = append(names, "rank "+j.Ranks[i].ID)
		}
	}
	if len(names) == 0 {
		return j.Recordings[recording].Path
	}
	return strings.Join(names, ", ")
}
