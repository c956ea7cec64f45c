package operation

// Shift passes every instant of the clock of the host through a map. Instants of GPUs that were not fitted stay.
func (r *Recording) Shift(to func(int64) int64) {
	move := func(all ...*int64) {
		for _, at := range all {
			if *at != 0 {
				*at = to(*at)
			}
		}
	}
	move(&r.StartedNS, &r.FirstNS, &r.LastNS, &r.Loss.LostFromNS, &r.Loss.LostToNS, &r.Control.FirstNS, &r.Control.LastNS)
	for i := range r.Masks {
		move(&r.Masks[i].FromNS)
	}
	for i := range r.Members {
		move(&r.Members[i].InitNS, &r.Members[i].FinalizedNS)
	}
	for i := range r.Groups {
		move(&r.Groups[i].StartNS, &r.Groups[i].EnqueuedNS, &r.Groups[i].StopNS)
	}
	for i := range r.APIs {
		move(&r.APIs[i].StartNS, &r.APIs[i].StopNS)
	}
	for i := range r.Launch {
		move(&r.Launch[i].StartNS, &r.Launch[i].StopNS)
	}
	for i := range r.Ops {
		move(&r.Ops[i].StartNS, &r.Ops[i].StopNS)
	}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		move(&k.CallStartNS, &k.CallStopNS, &k.StartNS, &k.StopNS)
	}
	for i := range r.Proxies {
		p := &r.Proxies[i]
		move(&p.StartNS, &p.ProgressNS, &p.StopNS, &p.FirstNS, &p.SentNS, &p.CameNS, &p.HandedNS, &p.LastNS)
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		move(&s.StartNS, &s.StageNS, &s.StopNS)
		for k := range s.Entered {
			move(&s.Entered[k])
		}
	}
}
