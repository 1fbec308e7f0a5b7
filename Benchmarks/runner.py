"""Times commands against each other: in turns, because a machine's speed drifts, and by medians."""

import dataclasses
import json
import re
import shutil
import statistics
import subprocess
import tempfile
import time

# Without one of these a command needs no shell, and hyperfine can start it by itself.
SHELL_MARKS = re.compile(r"[|&;<>()$`*?\"'\n]")


@dataclasses.dataclass
class Timing:
    """The runs of one command: wall and processor seconds, and the largest process's resident KiB."""

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
    """Runs once to warm the caches, to see that the command works and how much memory it takes; its seconds."""
    program = timing.command.split("xargs")[-1].split()
    program = next((word for word in program if not word.startswith("-")), "")
    if shutil.which(program) is None:
        timing.failure = f"{program} not found"
        return 0
    if prepare:
        shell(prepare)
    start = time.monotonic()
    # time(1) stands between, because a child's peak begins with that of the process it was forked from.
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


def race(timings: list[Timing], budget: float, prepare: str | None = None) -> None:
    """Fills the timings by as many rounds as fit the budget of seconds, from 3 to 15.

    A round is one run of each command, or ten where a run takes no time. The first command changes from round to
    round, so that none is always the one that runs after a pause.
    """
    once = sum(first_run(timing, prepare) for timing in timings)
    runners = [timing for timing in timings if timing.failure is None]
    if not runners:
        return
    runs = 10 if once < 0.05 * len(timings) else 1
    rounds = max(3, min(15, int(budget / max(once, 0.001))))
    for turn in range(rounds):
        shift = turn % len(runners)
        try:
            one_round(runners[shift:] + runners[:shift], runs, prepare)
        except RuntimeError as error:
            # The other tables are still worth having.
            for timing in runners:
                timing.failure = str(error).splitlines()[0]
            return
