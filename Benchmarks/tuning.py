#!/usr/bin/env python3
"""Compares `-j auto` and `tune` with a sweep over fixed numbers, on trees in memory, where the processors
are the limit.

usage: Benchmarks/tuning.py [--binary PATH] [--work FOLDER] [--runs N] [--scale N]
       [--jobs hash,compress,archive] [--seconds S] [--most N]

Prints one row for each job. All numbers of the sweep and `auto` run in turns, N times each, and each round
begins with a different one. `auto` should take at most 1.03 times as long as the best fixed number. The
same holds for the number that `tune` recommends for hash, compress and archive, which it should find in
less than 60 s. Ratios are ratios of medians. The spread is that of the best number: the difference of its
slowest and fastest run, divided by its median. A ratio that differs from 1 by less than the spread is
noise.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import time

import trees

LIMIT = 1.03
LONGEST_TUNE = 60.0
JOBS = {
    "hash": ("small", "hash -q -j {j} {tree}"),
    "compress": ("quarter", "compress -q -j {j} --no-fsync --output-dir {out} {tree}"),
    "archive": ("small", "archive -q -j {j} --no-fsync -o {out}.tar.zst -C {tree} ."),
}


class Bench:
    def __init__(self, binary: str, work: pathlib.Path, scale: int):
        self.binary, self.work = binary, work
        small = trees.TREES["small"].scaled(scale)
        self.trees = {"small": work / "small", "quarter": work / "quarter"}
        work.mkdir(parents=True, exist_ok=True)
        trees.make(small, self.trees["small"])
        trees.make(small.scaled(4), self.trees["quarter"])
        self.out = work / "out"

    def seconds(self, job: str, number: str) -> float:
        """The wall time of one run in seconds."""
        self.clean()
        tree, command = JOBS[job]
        words = command.format(j=number, tree=self.trees[tree], out=self.out).split()
        environment = {"PATH": os.environ.get("PATH", ""), "XDG_STATE_HOME": str(self.work / "state")}
        start = time.monotonic()
        subprocess.run(
            [self.binary, *words], check=True, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        return time.monotonic() - start

    def clean(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.with_name(self.out.name + ".tar.zst").unlink(missing_ok=True)

    def tune(self, job: str, seconds: int) -> tuple[str, float, str]:
        """The recommended number, the time to find it, and the reason that was given."""
        start = time.monotonic()
        done = subprocess.run(
            [self.binary, "tune", "--json", "--job", job, "--seconds", str(seconds), str(self.trees[JOBS[job][0]])],
            check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        took = time.monotonic() - start
        lines = map(json.loads, done.stdout.splitlines())
        found = next(line for line in lines if line["type"] == "recommendation")
        return str(found.get("concurrency", "auto")), took, found.get("reason", "")


def levels(most: int) -> list[str]:
    wanted = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64} | {len(os.sched_getaffinity(0))}
    return [str(number) for number in sorted(wanted) if number <= most]


def sweep(bench: Bench, job: str, numbers: list[str], runs: int) -> dict[str, list[float]]:
    """Measures all numbers in turns, without the first run of each."""
    taken = {number: [] for number in numbers}
    for number in numbers:
        bench.seconds(job, number)
    for turn in range(runs):
        shift = turn % len(numbers)
        for number in numbers[shift:] + numbers[:shift]:
            taken[number].append(bench.seconds(job, number))
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=".build/release/batchproc")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/dev/shm/batchproc-tuning"))
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--scale", type=int, default=1, help="divides the files and bytes of the trees")
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--seconds", type=int, default=30, help="seconds for each run of tune")
    parser.add_argument("--most", type=int, default=4 * len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    options.binary = str(pathlib.Path(options.binary).resolve())
    bench = Bench(options.binary, options.work, options.scale)
    numbers = levels(options.most)
    failures = []
    print("| job | best -j | s | spread | auto s | auto/best | tune -j | tune s | tune/best | medians |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    try:
        for job in options.jobs.split(","):
            chosen, took, reason = bench.tune(job, options.seconds)
            wanted = numbers + (["auto"] if chosen in numbers + ["auto"] else [chosen, "auto"])
            taken = sweep(bench, job, wanted, options.runs)
            median = {number: statistics.median(seconds) for number, seconds in taken.items()}
            best = min((number for number in wanted if number != "auto"), key=lambda number: median[number])
            spread = (max(taken[best]) - min(taken[best])) / median[best]
            ratio, tuned = median["auto"] / median[best], median[chosen] / median[best]
            row = " ".join(f"{number}:{seconds:.3f}" for number, seconds in median.items())
            print(
                f"| {job} | {best} | {median[best]:.3f} | {spread:.1%} | {median['auto']:.3f} | {ratio:.3f} "
                f"| {chosen} | {took:.1f} | {tuned:.3f} | {row} |", flush=True)
            if reason:
                print(f"  tune: {reason}")
            failures += [f"{job}: auto takes {ratio:.3f} of the best"] if ratio > LIMIT else []
            failures += [f"{job}: -j {chosen} of tune takes {tuned:.3f} of the best"] if tuned > LIMIT else []
            failures += [f"{job}: tune takes {took:.0f} s"] if took > LONGEST_TUNE else []
    finally:
        bench.clean()
    for failure in failures:
        print(failure)
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()
