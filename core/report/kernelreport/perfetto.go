package kernelreport

import (
	"bufio"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/diff"
)

// Field numbers of perfetto/protos/perfetto/trace (trace_packet.proto, track_event/*.proto), as far as they are written here.
const (
	tracePacket = 1

	packetTimestamp, packetSequence, packetEvent, packetInterned, packetFlags, packetDescriptor = 8, 10, 11, 12, 13, 60

	eventAnnotation, eventType, eventNameIID, eventTrack, eventCategory, eventCounter, eventFlow = 4, 9, 10, 11, 22, 30, 47

	annotationNameIID, annotationInt, annotationString = 1, 4, 6

	internedEventNames, internedAnnotationNames = 2, 3

	trackUUID, trackName, trackProcess, trackThread, trackParent, trackCounter, trackOrdering, trackRank = 1, 2, 3, 4, 5, 8, 11, 12

	processPID, processName              = 1, 6
	threadPID, threadTID, threadName     = 1, 2, 5
	counterUnitName                      = 6
	sliceBegin, sliceEnd, counter        = 1, 2, 4
	incrementalCleared, needsIncremental = 1, 2
	explicitOrder                        = 3
)

// perfettoStep is how many nanoseconds one event is wide: a microsecond, so that the ruler of the viewer counts events.
const perfettoStep = 1000

// Names of tracks that belong to the whole comparison.
const (
	uuidSummary  = 1
	uuidCounters = 2      // and one more a kind
	uuidBlocks   = 1 << 8 // plus the block
	uuidWarps    = 1 << 60
	perfettoSeq  = 1
)

// perfetto writes a native Perfetto trace: a process per block, a thread per warp, one slice per divergence, as wide as the events it
// covers, a counter per kind, and flows from a cause to what follows from it. A microsecond of the ruler is one event.
func perfetto(w io.Writer, doc *diff.Document, _ Options) error {
	p := &perfettoWriter{w: bufio.NewWriter(w), names: map[string]uint64{}, keys: map[string]uint64{}}
	p.packet(func(b []byte) []byte { return appendVarint(b, packetFlags, incrementalCleared) })
	slots := inOrder(doc)
	flows := flowsOf(slots)
	p.summary(doc, slots)
	described := map[int64]bool{}
	open := 0 // slices that are begun and not ended
	for i := range slots {
		s := &slots[i]
		if !described[s.d.WarpIdx] {
			described[s.d.WarpIdx] = true
			p.describeWarp(s.d.WarpIdx, doc, described)
		}
		p.begin(s, flows[i])
		open++
		if i+1 < len(slots) && slots[i+1].sub > s.sub {
			continue // the next one stands inside
		}
		for ; open > 0; open-- {
			p.end(s)
		}
	}
	if p.err != nil {
		return p.err
	}
	return p.w.Flush()
}

// perfettoWriter writes packets one after the other; names are written when they are first used.
type perfettoWriter struct {
	w           *bufio.Writer
	err         error
	names, keys map[string]uint64
	interned    []byte
	buffer      []byte
}

func (p *perfettoWriter) packet(fill func([]byte) []byte) {
	body := appendVarint(nil, packetSequence, perfettoSeq)
	body = fill(body)
	if len(p.interned) > 0 {
		body = appendBytes(body, packetInterned, p.interned)
		p.interned = nil
	}
	p.buffer = appendBytes(p.buffer[:0], tracePacket, body)
	if p.err == nil {
		_, p.err = p.w.Write(p.buffer)
	}
}

// intern returns the number of a name, which the packet being made declares when it is new.
func (p *perfettoWriter) intern(table map[string]uint64, field protowire.Number, name string) uint64 {
	if iid, ok := table[name]; ok {
		return iid
	}
	iid := uint64(len(table) + 1)
	table[name] = iid
	entry := appendVarint(nil, 1, iid)
	entry = appendBytes(entry, 2, []byte(name))
	p.interned = appendBytes(p.interned, field, entry)
	return iid
}

func (p *perfettoWriter) describe(uuid, parent uint64, name string, fill func([]byte) []byte) {
	p.packet(func(b []byte) []byte {
		d := appendVarint(nil, trackUUID, uuid)
		if name != "" {
			d = appendBytes(d, trackName, []byte(name))
		}
		if parent != 0 {
			d = appendVarint(d, trackParent, parent)
		}
		return appendBytes(b, packetDescriptor, fill(d))
	})
}

// summary describes the tracks of the whole comparison: the verdict as a slice over everything, and one counter per kind.
func (p *perfettoWriter) summary(doc *diff.Document, slots []slot) {
	p.describe(uuidSummary, 0, "prlx: "+suiteName(doc.A.Kernel), func(b []byte) []byte { return appendVarint(b, trackOrdering, explicitOrder) })
	var last int64 = 1
	for i := range slots {
		last = max(last, slots[i].at+slots[i].len)
	}
	p.event(uuidSummary, 0, sliceBegin, clean(doc.Verdict, maxText), func(b []byte) []byte {
		b = p.text(b, "a", doc.A.Path)
		b = p.text(b, "b", doc.B.Path)
		b = p.integer(b, "divergences", doc.TotalDivergences)
		return p.integer(b, "not in this trace", doc.DivergencesOmitted)
	})
	p.event(uuidSummary, last, sliceEnd, "", nil)
	counts := countsOver(slots)
	if len(counts) == 0 {
		return
	}
	seen := map[string]bool{}
	for i := range slots {
		seen[slots[i].d.Kind] = true
	}
	for k := range kinds {
		name := kinds[k].name
		if !seen[name] {
			continue
		}
		uuid := uint64(uuidCounters + k)
		p.describe(uuid, uuidSummary, name+" by event", func(b []byte) []byte {
			b = appendVarint(b, trackRank, uint64(k+1))
			return appendBytes(b, trackCounter, appendBytes(nil, counterUnitName, []byte("warps")))
		})
		for i := range counts {
			n, _ := counts[i].byKind[name].(int64)
			p.packet(func(b []byte) []byte {
				b = appendVarint(b, packetTimestamp, uint64(counts[i].at*perfettoStep))
				b = appendVarint(b, packetFlags, needsIncremental)
				e := appendVarint(nil, eventType, counter)
				e = appendVarint(e, eventTrack, uuid)
				e = appendVarint(e, eventCounter, uint64(n))
				return appendBytes(b, packetEvent, e)
			})
		}
	}
}

// describeWarp describes the process of a block before its first warp, and the warp as a thread of it. Viewers print the numbers
// of processes and threads behind their names, so the names have none. Thread 0 is the idle one to them: warp 0 is a track of its
// own inside the process.
func (p *perfettoWriter) describeWarp(warp int64, doc *diff.Document, described map[int64]bool) {
	warp = max(warp, 0)
	block, _ := blockOf(warp, doc)
	pid := uint64(block) & (1<<31 - 1)
	inBlocks := ^block // negative, so never the number of a warp
	if !described[inBlocks] {
		described[inBlocks] = true
		p.describe(uuidBlocks+uint64(block), 0, "", func(b []byte) []byte {
			name := "block"
			if doc.A.WarpsPerBlock == 0 {
				name = "warps"
			}
			return appendBytes(b, trackProcess, appendBytes(appendVarint(nil, processPID, pid), processName, []byte(name)))
		})
	}
	tid := uint64(warp) & (1<<31 - 1)
	if tid == 0 {
		p.describe(uuidWarps+uint64(warp), uuidBlocks+uint64(block), "warp "+number(warp), func(b []byte) []byte { return b })
		return
	}
	p.describe(uuidWarps+uint64(warp), uuidBlocks+uint64(block), "", func(b []byte) []byte {
		d := appendVarint(appendVarint(nil, threadPID, pid), threadTID, tid)
		return appendBytes(b, trackThread, appendBytes(d, threadName, []byte("warp")))
	})
}

func (p *perfettoWriter) begin(s *slot, flows []uint64) {
	d := s.d
	name := clean(d.Kind, 40) + " " + clean(siteName(d.SiteID, d.SourceLocation), maxName)
	p.event(uuidWarps+uint64(max(d.WarpIdx, 0)), s.at, sliceBegin, name, func(b []byte) []byte {
		b = appendBytes(b, eventCategory, []byte(clean(d.Kind, 40)))
		for _, f := range flows {
			b = protowire.AppendTag(b, eventFlow, protowire.Fixed64Type)
			b = protowire.AppendFixed64(b, f)
		}
		b = p.text(b, "what", what(d))
		b = p.text(b, "role", roleOf(d).String())
		b = p.text(b, "source", d.SourceLocation)
		b = p.text(b, "site", d.SiteID)
		b = p.text(b, "source in B", d.LocationB)
		b = p.integer(b, "event in A", d.EventIdx)
		b = p.integer(b, "event in B", d.EventIdxB)
		b = p.integer(b, "pass of the site in A", d.Occurrence)
		b = p.integer(b, "pass of the site in B", d.OccurrenceB)
		b = p.integer(b, "warp", d.WarpIdx)
		b = p.integer(b, "cluster", d.Cluster)
		return p.text(b, "lanes", ranges(d.Lanes[:min(len(d.Lanes), maxLanes)]))
	})
}

func (p *perfettoWriter) end(s *slot) {
	p.event(uuidWarps+uint64(max(s.d.WarpIdx, 0)), s.at+s.len, sliceEnd, "", nil)
}

func (p *perfettoWriter) event(track uint64, at int64, kind uint64, name string, fill func([]byte) []byte) {
	p.packet(func(b []byte) []byte {
		b = appendVarint(b, packetTimestamp, uint64(at*perfettoStep))
		b = appendVarint(b, packetFlags, needsIncremental)
		e := appendVarint(nil, eventType, kind)
		e = appendVarint(e, eventTrack, track)
		if name != "" {
			e = appendVarint(e, eventNameIID, p.intern(p.names, internedEventNames, name))
		}
		if fill != nil {
			e = fill(e)
		}
		return appendBytes(b, packetEvent, e)
	})
}

// text appends an annotation unless it is empty.
func (p *perfettoWriter) text(b []byte, key, value string) []byte {
	if value == "" {
		return b
	}
	a := appendVarint(nil, annotationNameIID, p.intern(p.keys, internedAnnotationNames, key))
	return appendBytes(b, eventAnnotation, appendBytes(a, annotationString, []byte(clean(value, maxText))))
}

func (p *perfettoWriter) integer(b []byte, key string, value int64) []byte {
	a := appendVarint(nil, annotationNameIID, p.intern(p.keys, internedAnnotationNames, key))
	return appendBytes(b, eventAnnotation, appendVarint(a, annotationInt, uint64(value)))
}

func appendVarint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}
