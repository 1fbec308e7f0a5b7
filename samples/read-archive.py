#!/usr/bin/env python3
"""Lists or verifies a tar.zst with a member index, written from docs/formats.md only; needs the program zstd.

usage: read-archive.py list|verify ARCHIVE        0: complete, 4: damaged, or without an index
"""
import hashlib, struct, subprocess, sys, zlib
def expect(condition, what):
    if not condition:
        raise ValueError(what)

def decode(frame):
    run = subprocess.run(["zstd", "-dcq"], input=frame, capture_output=True)
    return expect(run.returncode == 0, "a frame of zstd cannot be decoded") or run.stdout

def stored_index(data):
    """The bytes of the index, and the start of the tail that contains it."""
    expect(data[-4:] == b"\xb1\xea\x92\x8f", "there is no seek table")
    count, row = struct.unpack("<I", data[-9:-5])[0], 12 if data[-5] & 0x80 else 8
    start = len(data) - 17 - count * row
    expect(start >= 0 and data[start:start + 4] == b"\x5e\x2a\x4d\x18", "the seek table has no header")
    rows = [struct.unpack_from("<II", data, start + 8 + number * row) for number in range(count)]
    tail = place = sum(size for size, plain in rows if plain)
    index = b""
    for size in (size for size, plain in rows if not plain):
        magic, place = data[place:place + 4], place + size
        index += data[place - size + 14:place] if magic == b"\x5a\x2a\x4d\x18" else b""
    expect(place == start, "the frames do not cover the archive")
    return index, tail

def read_index(index, tail):
    """Frames as (offset, size, plain offset, plain size, CRC-32), and members."""
    pages_size, head_size = struct.unpack_from("<QQ", index, len(index) - 48)
    body, checks = index[:pages_size + head_size], index[pages_size + head_size:-48]
    expect(hashlib.sha256(body + index[-48:-32]).digest() == index[-32:], "the SHA-256 of the index is wrong")
    head = decode(body[pages_size:])
    expect(head[:8] == b"BPIDX004", "the head has an unknown version")
    frame_count, page_count = struct.unpack_from("<QQ", head, 24)
    frames = [struct.unpack_from("<QQQQI", head, 40 + number * 36) for number in range(frame_count)]
    expect(frames[0][0] == 0 and sum(frame[1] for frame in frames) == tail, "the frames do not end at the index")
    rows, place, members = 40 + frame_count * 36, 0, []
    expect(hashlib.sha256(checks).digest() == head[rows + page_count * 24:], "the SHA-256 of the checks is wrong")
    for number in range(page_count):
        size = struct.unpack_from("<Q", head, rows + number * 24)[0]
        members, place = members + read_page(decode(body[place:place + size])), place + size
    digests = checks[4 * len(members):]
    for number, member in enumerate(members):
        member["crc"], = struct.unpack_from("<I", checks, number * 4)
        if member["flags"] & 1:
            member["sha256"], digests = digests[:32], digests[32:]
    return frames, members

def read_page(page):
    place, columns, members = 4, [], []
    for kind in "IBBQqIIQI":
        layout = "<%d%s" % (struct.unpack_from("<I", page)[0], kind)
        columns, place = columns + [struct.unpack_from(layout, page, place)], place + struct.calcsize(layout)
    for length, kind, flags, size, mtime, _, frame, offset, headers in zip(*columns):
        path, place = page[place:place + length], place + length
        members.append(dict(path=path, kind=chr(kind), flags=flags, size=size, frame=frame, offset=offset, headers=headers))
    return members

def extents(headers, size):
    """The places of the data in a file: the whole file, or those in the map of a sparse file (GNU 1.0)."""
    place, is_sparse = 0, b" GNU.sparse.major=1\n" in headers
    while is_sparse and headers[place + 156:place + 157] == b"x":
        place += 512 + (int(headers[place + 124:place + 135], 8) + 511) // 512 * 512
    numbers = [int(line) for line in headers[place + 512:].rstrip(b"\0").split()] if is_sparse else [1, 0, size]
    return zip(numbers[1::2], numbers[2::2])

def verify_group(plain, members, is_last):
    place = 0
    for member, path in ((member, member["path"].decode(errors="replace")) for member in members):
        expect(member["offset"] == place, path + ": is not at the place in the index")
        headers = plain[place:place + member["headers"]]
        expect(zlib.crc32(headers) == member["crc"], path + ": the headers differ")
        place, end, digest = place + len(headers), 0, hashlib.sha256()
        for start, length in extents(headers, member["size"]) if member["kind"] == "0" else []:
            digest.update(bytes(start - end) + plain[place:place + length])
            place, end = place + length, start + length
        digest.update(bytes(member["size"] - end))
        expect(member.get("sha256") in (None, digest.digest()), path + ": the content differs")
        place = (place + 511) // 512 * 512
    rest = plain[place:]
    expect(not rest.strip(b"\0") and (len(rest) >= 1024 if is_last else not rest), "the group has a wrong end")

def main(action, name):
    data = open(name, "rb").read()
    frames, members = read_index(*stored_index(data))
    if action == "list":
        return sys.stdout.buffer.writelines(m["path"] + b"/\n"[m["kind"] != "5":] for m in members)
    starts = [m["frame"] for m in members if m["offset"] == 0] or [0]
    for start, end in zip(starts, starts[1:] + [len(frames)]):
        parts = [(data[offset:offset + size], crc) for offset, size, _, _, crc in frames[start:end]]
        expect(all(zlib.crc32(part) == crc for part, crc in parts), "a frame has a wrong CRC-32")
        verify_group(b"".join(decode(part) for part, _ in parts), [m for m in members if start <= m["frame"] < end], end == len(frames))

try:
    main(*sys.argv[1:])
except (struct.error, IndexError, ValueError) as error:
    sys.exit((print("read-archive:", error, file=sys.stderr), 4)[1])
