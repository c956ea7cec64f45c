"""Digests of what memory holds, as docs/formats/prlx-v2.md has them: written down again, for tests."""


def digest(array):
    """The contents digest of docs/formats/prlx-v2.md."""
    data, total, words = array.tobytes(), 0, (1 << 64) - 1
    for at in range(0, len(data), 8):
        piece = data[at : at + 8]
        x = at * 0x9E3779B185EBCA87 + int.from_bytes(piece, "little") * 0xC2B2AE3D27D4EB4F
        x = (x + ((1 << len(piece)) - 1) * 0x85EBCA77C2B2AE63) & words
        x = ((x ^ x >> 32) * 0x165667B19E3779F9) & words
        total += x ^ x >> 29
    return f"0x{total & words:016x}"
