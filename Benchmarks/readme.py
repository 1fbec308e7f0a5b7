#!/usr/bin/env python3
"""Copies the ratios of results/results.md into the table of the README.

usage: Benchmarks/readme.py [--check]      --check changes no file, and ends with 1 when the table differs
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE / "results" / "results.md"
README = HERE.parent / "README.md"
# One job of each purpose, chosen before they were measured; results.md has all jobs.
SHOWN = [
    "SHA-256 of many small files",
    "tree to .zst",
    "archive .tar.zst, with digests and an index",
    "copy of a tree, synced",
    "first backup",
]
START, END = "<!-- ratios -->\n", "<!-- end -->\n"


def table(results: str) -> str:
    lines = ["| work | batchproc, s | the best other tool | s | ratio |", "|---|--:|---|--:|--:|"]
    for section in results.split("\n## ")[1:]:
        verdict = re.search(r"^Against the best peer, (.*): \*\*([0-9.]+)\*\*", section, re.M)
        if not verdict or section.splitlines()[0] not in SHOWN:
            continue
        peer, ratio = verdict.groups()
        rows = section.replace("\\|", "|").splitlines()
        ours, theirs = (
            next(row.removeprefix(f"| {name} | ").split(" | ")[0] for row in rows if row.startswith(f"| {name} | "))
            for name in ("**batchproc**", peer))
        name = peer.replace("|", "\\|")
        lines.append(f"| {section.splitlines()[0]} | {ours} | `{name}` | {theirs} | **{ratio}** |")
    return "\n".join(lines) + "\n"


def main() -> None:
    readme = README.read_text()
    before, rest = readme.split(START)
    after = rest.split(END)[1]
    new = before + START + table(RESULTS.read_text()) + END + after
    if "--check" in sys.argv[1:]:
        sys.exit(0 if new == readme else "the table of README.md differs from results.md: run Benchmarks/readme.py")
    README.write_text(new)


if __name__ == "__main__":
    main()
