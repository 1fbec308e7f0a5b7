"""Writes the measured times as a Markdown page with charts."""

import os
import pathlib
import platform
import subprocess

import charts
from jobs import Job, Peer, Sweep
from runner import Timing

Race = tuple[Job, Timing, list[tuple[Peer, Timing]]]
Curve = tuple[Sweep, list[tuple[int, Timing]]]


SWEPT = "SHA-256 of many small files"


def first_line(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    except OSError:
        return "not installed"
    return next(iter((done.stdout or done.stderr).strip().splitlines()), "")


def field(path: str, name: str) -> str:
    """The value of the first line `name : value` in a file of /proc or /etc."""
    try:
        lines = pathlib.Path(path).read_text().splitlines()
    except OSError:
        return "unknown"
    pairs = (line.replace("=", ":", 1).partition(":") for line in lines)
    return next((value.strip().strip('"') for key, _, value in pairs if key.strip() == name), "unknown")


def machine(binary: str, work: pathlib.Path) -> list[str]:
    flags = field("/proc/cpuinfo", "flags").split()
    wanted = [flag for flag in ("sha_ni", "avx2", "avx512f") if flag in flags]
    rows = [
        ("processor", f"{field('/proc/cpuinfo', 'model name')} ({', '.join(wanted) or 'no SHA or AVX2'})"),
        ("cores of this run", str(len(os.sched_getaffinity(0)))),
        ("memory", field("/proc/meminfo", "MemTotal")),
        ("system", f"{field('/etc/os-release', 'PRETTY_NAME')}, Linux {platform.release()}"),
        ("trees on", first_line("stat", "-f", "-c", "%T", str(work))),
        ("load before the run", " ".join(f"{load:.2f}" for load in os.getloadavg())),
        ("batchproc", first_line(binary, "--version")),
        ("coreutils", first_line("sha256sum", "--version")),
        ("openssl", first_line("openssl", "version")),
        ("xxhsum", first_line("xxhsum", "--version")),
        ("b3sum", first_line("b3sum", "--version")),
        ("rhash", first_line("rhash", "--version")),
        ("hashdeep", first_line("hashdeep", "-V")),
    ]
    return ["| the machine | |", "|---|---|"] + [f"| {name} | {value} |" for name, value in rows]


def best(peers: list[tuple[Peer, Timing]]) -> Timing | None:
    done = [timing for peer, timing in peers if peer.same_work and timing.failure is None]
    return min(done, key=lambda timing: timing.median, default=None)


def row(timing: Timing, ours: Timing, name: str) -> str:
    name = name.replace("|", "\\|")
    if timing.failure is not None:
        return f"| {name} | failed: {timing.failure.replace('|', chr(92) + '|')} | | | | |"
    ratio = f"{ours.median / timing.median:.2f}" if ours.failure is None and timing is not ours else ""
    cpu = sum(timing.cpu) / len(timing.cpu)
    return (f"| {name} | {timing.median:.3f} | {min(timing.seconds):.3f} – {max(timing.seconds):.3f} "
            f"| {cpu:.2f} | {timing.peak_kib / 1024:.0f} | {ratio} |")


def section(race: Race) -> list[str]:
    job, ours, peers = race
    lines = [f"## {job.title}", "", "| command | median s | range s | CPU s | peak MiB | batchproc / it |",
             "|---|--:|--:|--:|--:|--:|", row(ours, ours, "**batchproc**")]
    lines += [row(timing, ours, peer.name + ("" if peer.same_work else " †")) for peer, timing in peers]
    winner = best(peers)
    if winner and ours.failure is None:
        ratio = ours.median / winner.median
        verdict = f"Against the best peer, {winner.name}: **{ratio:.2f}**"
        if job.target is not None:
            verdict += f" (promised: at most {job.target:.2f}: {'kept' if ratio <= job.target else 'missed'})"
        lines += ["", f"{verdict}; {len(ours.seconds)} runs of each."]
        if ratio > 1 and job.behind is not None:
            lines += ["", f"Why it is behind: {job.behind}."]
    return lines + [""]


def write(folder: pathlib.Path, machine_rows: list[str], races: list[Race], curves: list[Curve],
          quick: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        "# Side by side", "",
        *(["**A quick run on trees of a tenth of the size: not for publication.**", ""] if quick else []),
        *machine_rows, "",
        "The rows of a table were measured in turns, on the same files in memory. The last column is the",
        "ratio of medians: below 1, batchproc is faster. Peak is the resident memory of the largest process.",
        "† different work, for comparison; does not count as the best peer.", "",
        *([] if quick else [
            "Other pages: [ten nights of a backup set](nights.md), [a disk whose content is not cached](cold.md),",
            "[the cost by size](sizes.md), [`-j auto` on ten kinds of storage](devices.md).", ""]),
    ]
    groups = [
        (job.title, [(peer.name + ("" if peer.same_work else " †"), ours.median / timing.median, peer.same_work)
                     for peer, timing in peers if timing.failure is None])
        for job, ours, peers in races if ours.failure is None
    ]
    if any(rows for _, rows in groups):
        (folder / "ratios.svg").write_text(
            charts.bars("Time of batchproc divided by the time of each peer", "shorter is better; 1 is the peer's own time",
                        groups))
        lines += ["![ratios](ratios.svg)", ""]
    for race in races:
        lines += section(race)
    # The sweeps measure the command of this job; a line shows the time of its best peer.
    level = next((best(peers) for job, _, peers in races if job.title == SWEPT), None)
    for sweep, points in curves:
        done = [(value, timing) for value, timing in points if timing.failure is None]
        lines += [f"## `{sweep.option}`: {sweep.title}", ""]
        if len(done) > 1:
            (folder / f"{sweep.key}.svg").write_text(charts.curve(
                f"SHA-256 of many small files by {sweep.option}", f"{sweep.option}: {sweep.title}",
                [(value, timing.median) for value, timing in done],
                (level.name, level.median) if level else None))
            lines += [f"![{sweep.key}]({sweep.key}.svg)", ""]
        lines += [f"| {sweep.option} | median s | CPU s | peak MiB |", "|--:|--:|--:|--:|"]
        lines += [f"| {value} | {timing.median:.3f} | {sum(timing.cpu) / len(timing.cpu):.2f} "
                  f"| {timing.peak_kib / 1024:.0f} |" for value, timing in done]
        lines += [f"| {value} | failed: {timing.failure} | | |" for value, timing in points if timing.failure]
        lines.append("")
    (folder / "results.md").write_text("\n".join(lines))
