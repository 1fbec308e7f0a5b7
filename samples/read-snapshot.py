#!/usr/bin/env python3
"""Verifies the manifest of a backup and the archives that it needs, written from docs/formats.md alone.

usage: read-snapshot.py MANIFEST        0: whole, 4: damaged, or an archive is missing
"""
import collections, hashlib, json, os, sys
def expect(condition, what):
    if not condition:
        raise ValueError(what)

def read(manifest):
    """The first line, the rows, the total of each source, what each archive has, and the last line."""
    data = open(manifest, "rb").read()
    expect(data.endswith(b"}\n"), "the last line is cut")
    last = data.rfind(b"\n", 0, -1) + 1
    head, *lines, end = (json.loads(line) for line in data.splitlines())
    expect(head["type"] == "snapshot" and head["schema"] == 1 and end["type"] == "end", "it is no manifest")
    expect(hashlib.sha256(data[:last]).hexdigest() == end["manifest_sha256"], "the SHA-256 is another one")
    expect(data[end["footer"] - 1:end["footer"]] == b"\n", "the lines behind the rows begin elsewhere")
    by_type = collections.defaultdict(list)
    for line in lines:
        by_type[line["type"] if line["type"] in ("source", "total", "needs") else "row"].append(line)
    return head, by_type["row"], by_type["total"], by_type["needs"], end

def main(manifest):
    head, rows, totals, needs, end = read(manifest)
    files, size = collections.Counter(), collections.Counter()
    for row in rows:
        files[row["archive"]] += row["type"] != "directory"
        # A further name of a file has no bytes of its own.
        size[row["archive"]] += 0 if "first_name" in row or "first_name_b64" in row else row["size"]
    expect(len(rows) == end["rows"] and sum(files.values()) == end["files"], "rows are missing")
    expect(sum(size.values()) == end["bytes"] and sum(total["files"] for total in totals) == end["files"], "counts differ")
    expect({need["archive"]: (need["files"], need["bytes"]) for need in needs} ==
           {archive: (files[archive], size[archive]) for archive in files}, "the archives hold something else")
    folder = os.path.dirname(manifest) or "."
    for archive in files.keys() | {head["id"]} if end["archive_size"] else files:
        path = os.path.join(folder, f"{head['set']}-{archive}.tar.zst")
        expect(os.path.exists(path), f"{path} is missing")
        expect(archive != head["id"] or os.path.getsize(path) == end["archive_size"], f"{path} has another size")
    print(f"{head['id']}: {end['files']} files, {end['bytes']} bytes in {len(needs)} archives")

try:
    main(sys.argv[1])
except (ValueError, KeyError, OSError) as error:
    sys.exit(print(f"{sys.argv[1]}: {error}", file=sys.stderr) or 4)
