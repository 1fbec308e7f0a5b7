#!/usr/bin/env python3
"""Compares `-j auto` with fixed numbers on slow devices, which a preload library simulates.

usage: Benchmarks/slow_devices.py [--binary PATH] [--work FOLDER] [--runs N] [--only TEXT] [--results FILE]

Prints one row for each device and for `hash` and `archive`: the best fixed number, its seconds, those of
auto, and the ratio of both over the whole run and in its second half. Then it prints how soon auto follows
a change of the device, and how soon `pause`, `resume` and a number in the control file take effect.
"""

import argparse
import pathlib
import random
import shutil
import statistics
import subprocess
import time

import report

ROOT = pathlib.Path(__file__).resolve().parent.parent
SWEEP = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
# A device that answers fast, then not for a second, again and again.
STALLS = "1500:9999:2;2=500000:9999:0;3=1500:9999:2;7=500000:9999:0;8=1500:9999:2;12=500000:9999:0;13=1500:9999:2"
# Others load the device every other two seconds.
LOADED = ";".join(f"{second}={'3000:8:0.1' if second % 4 == 0 else '9000:8:0.5'}" for second in range(0, 32, 2))[2:]
# Microseconds of a request, width, penalty (see Tests/SlowDevice/slow-device.c), the tree, and the fixed
# numbers to measure; with other numbers a run takes minutes and is far from the best. The numbers of readers
# that are best on real devices are those that users of backup programs have published.
DEVICES = {
    "disk, slower with parallelism": ("1000:9999:2.5", "small", (1, 3)),
    "SATA SSD, best 3 to 4": ("700:4:0.45", "small", (1, 8)),
    "NVMe, small files, best 4 to 6": ("400:6:0.2", "small", (2, 12)),
    "NVMe, few large files, best 1": ("1500:9999:1.25", "large", (1, 4)),
    "RAID of 8 disks, best 8 to 10": ("2000:10:0.43", "small", (4, 16)),
    "SSD, 16 ways": ("8000:16:0", "small", (6, 64)),
    "network, 25 ms": ("25000:64:0", "small", (16, 64)),
    "network, 60 ms": ("60000:64:0", "small", (24, 64)),
    "shingled disk with stalls": (STALLS, "small", (1, 3)),
    "loaded by others half of the time": (LOADED, "small", (4, 24)),
}
CHANGE = "20000:64:0;3=3000:9999:2.5;8=20000:64:0"


class Bench:
    def __init__(self, binary: str, work: pathlib.Path):
        self.binary, self.work = binary, work
        work.mkdir(parents=True, exist_ok=True)
        self.trees = {"small": work / "tree", "large": work / "large"}
        self.library, self.log = work / "slow-device.so", work / "log"
        source = ROOT / "Tests/SlowDevice/slow-device.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", source, "-o", self.library, "-ldl", "-lpthread"], check=True)
        numbers = random.Random(1)
        for folder in range(50):
            place = self.trees["small"] / f"d{folder:02}"
            place.mkdir(parents=True, exist_ok=True)
            for file in range(100):
                (place / f"f{file:03}").write_bytes(numbers.randbytes(numbers.randint(100, 8000)))
        self.trees["large"].mkdir(exist_ok=True)
        for file in range(24):
            (self.trees["large"] / f"f{file:02}").write_bytes(numbers.randbytes(48_000_000))

    def start(self, model: str, *options: str, job: str = "hash", tree: str = "small") -> subprocess.Popen:
        place = self.trees[tree]
        environment = {
            "LD_PRELOAD": str(self.library), "SLOW_DEVICE": model, "SLOW_DEVICE_ROOT": str(place),
            "SLOW_DEVICE_LOG": str(self.log), "SLOW_DEVICE_TIMES": str(self.work / "times"), "PATH": "/usr/bin:/bin",
        }
        words = [job, *options] + (["--force", "-o", str(self.trees["large"].parent / "out.tar")] if job == "archive" else [])
        return subprocess.Popen(
            [self.binary, *words, str(place)], env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)

    def seconds(self, model: str, number: str, job: str = "hash", tree: str = "small") -> tuple[float, float]:
        """Seconds of all files, and of the second half of them."""
        run = self.start(model, "-q", "-j", number, job=job, tree=tree)
        _, errors = run.communicate()
        if run.returncode:
            raise SystemExit(errors)
        _, whole, half, _ = self.log.read_text().split()
        return float(whole), float(half)

    def times(self) -> list[float]:
        return [float(line) for line in (self.work / "times").read_text().split()]


def sweep(bench: Bench, runs: int, only: str) -> list[str]:
    lines = ["| device | job | best -j | best s | auto s | best/auto | second half |", "|---|---|---|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    for name, (model, tree, (least, most)) in DEVICES.items():
        for job in ("hash", "archive") if only in name else ():
            fixed = {
                number: bench.seconds(model, str(number), job, tree) for number in SWEEP if least <= number <= most}
            best = min(fixed, key=lambda number: fixed[number][0])
            half = min(seconds[1] for seconds in fixed.values())
            autos = [bench.seconds(model, "auto", job, tree) for _ in range(runs)]
            whole = statistics.median(auto[0] for auto in autos)
            second = statistics.median(auto[1] for auto in autos)
            lines.append(
                f"| {name} | {job} | {best} | {fixed[best][0]:.2f} | {whole:.2f} | {fixed[best][0] / whole:.3f} "
                f"| {half / second:.3f} |")
            print(lines[-1], flush=True)
    return lines


def follow(bench: Bench) -> None:
    """Prints each number after a change of the device, with the seconds since the start."""
    run = bench.start(CHANGE, "-v", "--stride", "8")
    start, levels = None, []
    for line in run.stderr:
        if " concurrency " in line and "->" in line:
            start = start or time.monotonic()
            levels.append((time.monotonic() - start, int(line.split("->")[1].split(":")[0])))
    run.wait()
    text = ", ".join(f"{seconds:.2f} s: {level}" for seconds, level in levels)
    print(f"\nA network mount of width 64 that becomes a disk from 3 s to 8 s: {text}")


def obey(bench: Bench) -> None:
    """Prints how soon each change of the control file takes effect."""
    control = bench.work / "control"
    control.write_text("concurrency 32\n")
    run = bench.start("20000:64:0", "-q", "--control", str(control))
    moments = []
    for line in ("pause", "resume", "concurrency 4", "pause", "resume\nconcurrency 32"):
        time.sleep(1.2)
        control.with_suffix(".new").write_text(line + "\n")
        control.with_suffix(".new").rename(control)
        moments.append((time.monotonic(), line.replace("\n", ", ")))
    run.communicate()
    times = bench.times()
    print()
    for index, (moment, line) in enumerate(moments):
        end = moments[index + 1][0] if index + 1 < len(moments) else moment + 1
        within = [when - moment for when in times if moment < when < end]
        if line == "pause":
            print(f"pause: last file after {max(within, default=0):.2f} s")
        elif line.startswith("resume"):
            print(f"{line}: first file after {min(within, default=-1):.2f} s")
        else:
            late = [when for when in within if when > 0.5]
            print(f"{line}: {len(late) / (end - moment - 0.5):.0f} files/s after 0.5 s (4 lanes read 100 files/s)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=str(ROOT / ".build/release/batchproc"))
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/dev/shm/batchproc-slow"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help="measure the devices whose names have this text")
    parser.add_argument("--results", type=pathlib.Path, help="the page to which the table is written")
    options = parser.parse_args()
    bench = Bench(options.binary, options.work)
    try:
        lines = sweep(bench, options.runs, options.only)
        if options.results:
            options.results.write_text("\n".join([
                "# `-j auto` on ten kinds of storage", "",
                "A preload library delays the requests of the program as the device would. For each device and job the best fixed number and",
                f"its seconds, and the median of {options.runs} runs of `auto`. Above 0.95 `auto` is as fast as the best number; the last column",
                "compares the second half of the files, when `auto` has found its number. A file counts from its first read on, so that column",
                "says little about few large files. Made by `Benchmarks/slow_devices.py`.", "",
                *report.machine(options.binary, options.work), "", *lines, ""]))
        if not options.only:
            follow(bench)
            obey(bench)
    finally:
        shutil.rmtree(options.work)


if __name__ == "__main__":
    main()
