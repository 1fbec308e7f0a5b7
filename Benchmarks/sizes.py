#!/usr/bin/env python3
"""Measures the cost of a file in trees of 1,000, 30,000 and 1,000,000 files, and of a gigabyte in files of
1, 2 and 4 GB.

usage: Benchmarks/sizes.py [--binary PATH] [--work FOLDER] [--results FOLDER] [--only files,bytes]
                           [--jobs hash,...] [--divide N]

If time or memory for one file grows with the size of the tree, its line in the chart rises. The trees are in
memory, so that only the program is measured. The values are medians of three runs, or of one if it takes more
than 20 s. The results are added to a page with two charts.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

import charts
import report
import trees

HERE = pathlib.Path(__file__).resolve().parent
LONG = 20.0
RUNS = 3
FILES = (1_000, 30_000, 1_000_000)
GIGABYTES = (1, 2, 4)
FILES_OF_FOLDER = 500
JOBS = {
    "hash": ("", "{batchproc} hash -q {tree} >{out}/digests"),
    "archive": ("", "{batchproc} archive -q --no-fsync -o {out}/a.tar.zst -C {tree} ."),
    "verify": ("{batchproc} archive -q --no-fsync -o {kept}/a.tar.zst -C {tree} .", "{batchproc} verify -q {kept}/a.tar.zst"),
    "extract": ("{batchproc} archive -q --no-fsync -o {kept}/a.tar.zst -C {tree} .",
                "{batchproc} extract -q --no-fsync -C {out} {kept}/a.tar.zst"),
    "compress": ("", "{batchproc} compress -q --no-fsync --compress-all --format zst --output-dir {out} {tree}"),
    "decompress": ("{batchproc} compress -q --no-fsync --compress-all --format zst --output-dir {kept} {tree}",
                   "{batchproc} decompress -q --no-fsync --output-dir {out} {kept}"),
}


class Bench:
    def __init__(self, binary: str, work: pathlib.Path):
        self.work = work
        self.values = {name: work / name for name in ("out", "kept")} | {"batchproc": binary}

    def run(self, command: str, tree: pathlib.Path) -> tuple[float, float, float]:
        """Wall seconds, processor seconds and MiB."""
        with tempfile.NamedTemporaryFile("r") as taken:
            subprocess.run(
                ["time", "--quiet", "-f", "%e %U %S %M", "-o", taken.name, "sh", "-c", command.format(tree=tree, **self.values)],
                check=True, stdin=subprocess.DEVNULL, env=os.environ | {"XDG_STATE_HOME": str(self.work / "state")})
            wall, user, system, kibibytes = map(float, taken.read().split())
        return wall, user + system, kibibytes / 1024

    def measure(self, job: str, tree: pathlib.Path) -> tuple[float, float, float]:
        setup, command = JOBS[job]
        self.clear("out", "kept")
        if setup:
            self.run(setup, tree)
        runs = []
        while len(runs) < RUNS and (not runs or runs[0][0] < LONG):
            self.clear("out")
            runs.append(self.run(command, tree))
        self.clear("out", "kept")
        return statistics.median(run[0] for run in runs), statistics.median(run[1] for run in runs), max(run[2] for run in runs)

    def clear(self, *folders: str) -> None:
        for folder in folders:
            shutil.rmtree(self.work / folder, ignore_errors=True)
            (self.work / folder).mkdir(parents=True)


def files(path: pathlib.Path, count: int) -> None:
    """A tree of small files: 1 KB on average, with words that follow Zipf's law."""
    chance = trees.random.Random(count)
    text = trees.Filler(chance).text(1 << 20)
    for number in range(count):
        if number % FILES_OF_FOLDER == 0:
            folder = path / f"{number // FILES_OF_FOLDER // 100:03}" / f"{number // FILES_OF_FOLDER % 100:02}"
            folder.mkdir(parents=True)
        start = chance.randrange(len(text) - 2000)
        with open(f"{folder}/file{number:07}.txt", "wb", buffering=0) as file:
            file.write(text[start:start + chance.randint(1, 2000)])


def page(results: pathlib.Path, binary: str, work: pathlib.Path) -> None:
    measured = json.loads((results / "sizes.json").read_text())
    parts = ["# Cost by size", "",
             "What one file costs in trees of small files, and one gigabyte in one large file; a horizontal line is a cost",
             "that does not depend on the size. Trees in memory; made by `Benchmarks/sizes.py`.", "", *report.machine(binary, work), ""]
    for kind, axis, unit, factor in (("files", "files in the tree", "microseconds a file", 1e6), ("bytes", "GB in one file", "seconds a GB", 1.0)):
        rows = {job: sorted((int(size), *cost) for size, cost in sizes.items()) for job, sizes in measured.get(kind, {}).items()}
        if not rows:
            continue
        curves = {job: [(row[0], row[1] / row[0] * factor) for row in found] for job, found in rows.items()}
        (results / f"sizes-{kind}.svg").write_text(charts.lines(f"{unit[0].upper() + unit[1:]}, by size", unit, axis, curves))
        parts += [f"## {axis[0].upper() + axis[1:]}", "", f"![{kind}](sizes-{kind}.svg)", "", f"| job | {axis} | s | {unit} | CPU s | peak MiB |",
                  "|---|--:|--:|--:|--:|--:|"]
        parts += [f"| {job} | {size:,} | {wall:.2f} | {wall / size * factor:.3g} | {cpu:.2f} | {mebibytes:.0f} |"
                  for job, found in rows.items() for size, wall, cpu, mebibytes in found]
        parts.append("")
    (results / "sizes.md").write_text("\n".join(parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=".build/release/batchproc")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/dev/shm/batchproc-sizes"))
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results")
    parser.add_argument("--only", default="files,bytes")
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--sizes", help="only these sizes, such as 1000,30000")
    parser.add_argument("--divide", type=int, default=1, help="divides the sizes, for tests")
    options = parser.parse_args()
    binary = str(pathlib.Path(options.binary).resolve())
    bench = Bench(binary, options.work)
    kept = options.results / "sizes.json"
    measured = json.loads(kept.read_text()) if kept.exists() else {}
    try:
        for kind in options.only.split(","):
            wanted = FILES if kind == "files" else GIGABYTES
            for size in map(int, options.sizes.split(",")) if options.sizes else wanted:
                tree = options.work / f"{kind}{size}"
                tree.mkdir(parents=True)
                if kind == "files":
                    files(tree, max(1, size // options.divide))
                else:
                    trees.Filler(trees.random.Random(size)).write(str(tree / "large"), size * 10**9 // options.divide, alternate=True)
                for job in options.jobs.split(","):
                    measured.setdefault(kind, {}).setdefault(job, {}).pop(str(size), None)
                    try:
                        cost = bench.measure(job, tree)
                        print(f"{kind} {size:,} {job}: {cost[0]:.2f} s, {cost[1]:.2f} s of CPU, {cost[2]:.0f} MiB", flush=True)
                        measured[kind][job][str(size)] = cost
                    except subprocess.CalledProcessError as error:
                        # A tree of a million files, its outputs and the outputs of these are more inodes than most tmpfs have.
                        print(f"{kind} {size:,} {job}: not measured: {error}", flush=True)
                    options.results.mkdir(parents=True, exist_ok=True)
                    kept.write_text(json.dumps(measured, indent=1) + "\n")
                shutil.rmtree(tree)
    finally:
        shutil.rmtree(options.work)
    page(options.results, binary, options.work.parent)


if __name__ == "__main__":
    main()
