package warptrace

import (
	"encoding/binary"
	"hash/crc32"
)

// The layout of format v2 (docs/formats/prlx-v2.md).
const (
	v2Magic         = "\x89PRLX2\n\x1a"
	v2MagicEnd      = "\x1a\n2XLRP\x89"
	v2BlockMagic    = "P2BK"
	v2Major         = 2  // of files whose events are in warps blocks
	v2MajorPaths    = 3  // of files with paths blocks
	v2MajorOperands = 4  // of files with blocks of paths with operands
	v2Preamble      = 16 // bytes
	v2HeadBytes     = 32
	v2EntryBytes    = 40 // of an index: offset and head
	v2Trailer       = 32

	v2Header       = 1 // kinds of blocks
	v2Sites        = 2
	v2Warps        = 3
	v2Index        = 4
	v2End          = 5
	v2Stores       = 6
	v2Outputs      = 7
	v2Chunks       = 8
	v2Contents     = 9
	v2PathsKind    = 10
	v2OperandsKind = 11 // paths, and operands by column
	v2TextsKind    = 12 // the text of the kernel
	v2Zstd         = 1  // flag: the body is a zstd frame
	v2DirMasks     = 11
)

// The limits of format v2. They bound what a reader allocates.
const (
	v2MaxSmall      = 1 << 20   // inflated body of a header or end
	v2MaxSitesBody  = 64 << 20  // of all sites blocks together
	v2MaxWarpsBody  = 256 << 20 // of one warps block
	v2MaxIndex      = 1 << 30
	v2MaxRatio      = 1 << 15 // no zstd frame inflates to more times its size
	v2MaxSites      = 1 << 20
	v2MaxFrames     = 1 << 21 // frames and operands of all sites
	v2MaxNesting    = 16
	v2MaxNames      = 1 << 18 // that are shared between sites
	v2MaxBlockWarps = 1 << 16
	v2MaxBlocks     = 1 << 22
	v2MaxEvents     = 1 << 22 // of one warp
	v2MaxHistory    = 1 << 20
	v2MaxSnapshots  = 1 << 16
	v2MaxBlockLanes = 1 << 23  // operands of the lanes of a block of paths with operands
	v2MaxOutputs    = 64 << 20 // inflated body of the outputs block
	v2MaxRows       = 1 << 24  // of stores, of the whole file
	v2MaxBlockRows  = 1 << 16  // of a stores or chunks block, and chunks of a contents block
	v2MaxRowsBody   = 2 << 20  // inflated body of a stores or chunks block
	v2MaxContents   = 16 << 20 // inflated body of a contents block
	v2MaxExtras     = 1 << 16  // blocks of stores, outputs, chunks and contents
	v2MaxTexts      = 16 << 20 // inflated body of the texts block

	v2BlockRows     = 1 << 13 // a writer ends a stores or chunks block here: zstd takes 128 KiB without a history
	v2BlockContents = 1 << 20 // likewise a contents block
	v2BlockEvents   = 1 << 16 // a writer ends a block here
	v2BlockBytes    = 4 << 20
	v2BlockLanes    = 1 << 21 // operands of lanes: a writer ends a block here
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// v2Head is the head of a block.
type v2Head struct {
	kind, flags                                uint8
	stored, inflated, count, directory, payCRC uint32
}

func (h v2Head) append(dst []byte) []byte {
	at := len(dst)
	dst = append(dst, v2BlockMagic...)
	dst = append(dst, h.kind, h.flags, 0, 0)
	for _, n := range [...]uint32{h.stored, h.inflated, h.count, h.directory, h.payCRC} {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	return binary.LittleEndian.AppendUint32(dst, checksum(dst[at:]))
}

// parseV2Head reads the head of a block; ok is false where there is none.
func parseV2Head(b []byte) (h v2Head, ok bool) {
	if len(b) < v2HeadBytes || string(b[:4]) != v2BlockMagic || b[6] != 0 || b[7] != 0 {
		return h, false
	}
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
	h = v2Head{kind: b[4], flags: b[5], stored: u32(8), inflated: u32(12), count: u32(16), directory: u32(20), payCRC: u32(24)}
	return h, u32(28) == checksum(b[:28]) && h.directory <= h.stored
}

// holdsWarps reports whether blocks of a kind hold events.
func holdsWarps(kind uint8) bool { return kind == v2Warps || hasPaths(kind) }

// hasPaths reports whether blocks of a kind hold events as paths.
func hasPaths(kind uint8) bool { return kind == v2PathsKind || kind == v2OperandsKind }

// lie says what is wrong with the lengths of a head, "" when nothing is. What it lets pass may be allocated.
func (h v2Head) lie() string {
	limit, count := uint32(v2MaxSmall), uint32(1)
	body := h.stored - h.directory
	switch h.kind {
	case v2Sites:
		limit, count = v2MaxSitesBody, v2MaxSites
	case v2Warps:
		limit, count = v2MaxWarpsBody, v2MaxBlockWarps
		if h.directory > v2MaxBlockWarps*80 || uint64(h.directory) < v2DirMasks+16*uint64(h.count) {
			return "the length of its directory does not fit its warps"
		}
	case v2PathsKind, v2OperandsKind:
		limit, count = v2MaxWarpsBody, v2MaxBlockWarps
		if h.directory > v2MaxBlockWarps*96 || h.directory <= pathDirSizes {
			return "the length of its directory does not fit its warps"
		}
	case v2Index:
		limit, count = v2MaxIndex, v2MaxBlocks
	case v2Outputs:
		limit = v2MaxOutputs
	case v2TextsKind:
		limit = v2MaxTexts
	case v2Stores, v2Chunks:
		limit, count = v2MaxRowsBody, v2MaxBlockRows
	case v2Contents:
		limit, count = v2MaxContents, v2MaxBlockRows
	}
	switch {
	case h.inflated > limit:
		return "its body is larger than any may be"
	case h.count > count:
		return "it counts more than any block may hold"
	case !holdsWarps(h.kind) && h.kind != v2Index && h.directory != 0:
		return "it has a directory"
	case h.flags&^v2Zstd != 0:
		return "it has flags that are not known"
	case h.kind == v2Index && h.stored != h.inflated, h.flags&v2Zstd == 0 && h.kind != v2Index && body != h.inflated:
		return "the length of its body is not what it says"
	case h.flags&v2Zstd != 0 && (body >= h.inflated || uint64(h.inflated) > uint64(body)*v2MaxRatio+128<<10):
		return "no body of its length inflates to what it says"
	}
	return ""
}

func appendV2Preamble(dst []byte, major uint16) []byte {
	at := len(dst)
	dst = append(dst, v2Magic...)
	dst = binary.LittleEndian.AppendUint16(dst, major)
	dst = binary.LittleEndian.AppendUint16(dst, 0)
	return binary.LittleEndian.AppendUint32(dst, checksum(dst[at:]))
}

func appendV2Trailer(dst []byte, index, end int64) []byte {
	at := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(index))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(end))
	dst = append(dst, v2MagicEnd...)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	return binary.LittleEndian.AppendUint32(dst, checksum(dst[at:]))
}

// parseV2Trailer returns the offsets of index and end; ok is false where there is no trailer.
func parseV2Trailer(b []byte) (index, end int64, ok bool) {
	if len(b) != v2Trailer || string(b[16:24]) != v2MagicEnd || binary.LittleEndian.Uint32(b[28:]) != checksum(b[:28]) {
		return 0, 0, false
	}
	index, end = int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint64(b[8:]))
	return index, end, index >= v2Preamble && end >= v2Preamble
}

func isV2(head []byte) bool {
	return len(head) >= len(v2Magic) && string(head[:len(v2Magic)]) == v2Magic
}

// fullWave has a bit for each lane of a wave.
func fullWave(lanes int) uint64 {
	if lanes >= 64 {
		return ^uint64(0)
	}
	return 1<<lanes - 1
}
