package operation

// move passes instants through a map; those that were not recorded stay.
func move(to func(int64) int64, all ...*int64) {
	for _, at := range all {
		if *at != 0 {
			*at = to(*at)
		}
	}
}

// Shift passes every instant of a proxy operation through a map, but for those of its steps.
func (p *ProxyOp) Shift(to func(int64) int64) {
	move(to, &p.StartNS, &p.ProgressNS, &p.StopNS, &p.FirstNS, &p.SentNS, &p.CameNS, &p.HandedNS, &p.LastNS)
}

// Shift passes every instant of a step through a map.
func (s *Step) Shift(to func(int64) int64) {
	move(to, &s.StartNS, &s.StageNS, &s.StopNS)
	for k := range s.Entered {
		move(to, &s.Entered[k])
	}
}

// Shift passes every instant of the clock of the host through a map. Instants of GPUs that were not fitted stay.
func (r *Recording) Shift(to func(int64) int64) {
	move(to, &r.StartedNS, &r.FirstNS, &r.LastNS, &r.Loss.LostFromNS, &r.Loss.LostToNS, &r.Control.FirstNS, &r.Control.LastNS)
	for i := range r.Masks {
		move(to, &r.Masks[i].FromNS)
	}
	for i := range r.Members {
		move(to, &r.Members[i].InitNS, &r.Members[i].FinalizedNS)
	}
	for i := range r.Groups {
		move(to, &r.Groups[i].StartNS, &r.Groups[i].EnqueuedNS, &r.Groups[i].StopNS)
	}
	for i := range r.APIs {
		move(to, &r.APIs[i].StartNS, &r.APIs[i].StopNS)
	}
	for i := range r.Launch {
		move(to, &r.Launch[i].StartNS, &r.Launch[i].StopNS)
	}
	for i := range r.Ops {
		move(to, &r.Ops[i].StartNS, &r.Ops[i].StopNS)
	}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		move(to, &k.CallStartNS, &k.CallStopNS, &k.StartNS, &k.StopNS)
	}
	for i := range r.Proxies {
		r.Proxies[i].Shift(to)
	}
	for i := range r.Steps {
		r.Steps[i].Shift(to)
	}
}
