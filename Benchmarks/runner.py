"""Measures commands in turns, because the speed of a machine drifts, and reports medians."""

import dataclasses
import json
import re
import shutil
import statistics
import subprocess
import tempfile
import time

# A command without any of these characters needs no shell, so hyperfine can start it directly.
SHELL_MARKS = re.compile(r"[|&;<>()$`*?\"'\n]")


@dataclasses.dataclass
class Timing:
    """The runs of one command: wall and processor seconds, and the resident KiB of the largest process."""

    name: str
    command: str
    seconds: list[float] = dataclasses.field(default_factory=list)
    cpu: list[float] = dataclasses.field(default_factory=list)
    peak_kib: int = 0
    failure: str | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def shell(command: str) -> None:
    subprocess.run(["sh", "-c", command], check=True, stdin=subprocess.DEVNULL)


def first_run(timing: Timing, prepare: str | None) -> float:
    """Runs once, to warm the caches and to measure memory; returns the seconds. Fails if the command fails."""
    program = timing.command.split("xargs")[-1].split()
    program = next((word for word in program if not word.startswith("-")), "")
    if shutil.which(program) is None:
        timing.failure = f"{program} not found"
        return 0
    if prepare:
        shell(prepare)
    start = time.monotonic()
    # time(1) starts the command, because the peak of a child begins with that of the process that forked it.
    with tempfile.NamedTemporaryFile("w+") as peak:
        done = subprocess.run(
            ["time", "--quiet", "-f", "%M", "-o", peak.name, "sh", "-c", timing.command],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        timing.peak_kib = int(peak.read())
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        timing.failure = " ".join([f"exit {done.returncode}:"] + last)
    return time.monotonic() - start


def one_round(timings: list[Timing], runs: int, prepare: str | None) -> None:
    plain = not any(SHELL_MARKS.search(command) for command in [prepare or ""] + [timing.command for timing in timings])
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        call = ["hyperfine", "--runs", str(runs), "--style", "none", "--export-json", report.name]
        call += ["--shell", "none" if plain else "sh"]
        if prepare:
            call += ["--prepare", prepare]
        call += [timing.command for timing in timings]
        done = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        results = json.load(report)["results"]
    for timing, result in zip(timings, results, strict=True):
        timing.seconds += result["times"]
        timing.cpu.append(result["user"] + result["system"])


def race(timings: list[Timing], budget: float, prepare: str | None = None, least: int = 3) -> None:
    """Adds rounds to the timings until the budget of seconds is used, from `least` to 15 rounds.

    A round is one run of each command, or ten of a very short one. Each round begins with another command,
    so that the first run after a pause is not always of the same command.
    """
    once = sum(first_run(timing, prepare) for timing in timings)
    runners = [timing for timing in timings if timing.failure is None]
    if not runners:
        return
    runs = 10 if once < 0.05 * len(timings) else 1
    rounds = max(least, min(15, int(budget / max(once, 0.001))))
    for turn in range(rounds):
        shift = turn % len(runners)
        try:
            one_round(runners[shift:] + runners[:shift], runs, prepare)
        except RuntimeError as error:
            # The other tables are still useful.
            for timing in runners:
                timing.failure = str(error).splitlines()[0]
            return
