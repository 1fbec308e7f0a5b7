#!/usr/bin/env python3
"""Measures batchproc and other tools in turns, and writes results/results.md with charts.

Then it measures what is not a table of one command: ten nights of a backup set, a disk whose content is not cached, and the cost
by the number of files. Each of them writes a page of its own.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import readme
import report
import trees
from jobs import JOBS, SWEEPS
from runner import Timing, race, shell

HERE = pathlib.Path(__file__).resolve().parent


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=HERE.parent / ".build/release/batchproc", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, help="the folder in which the trees are made and kept")
    parser.add_argument("--disk", type=pathlib.Path, default=pathlib.Path("/var/tmp/batchproc-bench"),
                        help="the folder in which the jobs that measure a disk write")
    parser.add_argument("--results", type=pathlib.Path, help="the folder for the page and the charts")
    parser.add_argument("--quick", action="store_true",
                        help="small trees and few runs; for tests, not for publication")
    parser.add_argument("--only", metavar="WORDS", action="append",
                        help="only the jobs and sweeps whose title contains these words; may be repeated")
    parser.add_argument("--tables", action="store_true", help="only the tables of results.md")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="seconds for each table (default 90, quick 6)")
    return parser.parse_args()


def pages(binary: pathlib.Path, results: pathlib.Path, quick: bool) -> bool:
    """Measures the other pages; returns whether all of them succeeded."""
    scripts = {
        "growth.py": [str(binary), "--results", str(results / "nights.md"), "--scale", "0.02" if quick else "0.1"],
        "cold_disk.py": ["--binary", str(binary), "--runs", "1" if quick else "3", "--scale", "20" if quick else "1",
                         "--jobs", "hash,tar.zst,backup,mirror", "--numbers", "2,64", "--results", str(results / "cold.md")],
        "sizes.py": ["--binary", str(binary), "--divide", "100" if quick else "1", "--only", "files", "--results", str(results)],
    }
    succeeded = True
    for script, words in scripts.items():
        print(script, flush=True)
        succeeded = subprocess.run([sys.executable, HERE / script, *words], check=False).returncode == 0 and succeeded
    return succeeded


def remove_outputs(work: pathlib.Path, made: dict[str, trees.Tree]) -> None:
    """Removes what a job left in the folder; the trees stay."""
    kept = {name for tree in made for name in (tree, f"{tree}.made")}
    for entry in work.iterdir():
        if entry.name in kept:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def main() -> int:
    options = arguments()
    binary = options.binary.resolve()
    if not os.access(binary, os.X_OK):
        sys.exit(f"bench: no program at {binary}; run `make release` first")
    made = {name: tree.scaled(10) if options.quick else tree for name, tree in trees.TREES.items()}
    wanted = sum(tree.size for tree in made.values())
    work = (options.work or trees.place(wanted)) / ("quick" if options.quick else "full")
    results = options.results or HERE / "results" / ("quick" if options.quick else "")
    budget = options.budget or (6 if options.quick else 90)
    least = 1 if options.quick else 3
    # A folder for this run only, which is removed at its end.
    disk = options.disk / str(os.getpid())
    disk.mkdir(parents=True)
    values = {"batchproc": binary, "work": work, "disk": disk, "cores": len(os.sched_getaffinity(0)),
              "children": 1_000 if options.quick else 10_000}
    values |= {name: work / name for name in made}

    def chosen(title: str) -> bool:
        return options.only is None or any(words.lower() in title.lower() for words in options.only)

    jobs = [job for job in JOBS if chosen(job.title)]
    sweeps = [sweep for sweep in SWEEPS if chosen(sweep.title)]
    commands = [part for job in jobs for part in (job.ours, job.setup or "", *(peer.command for peer in job.peers))]
    commands += [sweep.command for sweep in sweeps]
    for name, tree in made.items():
        if any(f"{{{name}}}" in command for command in commands):
            trees.make(tree, work / name)
    work.mkdir(parents=True, exist_ok=True)
    machine = report.machine(str(binary), work)

    races = []
    for job in jobs:
        print(job.title, flush=True)
        if job.setup:
            shell(job.setup.format(**values))
        ours = Timing("batchproc", job.ours.format(**values))
        peers = [(peer, Timing(peer.name, peer.command.format(**values))) for peer in job.peers]
        timings = [ours, *(timing for _, timing in peers)]
        race(timings, budget, job.prepare.format(**values) if job.prepare else None, least)
        for timing in timings:
            print(f"  {timing.name:28} {timing.failure or f'{timing.median:.3f} s'}", flush=True)
        races.append((job, ours, peers))
        remove_outputs(work, made)
    curves = []
    for sweep in sweeps:
        print(f"{sweep.option}: {sweep.title}", flush=True)
        points = [(value, Timing(f"{sweep.option} {value}", sweep.command.format(value=value, **values)))
                  for value in sweep.values]
        race([timing for _, timing in points], budget, least=least)
        for _, timing in points:
            print(f"  {timing.name:28} {timing.failure or f'{timing.median:.3f} s'}", flush=True)
        curves.append((sweep, points))

    shutil.rmtree(disk)
    report.write(results, machine, races, curves, options.quick)
    print(f"written: {results / 'results.md'}")
    if results == HERE / "results" and options.only is None:
        readme.main()
    whole = options.only is None and not options.tables
    succeeded = not whole or pages(binary, results, options.quick)
    failed = [ours for _, ours, _ in races if ours.failure] + [
        timing for _, points in curves for _, timing in points if timing.failure]
    return 1 if failed or not succeeded else 0


if __name__ == "__main__":
    sys.exit(main())
