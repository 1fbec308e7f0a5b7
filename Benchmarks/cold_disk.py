#!/usr/bin/env python3
"""Compares `-j auto` with fixed numbers and with other tools on a disk whose content is not cached.

usage: Benchmarks/cold_disk.py [--binary PATH] [--work FOLDER] [--runs N] [--scale N] [--jobs hash,tar,...]
                               [--numbers 2,16,...] [--results FILE]

All numbers, `auto` and the other tools of a job run in turns, N times each. All caches are dropped before
each run; only the programs stay in memory. The files are on a separate ext4 file system in an image in the
work folder, or in the folder itself if no image can be mounted. `auto` should take at most 1.20 times as
long as the best fixed number. Dropping caches needs root and slows down all other programs. `--results`
writes the rows to a page of results, where they replace older rows of the same jobs.
"""

import argparse
import dataclasses
import os
import pathlib
import shutil
import statistics
import subprocess
import time

import report
import trees

LIMIT = 1.20
SIZE = 560 << 20
HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = "| job | best -j | s | spread | auto s | auto/best | medians | auto against peers |"


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    command: str
    # A command that loads the program into memory.
    warm: str
    # The greatest allowed ratio of our time to the peer's.
    target: float | None = None
    prepare: str = "true"


@dataclasses.dataclass(frozen=True)
class Job:
    command: str
    # Runs once, without being measured.
    setup: str = ""
    peers: tuple[Peer, ...] = ()


def openssl(processes: int) -> Peer:
    return Peer(
        f"xargs openssl -P{processes}",
        f"find {{tree}} -type f -print0 | xargs -0 -n100 -P{processes} openssl sha256", "openssl sha256 /etc/passwd")


RESTIC = "RESTIC_PASSWORD=x RESTIC_CACHE_DIR={out}/cache restic -q -r {out}/repository"
JOBS = {
    "hash": Job(
        "hash -q -j {j} {tree}", "find {tree} -type f -print0 >{kept}/names",
        (
            openssl(2), openssl(32),
            Peer("the bound in C, 64 threads, names known", "{bound} 64 <{kept}/names", "{bound} 1 </dev/null", 1.40),
        )),
    "tar": Job(
        "archive -q -j {j} -o {out}/a.tar -C {tree} .",
        peers=(Peer("tar", "tar -cf {out}/b.tar -C {tree} .", "tar --version", 0.50),)),
    "tar.zst": Job(
        "archive -q -j {j} -o {out}/a.tar.zst -C {tree} .",
        peers=(Peer("tar with zstd -T0", "tar -cf - -C {tree} . | zstd -qT0 >{out}/b.tar.zst", "tar --version; zstd --version"),)),
    "compress": Job("compress -q -j {j} --output-dir {out}/z {tree}"),
    "extract": Job(
        "extract -q -j {j} -C {out} {kept}/a.tar.zst", "{batchproc} archive -q -o {kept}/a.tar.zst -C {tree} .",
        (Peer("tar --zstd", "tar --zstd -xf {kept}/a.tar.zst -C {out}", "tar --version; zstd --version"),)),
    "backup": Job(
        "backup -q -j {j} --init --to {out}/set {tree}",
        peers=(Peer("restic", RESTIC + " backup {tree}", "restic version", 0.35, RESTIC + " init"),)),
    "restore": Job("restore -q -j {j} -C {out}/r {kept}/set", "{batchproc} backup -q --init --to {kept}/set {tree}"),
    "mirror": Job(
        "mirror -q -j {j} {tree} {out}",
        peers=(
            Peer("cp -a and sync -f", "cp -a {tree} {out}; sync -f {out}", "cp --version; sync --version", 0.80),
            Peer("rsync -a and sync -f", "rsync -a {tree} {out}; sync -f {out}", "rsync --version; sync --version"),
        )),
}


class Bench:
    def __init__(self, binary: str, place: pathlib.Path, scale: int):
        self.place = place
        self.values = {name: place / name for name in ("tree", "out", "kept")} | {"batchproc": binary}
        self.values["bound"] = place / "bound"
        small = trees.TREES["small"]
        trees.make(trees.dataclasses.replace(small, size=SIZE).scaled(scale), place / "tree")
        subprocess.run(
            ["cc", "-O2", "-pthread", HERE / "bound.c", "-o", self.values["bound"], "-lcrypto"], check=True)
        # More than one file, so that libraries that are loaded for many files are in memory as well.
        (place / "few").mkdir(exist_ok=True)
        for number in range(9):
            (place / "few" / str(number)).write_bytes(bytes(100))
        self.warm = "{batchproc} hash -q " + str(place / "few")

    def shell(self, command: str, **values: str) -> float:
        """The wall time in seconds."""
        environment = os.environ | {"XDG_STATE_HOME": str(self.place / "state")}
        words = ["sh", "-c", command.format(**self.values, **values)]
        start = time.monotonic()
        subprocess.run(words, check=True, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return time.monotonic() - start

    def cold(self, command: str, warm: str, prepare: str = "true", **values: str) -> float:
        self.clean("out", "state")
        (self.place / "out").mkdir()
        self.shell(prepare)
        os.sync()
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
        # The programs are in memory, as on a machine in use.
        self.shell(warm)
        return self.shell(command, **values)

    def measure(self, job: Job, numbers: list[str], runs: int) -> tuple[dict[str, list[float]], dict[Peer, list[float]]]:
        self.clean("kept", "state")
        (self.place / "kept").mkdir()
        if job.setup:
            self.shell(job.setup)
        taken, others = {number: [] for number in numbers}, {peer: [] for peer in job.peers}
        for turn in range(runs):
            shift = turn % len(numbers)
            for number in numbers[shift:] + numbers[:shift]:
                taken[number].append(self.cold("{batchproc} " + job.command, self.warm, j=number))
            for peer in job.peers:
                others[peer].append(self.cold(peer.command, peer.warm, peer.prepare))
        self.clean("out", "kept", "state")
        return taken, others

    def clean(self, *folders: str) -> None:
        for folder in folders:
            shutil.rmtree(self.place / folder, ignore_errors=True)


def mounted(work: pathlib.Path) -> pathlib.Path | None:
    """The folder in which an ext4 file system of 4 GiB is mounted; None if that is impossible."""
    image, place = work / "image", work / "mounted"
    place.mkdir(parents=True, exist_ok=True)
    if not image.exists():
        with image.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, 4 << 30)
        if subprocess.run(["mkfs.ext4", "-q", "-F", image], check=False).returncode != 0:
            image.unlink()
            return None
    if subprocess.run(["mount", "-o", "loop", image, place], check=False).returncode != 0:
        return None
    source = subprocess.run(
        ["findmnt", "-no", "SOURCE", place], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    # Without direct I/O, one kernel thread reads the image for all requests and caches it again.
    subprocess.run(["losetup", "--direct-io=on", source], check=False)
    return place


def row(name: str, job: Job, bench: Bench, numbers: list[str], runs: int) -> tuple[str, list[str]]:
    """The row of a job, and the broken limits."""
    taken, others = bench.measure(job, numbers, runs)
    median = {number: statistics.median(seconds) for number, seconds in taken.items()}
    best = min(numbers[:-1], key=lambda number: median[number])
    spread = (max(taken[best]) - min(taken[best])) / median[best]
    ratio = median["auto"] / median[best]
    broken = [f"{name}: auto takes {ratio:.2f} of the best, not {LIMIT:.2f}"] if ratio > LIMIT else []
    texts = []
    for peer, seconds in others.items():
        against = median["auto"] / statistics.median(seconds)
        texts.append(f"{peer.name}: {statistics.median(seconds):.2f} s, **{against:.2f}**")
        if peer.target is not None and against > peer.target:
            broken.append(f"{name}: auto takes {against:.2f} of {peer.name}, not {peer.target:.2f}")
    medians = " ".join(f"{number}:{seconds:.2f}" for number, seconds in median.items())
    return (
        f"| {name} | {best} | {median[best]:.2f} | {spread:.0%} | {median['auto']:.2f} | {ratio:.2f} | {medians} "
        f"| {'; '.join(texts)} |", broken)


def keep(rows: dict[str, str], page: pathlib.Path, machine: list[str], runs: int) -> None:
    """Writes the page; new rows replace old rows of the same jobs."""
    old = page.read_text().splitlines() if page.exists() else []
    kept = {line.split("|")[1].strip(): line for line in old if line.startswith("|") and line.split("|")[1].strip() in JOBS}
    kept |= rows
    tree = trees.TREES["small"]
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join([
        "# On a disk whose content is not cached", "",
        f"{tree.files:,} files, {SIZE >> 20} MiB, on ext4; caches dropped before each run. Medians of {runs} runs in turns; the spread",
        "is that of the best number. Made by `Benchmarks/cold_disk.py`.", "", *machine, "", COLUMNS,
        "|" + "---|" * (COLUMNS.count("|") - 1), *(kept[name] for name in JOBS if name in kept), ""]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=".build/release/batchproc")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/var/tmp/batchproc-cold"))
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--scale", type=int, default=1, help="divides the files and bytes of the tree")
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--numbers", default="2,8,16,32,64")
    parser.add_argument("--plain", action="store_true", help="use the folder itself and no image")
    parser.add_argument("--results", type=pathlib.Path, help="the page to which the rows are written")
    options = parser.parse_args()
    if os.geteuid() != 0 or not os.access("/proc/sys/vm/drop_caches", os.W_OK):
        print("cold disk: skipped, since only root can drop caches")
        return
    binary = str(pathlib.Path(options.binary).resolve())
    options.work.mkdir(parents=True, exist_ok=True)
    place = None if options.plain else mounted(options.work)
    rows, broken = {}, []
    print(COLUMNS + "\n|" + "---|" * (COLUMNS.count("|") - 1), flush=True)
    try:
        bench = Bench(binary, place or options.work, options.scale)
        machine = report.machine(binary, place or options.work)
        for name in options.jobs.split(","):
            rows[name], promises = row(name, JOBS[name], bench, options.numbers.split(",") + ["auto"], options.runs)
            print(rows[name], flush=True)
            broken += promises
            if options.results:
                keep({name: rows[name]}, options.results, machine, options.runs)
    finally:
        if place:
            subprocess.run(["umount", place], check=False)
    print("\n".join(broken))
    # A page of results names the broken limits; only a check fails.
    raise SystemExit(1 if broken and not options.results else 0)


if __name__ == "__main__":
    main()
