package warptrace

// leftovers is what a recording holds besides events: what the launch wrote. It goes from v2 to v2.
type leftovers struct {
	c      *conversion
	stores *Stores
	at     int // row of the next warp that was not given away
	alone  []uint64
}

func (c *conversion) newLeftovers() (*leftovers, error) {
	stores, err := c.from.Stores(c.context())
	return &leftovers{c: c, stores: stores}, err
}

// give hands a warp its rows. Warps come in ascending order; those in between that have no events wait.
func (l *leftovers) give(w *Warp) {
	w.Stores = w.Stores[:0]
	if l.stores == nil {
		return
	}
	for ; l.at < l.stores.Len() && l.stores.Warp[l.at] <= w.Warp; l.at++ {
		if l.stores.Warp[l.at] == w.Warp {
			w.Stores = append(w.Stores, l.stores.row(l.at))
		} else {
			l.wait()
		}
	}
}

// wait notes the warp of a row that has no events.
func (l *leftovers) wait() {
	if n := len(l.alone); n == 0 || l.alone[n-1] != l.stores.Warp[l.at] {
		l.alone = append(l.alone, l.stores.Warp[l.at])
	}
}

// row is one row as a sum; the high half of its hash is not known.
func (s *Stores) row(i int) StoreSum {
	return StoreSum{s.Site[i], s.Array[i], s.Count[i], uint64(s.Hash[i])}
}

// write appends what is left when all warps with events are written.
func (l *leftovers) write(w *V2Writer) error {
	if l.stores != nil {
		for ; l.at < l.stores.Len(); l.at++ {
			l.wait()
		}
	}
	for _, number := range l.alone {
		warp := Warp{WarpInfo: WarpInfo{Warp: number}}
		for i, to := l.stores.ofWarp(number); i < to; i++ {
			warp.Stores = append(warp.Stores, l.stores.row(i))
		}
		if err := w.Append(&warp); err != nil {
			return err
		}
	}
	o, err := l.c.from.Outputs(l.c.context())
	if err != nil || o == nil {
		return err
	}
	if err := w.SetOutputs(o); err != nil {
		return err
	}
	return l.c.from.Contents(l.c.context(), w.AddContents)
}

// listOutputLosses counts what v1 has no place for.
func (c *conversion) listOutputLosses() error {
	texts, err := c.from.Texts(c.context())
	if err != nil {
		return err
	}
	if texts != nil {
		c.report.lose("texts of functions of the kernel", int64(len(texts.Functions)))
		c.report.lose("constants that the kernel was compiled for", int64(len(texts.Constants)))
	}
	stores, err := c.from.Stores(c.context())
	if err != nil {
		return err
	}
	if stores != nil {
		c.report.lose("sums of what warps stored", int64(stores.Len()))
	}
	o, err := c.from.Outputs(c.context())
	if err != nil || o == nil {
		return err
	}
	c.report.lose("digests of arrays that the launch wrote", int64(len(o.Arrays)))
	c.report.lose("digests of what memory held after the launch", int64(len(o.Held)))
	c.report.lose("findings of the simulator", int64(len(o.Findings)))
	c.report.lose("bytes of contents that were kept", int64(o.Coverage.ContentBytes))
	return nil
}
