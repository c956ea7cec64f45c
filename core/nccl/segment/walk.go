package segment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

func sorted(all []Segment) []Segment {
	slices.SortStableFunc(all, func(a, b Segment) int { return cmp.Compare(a.Order, b.Order) })
	return all
}

// Seen is what Walk could not show.
type Seen struct {
	Records        int // that were shown
	Segments       int
	Retaken        int // segments that the recorder took again while they were read
	Damaged        int // segments of which a part is not a record; what stands before it was shown
	DamagedSlots   int
	Checked        int // segments whose checksum was right; those that are not full yet have none
	Corrupt        int // segments whose checksum was wrong, of which nothing was shown
	CorruptSlots   int
	Gone           int // segments that were opened and are not in the file
	Unchecked      int // segments of which a part has no checksum and should; that part was not shown
	UncheckedSlots int
}

// Harm says what of the segments is damaged, in sentences; none where nothing is.
func (s *Seen) Harm() (out []string) {
	for _, one := range []struct {
		n    int
		says string
	}{
		{s.Gone, "%d segments that were opened are not in the file"},
		{s.Corrupt, "%d segments have the checksum of others"},
		{s.Damaged, "%d segments do not hold records to their end"},
		{s.Unchecked, "of %d segments a part has no checksum"},
	} {
		if one.n > 0 {
			out = append(out, fmt.Sprintf(one.says, one.n))
		}
	}
	return out
}

// Source is the thread that a record is of.
type Source struct {
	Thread     int // index in File.Threads
	TID        uint32
	Generation uint32
}

// Walk shows every record, segment by segment in the order in which they were opened: the records of one thread come in their order,
// those of several threads are interleaved by segments. An error of visit ends it.
func (f *File) Walk(ctx context.Context, visit func(from Source, r *Record) error) (Seen, error) {
	var seen Seen
	all, gone, err := f.heads()
	if err != nil {
		return seen, err
	}
	seen.Gone = gone
	buf := make([]byte, f.size)
	for i := range all {
		if err := ctx.Err(); err != nil {
			return seen, err
		}
		b, what, err := f.read(&all[i], buf)
		if err != nil {
			return seen, err
		}
		switch {
		case what == retaken:
			seen.Retaken++
			continue
		case what == corrupt:
			seen.Corrupt++
			seen.CorruptSlots += all[i].Slots
			continue
		case what == unchecked:
			seen.Unchecked++
			seen.UncheckedSlots += all[i].Slots - len(b)/slotBytes
		case all[i].Checked:
			seen.Checked++
		}
		seen.Segments++
		if err := f.records(&all[i], b, &seen, visit); err != nil {
			return seen, err
		}
	}
	return seen, nil
}

func (f *File) records(s *Segment, b []byte, seen *Seen, visit func(from Source, r *Record) error) error {
	from := Source{s.Thread, s.TID, s.ThreadGeneration}
	var r Record
	for len(b) > 0 {
		n := decode(b, &r)
		if n == 0 {
			seen.Damaged++
			seen.DamagedSlots += len(b) / slotBytes
			return nil
		}
		if r.Kind == Thread_ {
			from.TID, from.Generation = uint32(r.ID), uint32(r.Value)
		}
		seen.Records++
		if err := visit(from, &r); err != nil {
			return err
		}
		b = b[n*slotBytes:]
	}
	return nil
}
