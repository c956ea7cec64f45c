package perfetto

// head is what stands in a packet beside what it is of.
type head struct {
	at                  uint64
	timed               bool
	sequence, clock     uint32
	cleared             bool
	dropped             bool
	body                field // the event
	interned, defaults  []byte
	snapshot, described []byte
}

// Fields of TracePacket.
const (
	packetFtrace, packetProcesses, packetSnapshot, packetTimestamp, packetSequence, packetEvent = 1, 2, 6, 8, 10, 11

	packetInterned, packetFlags, packetCleared, packetDropped, packetThread       = 12, 13, 41, 42, 44
	packetGPUCounter, packetStage, packetClock, packetDefaults, packetDescription = 52, 53, 58, 59, 60
)

// others are packets that hold events and are not used.
var others = map[int]string{
	packetFtrace: "ftrace events", packetGPUCounter: "counters of GPUs", 9: "statistics of processes", 7: "statistics of the system", 5: "events of Chrome", 39: "log of Android",
	54: "samples of stacks", 66: "samples of processors", 65: "events of Vulkan",
}

// packet takes one packet.
func (b *book) packet(data []byte) error {
	var h head
	for len(data) > 0 {
		f, rest, ok := next(data)
		if !ok {
			return errDamaged
		}
		data = rest
		switch f.num {
		case packetTimestamp:
			h.at, h.timed = f.v, true
		case packetSequence:
			h.sequence = uint32(f.v)
		case packetClock:
			h.clock = uint32(f.v)
		case packetInterned:
			h.interned = f.b
		case packetFlags:
			h.cleared = h.cleared || f.v&1 != 0
		case packetCleared:
			h.cleared = h.cleared || f.v != 0
		case packetDropped:
			h.dropped = f.v != 0
		case packetDefaults:
			h.defaults = f.b
		case packetSnapshot:
			h.snapshot = f.b
		case packetDescription:
			h.described = f.b
		case packetEvent, packetStage, packetProcesses, packetThread:
			h.body = f
		default:
			if what := others[int(f.num)]; what != "" {
				b.unused[what]++
			}
		}
	}
	s, err := b.sequenceOf(h.sequence)
	if err != nil {
		return err
	}
	return b.of(&h, s)
}

// of takes what stood in a packet, in the order in which it holds.
func (b *book) of(h *head, s *sequence) error {
	if h.cleared {
		s.clear()
	} else if h.dropped {
		b.lost.dropped++
	}
	if h.defaults != nil {
		if err := s.defaults(h.defaults); err != nil {
			return err
		}
	}
	if h.snapshot != nil {
		if err := b.clocks.snapshot(h.snapshot, h.sequence); err != nil {
			return err
		}
	}
	if h.interned != nil {
		if err := b.intern(s, h.interned); err != nil {
			return err
		}
	}
	if h.described != nil {
		if err := b.describe(h.described); err != nil {
			return err
		}
	}
	switch h.body.num {
	case packetProcesses:
		return b.processes(h.body.b)
	case packetThread:
		var name string
		s.pid, s.tid, name = b.threadOf(h.body.b, "")
		if s.thread = true; name != "" {
			b.threads[[2]int64{s.pid, s.tid}] = name
		}
		return nil
	case packetEvent, packetStage:
		ns, ok := b.time(h, s)
		if b.looking != nil {
			return b.looking.at(h.body, s, ns, ok)
		}
		if h.body.num == packetEvent {
			return b.event(h.body.b, s, ns, ok)
		}
		return b.stage(h.body.b, s, ns, ok)
	}
	return nil
}

// time puts a packet on the clock of the trace.
func (b *book) time(h *head, s *sequence) (ns int64, ok bool) {
	if !h.timed {
		return 0, false
	}
	id := h.clock
	if id == 0 {
		id = s.clock
	}
	return b.clocks.time(h.sequence, id, h.at)
}

// defaults takes TracePacketDefaults.
func (s *sequence) defaults(data []byte) error {
	return each(data, func(f field) {
		switch f.num {
		case packetClock:
			s.clock = uint32(f.v)
		case packetEvent:
			_ = each(f.b, func(g field) {
				if g.num == 11 {
					s.track = g.v
				}
			})
		}
	})
}
