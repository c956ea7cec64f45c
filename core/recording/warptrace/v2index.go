package warptrace

import (
	"context"
	"encoding/binary"

	"github.com/prlx-go/prlx/core/fault"
)

// v2List is where the sites and warps blocks of a file are, with the directories of the latter.
type v2List struct {
	blocks      []v2Block
	directories [][]byte  // of each block; nil of sites
	totals      v2Totals  // of the end
	end         int64     // of the last of the blocks: where more can be written
	extras      []v2Block // of stores, outputs, chunks and contents
	texts       *v2Block  // the text of the kernel; nil: none
}

func (l *v2List) add(b v2Block, directory []byte) {
	l.blocks, l.directories = append(l.blocks, b), append(l.directories, directory)
	l.end = max(l.end, b.offset+v2HeadBytes+int64(b.head.stored))
}

// addExtra adds a block that the end lists. More can be written behind stores; what belongs to a launch that is over is written anew.
func (l *v2List) addExtra(b v2Block) {
	l.extras = append(l.extras, b)
	if b.head.kind == v2Stores {
		l.end = max(l.end, b.offset+v2HeadBytes+int64(b.head.stored))
	}
}

func isExtra(kind uint8) bool { return kind >= v2Stores && kind <= v2Contents }

// readExtras finds the blocks that the end lists.
func (v *v2) readExtras(list *v2List, offsets []uint64, endAt int64) error {
	last := int64(v2Preamble)
	for _, offset := range offsets {
		if offset < uint64(last) || offset > uint64(endAt) {
			return v.corrupt(endAt, "the end of the file is corrupt: it lists blocks in no order")
		}
		head, ok, err := v.headAt(int64(offset), endAt)
		if err != nil {
			return err
		}
		if !ok || !isExtra(head.kind) {
			return v.corrupt(int64(offset), "the block that the end of the file lists is corrupt")
		}
		if lie := head.lie(); lie != "" {
			return fault.New(fault.Limit, "a block cannot be what it says: %s", lie).WithPath(v.in.Path())
		}
		list.addExtra(v2Block{int64(offset), head})
		last = int64(offset) + v2HeadBytes + int64(head.stored)
	}
	return nil
}

// readIndex lists the blocks by the trailer and the index. It returns nil when they are not there or not whole.
func (v *v2) readIndex() (*v2List, error) {
	size := v.in.Size()
	if size < v2Preamble+v2Trailer {
		return nil, nil
	}
	b := make([]byte, v2Trailer)
	if err := v.readAt(b, size-v2Trailer); err != nil {
		return nil, err
	}
	indexAt, endAt, ok := parseV2Trailer(b)
	if !ok {
		return nil, nil
	}
	index, ok, err := v.headAt(indexAt, size-v2Trailer)
	if err != nil || !ok || index.kind != v2Index || index.lie() != "" {
		return nil, err
	}
	end, ok, err := v.headAt(endAt, size-v2Trailer)
	if err != nil || !ok || end.kind != v2End || end.lie() != "" {
		return nil, err
	}
	payload := make([]byte, index.stored)
	if err := v.readAt(payload, indexAt+v2HeadBytes); err != nil {
		return nil, err
	}
	if checksum(payload) != index.payCRC || uint64(len(payload)) != uint64(index.count)*v2EntryBytes+uint64(index.directory) {
		return nil, nil
	}
	_, body, err := v.payload(v2Block{endAt, end}, &v2Memory{})
	if err != nil {
		return nil, nil // an end that is not whole is as none: the file is scanned
	}
	totals, err := decodeTotals(body)
	if err != nil {
		return nil, v.corrupt(endAt, "the end of the file is corrupt: %v", err)
	}
	list, err := v.parseIndex(payload, index, indexAt)
	if err != nil {
		return nil, err
	}
	list.totals = totals
	if err := v.readTexts(list, totals.texts, endAt); err != nil {
		return nil, err
	}
	return list, v.readExtras(list, totals.offsets, endAt)
}

// parseIndex reads the payload of an index whose checksum fits: what is wrong in it was written so.
func (v *v2) parseIndex(payload []byte, index v2Head, indexAt int64) (*v2List, error) {
	list := &v2List{end: v2Preamble}
	entries := payload[:index.count*v2EntryBytes]
	directories := payload[len(entries):]
	if header, ok, err := v.headAt(v2Preamble, indexAt); err != nil {
		return nil, err
	} else if ok {
		list.end += v2HeadBytes + int64(header.stored)
	}
	for ; len(entries) > 0; entries = entries[v2EntryBytes:] {
		offset := binary.LittleEndian.Uint64(entries)
		head, ok := parseV2Head(entries[8:v2EntryBytes])
		if !ok || (head.kind != v2Sites && !holdsWarps(head.kind)) || offset < uint64(list.end) || offset > uint64(indexAt) {
			return nil, v.corrupt(indexAt, "the index is corrupt: it lists no block, or blocks in no order")
		}
		b := v2Block{int64(offset), head}
		if b.offset+v2HeadBytes+int64(head.stored) > indexAt || int(head.directory) > len(directories) {
			return nil, v.corrupt(indexAt, "the index is corrupt: a block that it lists does not fit")
		}
		if lie := head.lie(); lie != "" {
			return nil, fault.New(fault.Limit, "a block cannot be what the index says: %s", lie).WithPath(v.in.Path())
		}
		list.add(b, directories[:head.directory:head.directory])
		directories = directories[head.directory:]
	}
	if len(directories) > 0 {
		return nil, v.corrupt(indexAt, "the index is corrupt: it has more directories than blocks")
	}
	return list, nil
}

// scan lists the blocks from the front, up to the first that is not whole.
func (v *v2) scan(ctx context.Context) (*v2List, error) {
	list := &v2List{}
	for off := int64(v2Preamble); ; {
		head, ok, err := v.headAt(off, v.in.Size())
		if err != nil || !ok {
			return list, err
		}
		sum, err := v.crcOf(ctx, off+v2HeadBytes, int64(head.stored))
		if err != nil || sum != head.payCRC {
			return list, err
		}
		b := v2Block{off, head}
		off += v2HeadBytes + int64(head.stored)
		switch head.kind {
		case v2Header:
			list.end = max(list.end, off)
		case v2Sites, v2Warps, v2PathsKind, v2OperandsKind:
			if lie := head.lie(); lie != "" {
				return nil, fault.New(fault.Limit, "the block at byte %d cannot be what it says: %s", b.offset, lie).WithPath(v.in.Path())
			}
			if len(list.blocks) >= v2MaxBlocks {
				return nil, fault.New(fault.Limit, "the recording has more than %d blocks", v2MaxBlocks).WithPath(v.in.Path())
			}
			directory := make([]byte, head.directory)
			if err := v.readAt(directory, b.offset+v2HeadBytes); err != nil {
				return nil, err
			}
			list.add(b, directory)
		case v2TextsKind:
			if lie := head.lie(); lie != "" {
				return nil, fault.New(fault.Limit, "the block at byte %d cannot be what it says: %s", b.offset, lie).WithPath(v.in.Path())
			}
			list.setTexts(b)
		case v2Stores, v2Outputs, v2Chunks, v2Contents:
			if lie := head.lie(); lie != "" {
				return nil, fault.New(fault.Limit, "the block at byte %d cannot be what it says: %s", b.offset, lie).WithPath(v.in.Path())
			}
			if len(list.extras) >= v2MaxExtras {
				return nil, fault.New(fault.Limit, "the recording has more than %d blocks of what was written", v2MaxExtras).WithPath(v.in.Path())
			}
			list.addExtra(b)
		}
	}
}
