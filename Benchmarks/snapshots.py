#!/usr/bin/env python3
"""Makes the manifests of a backup set without a backup, to measure `snapshots --find` over many snapshots.

usage: Benchmarks/snapshots.py DIRECTORY [SNAPSHOTS [FILES]]

Each manifest has the same files, of which one changes in each snapshot. There are no archives, since the
command reads only manifests. Then run, with the manifests in the page cache:

    /usr/bin/time -v batchproc snapshots DIRECTORY --find 'report-0*.odt'
"""

import hashlib
import json
import os
import sys
import time


def row(path, size, digest, stamp, second):
    return (f'{{"type":"file","path":"{path}","size":{size},"mtime":"{second}.123456789","ctime":"{second}.123456789","inode":{size + 1000},'
            f'"links":1,"mode":420,"uid":1000,"gid":1000,"sha256":"{digest}","archive":"{stamp}"}}\n').encode()


def main():
    folder = sys.argv[1]
    snapshots = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    files = int(sys.argv[3]) if len(sys.argv) > 3 else 50_000
    os.makedirs(folder, exist_ok=True)
    start = 1_760_000_000
    first = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(start))
    rows = []
    for number in range(files):
        path = f"home/anna/projects/group-{number // 500:04}/part-{number // 25 % 20:02}/report-{number:06}.odt"
        rows.append(row(path, number, hashlib.sha256(path.encode()).hexdigest(), first, start - number))
    rows.sort(key=lambda line: json.loads(line)["path"])
    body = b"".join(rows)
    lengths = [len(line) for line in rows]
    for number in range(snapshots):
        second = start + 86_400 * number
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(second))
        head = (f'{{"type":"snapshot","schema":1,"set":"bench","id":"{stamp}","sequence":{number + 1},"started":"{second}.000000000",'
                f'"full":{"true" if number == 0 else "false"},"increment":{number}}}\n'
                '{"type":"source","path":"/home/anna","file_system":"1","files":0}\n').encode()
        changed = number * 97 % files
        place = sum(lengths[:changed])
        old = rows[changed]
        path = json.loads(old)["path"]
        new = row(path, number + 7, hashlib.sha256(stamp.encode()).hexdigest(), stamp, second)
        content = head + body[:place] + new + body[place + len(old):]
        offset = len(content)
        content += (f'{{"type":"total","path":"/home/anna","file_system":"1","files":{files}}}\n'
                    f'{{"type":"needs","archive":"{first}","files":{files},"bytes":{files}}}\n').encode()
        content += (f'{{"type":"end","rows":{files},"files":{files},"bytes":{files},"archive_size":1,"linked":0,"verified":true,'
                    f'"selection":"","footer":{offset},"manifest_sha256":"{hashlib.sha256(content).hexdigest()}"}}\n').encode()
        with open(os.path.join(folder, f"bench-{stamp}.manifest"), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main()
