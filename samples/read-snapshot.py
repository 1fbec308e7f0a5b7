#!/usr/bin/env python3
"""Verifies the manifest of a backup and the archives that it needs, written from docs/formats.md only.

usage: read-snapshot.py MANIFEST        0: complete, 4: damaged, or an archive is missing
"""
import base64, collections, hashlib, json, os, re, subprocess, sys
def expect(condition, what):
    if not condition:
        raise ValueError(what)

def check(line, *numbers, **texts):
    """Checks that a line is an object with these numbers, and with texts that match these patterns."""
    expect(isinstance(line, dict), "a line is not an object")
    expect(all(type(line[key]) is int and 0 <= line[key] < 2 ** 64 for key in numbers), "a number is malformed")
    expect(all(isinstance(line[key], str) and re.fullmatch(form, line[key]) for key, form in texts.items()), "a text is malformed")
    return line

def name(line, key):
    """The bytes of a name, which is in base64 if it is not UTF-8; None if the line has no such name."""
    return base64.b64decode(line[key + "_b64"]) if key + "_b64" in line else line[key].encode() if key in line else None

STAMP, DIGEST = r"\d{8}T\d{6}Z", "[0-9a-f]{64}"

def read(manifest):
    """The first line, the rows, the totals of the sources, the needed archives, and the last line."""
    # Passes on what is not compressed: a manifest of schema 1.
    data = subprocess.run(["zstd", "-dcfq", "--", manifest], stdout=subprocess.PIPE).stdout
    expect(data.endswith(b"}\n"), "the last line is cut")
    last = data.rfind(b"\n", 0, -1) + 1
    head, *lines, end = (check(json.loads(line), type="[a-z_]+") for line in data.splitlines())
    expect(head["type"] == "snapshot" and head["schema"] in (1, 2) and end["type"] == "end", "it is not a manifest")
    check(head, set="[^/\0]+", id=STAMP)
    expect(re.sub("[.]zst$", "", os.path.basename(manifest)) == f"{head['set']}-{head['id']}.manifest", "its name belongs to another snapshot")
    check(end, "rows", "files", "bytes", "archive_size", "footer", manifest_sha256=DIGEST)
    expect(hashlib.sha256(data[:last]).hexdigest() == end["manifest_sha256"], "the SHA-256 is wrong")
    expect(data[end["footer"] - 1:end["footer"]] == b"\n", "the place of the footer is wrong")
    by_type = collections.defaultdict(list)
    for line in lines:
        by_type[line["type"] if line["type"] in ("source", "total", "needs") else "row"].append(line)
    return head, by_type["row"], by_type["total"], by_type["needs"], end

def main(manifest):
    head, rows, totals, needs, end = read(manifest)
    files, size, groups = collections.Counter(), collections.Counter(), set()
    for row in rows:
        files[check(row, "size", archive=STAMP)["archive"]] += row["type"] != "directory"
        # A further name of a file has no separate bytes.
        is_further = "first_name" in row or "first_name_b64" in row or str(row.get("link_group")) in groups
        size[row["archive"]] += 0 if is_further else row["size"]
        groups.update([str(row["link_group"])] if "link_group" in row else [])
    expect(len(rows) == end["rows"] and sum(files.values()) == end["files"], "rows are missing")
    expect(sum(size.values()) == end["bytes"] and sum(check(total, "files")["files"] for total in totals) == end["files"], "counts differ")
    expect({check(need, "files", "bytes", archive=STAMP)["archive"]: (need["files"], need["bytes"]) for need in needs} ==
           {archive: (files[archive], size[archive]) for archive in files}, "the counts of the archives differ")
    sources = b"\0".join(name(total, "path") for total in totals)
    expect(name(head, "sources") in (None, sources), "the sources differ")
    expect(head.get("sources_sha256") in (None, hashlib.sha256(sources).hexdigest()), "the sources differ")
    folder = os.path.dirname(manifest) or "."
    for archive in files.keys() | {head["id"]} if end["archive_size"] else files:
        path = os.path.join(folder, f"{head['set']}-{archive}.tar.zst")
        expect(os.path.exists(path), f"{path} is missing")
        expect(archive != head["id"] or os.path.getsize(path) == end["archive_size"], f"{path} has a wrong size")
    print(f"{head['id']}: {end['files']} files, {end['bytes']} bytes in {len(needs)} archives")

try:
    main(sys.argv[1])
except (ValueError, KeyError, OSError, RecursionError) as error:
    sys.exit(print(f"{sys.argv[1]}: {type(error).__name__}: {error}", file=sys.stderr) or 4)
