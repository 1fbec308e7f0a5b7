#!/usr/bin/env python3
"""Lets each system call of each command fail once, at each of its first occurrences.

usage: scripts/call-faults.py BINARY [--allocations N] [--occurrences N] [--sample N] [--seed N]
       [--only REGEX] [--calls REGEX]

Each command runs once under strace, which shows the calls of each thread on files below its folder. Then it
runs again for each of these calls, up to the N-th occurrence of a name (50), and for each possible error,
while strace lets that one call fail (-e inject). --sample chooses about that many of these runs with a seeded
generator, the same number of each command. If there are more commands than that, it chooses that many of them,
from all parts of the list, and one run of each. By default all are made.

With --allocations, a preload library lets allocations fail instead of calls: each of the first N after the
start of main(), and each of the first N that the Swift runtime does not make, so that the C libraries are
tested too. The Swift runtime ends the program by a signal when it has no memory, and so may libraries; even
then nothing may be lost, and no file may be partial.

Each run must end within 60 seconds with a status of the table, and with a message if the status is not 0.
Nothing is lost, no partial file has a final name, and 0 means that all work was done. The same command
without a fault then completes the work. Ends with 1 when a condition is violated.
"""

import argparse
import collections
import functools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

from scenarios import CODECS, Program, READERS, SCENARIOS, TEMPORARY, read_file, rebuild

STATUSES = {0, 1, 3, 4, 5, 11, 20}
# Errors that Linux may return for each kind of call; EINTR only for calls that wait or are slow.
ERRORS = {
    "openat": ("EIO", "EINTR", "EMFILE", "ENOMEM", "ESTALE", "ENOSPC"), "openat2": ("EIO", "EINTR", "EMFILE", "ENOMEM", "ESTALE"),
    "read": ("EIO", "EINTR", "ESTALE"), "pread64": ("EIO", "EINTR", "ESTALE"), "getdents64": ("EIO", "ENOMEM", "ESTALE"),
    "write": ("EIO", "EINTR", "ENOSPC", "ESTALE"), "pwrite64": ("EIO", "EINTR", "ENOSPC", "ESTALE"),
    "copy_file_range": ("EIO", "EINTR", "ENOSPC", "ENOMEM", "ESTALE"),
    "fsync": ("EIO", "EINTR", "ENOSPC", "ESTALE"), "fdatasync": ("EIO", "EINTR", "ENOSPC", "ESTALE"), "syncfs": ("EIO", "EINTR", "ENOSPC"),
    "ftruncate": ("EIO", "EINTR", "ENOSPC", "ESTALE"),
    "renameat": ("EIO", "ENOSPC", "ENOMEM", "ESTALE"), "renameat2": ("EIO", "ENOSPC", "ENOMEM", "ESTALE"),
    "linkat": ("EIO", "ENOSPC", "ENOMEM", "ESTALE"), "symlinkat": ("EIO", "ENOSPC", "ENOMEM", "ESTALE"),
    "unlinkat": ("EIO", "ENOMEM", "ESTALE"), "mkdirat": ("EIO", "ENOSPC", "ENOMEM", "ESTALE"),
    "newfstatat": ("EIO", "ENOMEM", "ESTALE"), "fstat": ("EIO", "ENOMEM", "ESTALE"), "statx": ("EIO", "ENOMEM", "ESTALE"),
    "fchmod": ("EIO", "ENOMEM", "ESTALE"), "fchown": ("EIO", "ENOMEM", "ESTALE"), "utimensat": ("EIO", "ENOMEM", "ESTALE"),
    "flock": ("EIO", "EINTR", "ENOMEM"), "lseek": ("EIO", "ESTALE"), "flistxattr": ("EIO", "ENOMEM"), "fgetxattr": ("EIO", "ENOMEM"),
    "fstatfs": ("EIO", "EINTR", "ENOMEM"), "readlinkat": ("EIO", "ENOMEM", "ESTALE"), "fallocate": ("EIO", "EINTR", "ENOSPC"),
}


class Faults:
    """The runs of one command with one fault each."""

    def __init__(self, name, kind, place, binary):
        self.name = name
        root = os.path.join(place, "w")
        os.mkdir(root)
        os.mkdir(root + "-tmp")
        self.program = Program(binary, root)
        self.trace = root + ".trace"
        self.scenario = kind(self.program)
        self.scenario.prepare()
        self.before = self.tree()
        done = self.first_run()
        if done.returncode != self.scenario.status:
            raise RuntimeError(f"{name} ended with {done.returncode}: {done.stderr.decode()}")
        self.scenario.after()
        self.sites = self.find_sites()

    def first_run(self):
        return self.run("-y", "-e", "trace=" + ",".join(ERRORS))

    def find_sites(self):
        return self.calls(self.program.root)

    def tree(self):
        result, inodes = {}, {}
        for folder, folders, names in os.walk(os.fsencode(self.program.root)):
            for name in folders + names:
                path = os.path.join(folder, name)
                relative = os.path.relpath(path, os.fsencode(self.program.root))
                if os.fsdecode(relative.split(b"/")[0]) in self.scenario.constant:
                    continue
                status = os.lstat(path)
                file = read_file(path, status)
                inode = inodes.setdefault(status.st_ino, len(inodes))
                result[relative] = file.kind, file.content, file.mode, file.mtime, inode
        return result

    def run(self, *options):
        return self.program.run(*self.scenario.command, under=("strace", "-f", "-qq", "--seccomp-bpf", "-o", self.trace, *options))

    def calls(self, root):
        """(call, its number among the calls of this name in its thread) for calls that name the folder of the
        run.
        """
        counts, sites = collections.Counter(), []
        with open(self.trace, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                found = re.match(r"(\d+) +(\w+)\(", line)
                if not found:
                    continue
                counts[found[1], found[2]] += 1
                if root in line:
                    sites.append((found[2], counts[found[1], found[2]]))
        return list(dict.fromkeys(sites))

    def cases(self, options):
        made = collections.Counter()
        for call, turn in self.sites:
            made[call] += 1
            if made[call] <= options.occurrences and re.search(options.calls, call):
                for error in ERRORS[call]:
                    yield call, turn, error

    def fail(self, call, turn, error):
        return self.run("-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={turn}")

    def look(self, *case):
        """The status, and the violated conditions."""
        rebuild(self.program.root, self.before, self.scenario.constant)
        try:
            done = self.fail(*case)
        except subprocess.TimeoutExpired:
            return None, ["the command hangs"]
        status, problems = done.returncode, []
        if status == 127 and b"loading shared libraries" in done.stderr or b"ERROR: ld.so: object" in done.stderr:
            return "loader", []
        if not self.is_reached():
            return "not reached", []
        if status < 0 and self.may_end():
            status = "signal"
        self.scenario.is_partial = status == 3
        if status not in STATUSES | {self.scenario.status, "signal"}:
            problems.append(f"status {status}: {done.stderr.decode(errors='replace')[:300]}")
        elif status not in (0, "signal", self.scenario.status) and not done.stderr + done.stdout and not self.has(r"write\(2,"):
            problems.append(f"status {status} without a message")
        is_done = status == self.scenario.status
        problems += [words for _, words in self.scenario.look(is_done)]
        if is_done and self.scenario.printed is not None and done.stdout != self.scenario.printed:
            problems.append("0 with a different output")
        if is_done and not problems and (left := self.left()):
            problems.append(f"0, and {left} is left")
        if not problems:
            problems = [words for _, words in self.scenario.next_run()]
        return status, problems

    def may_end(self):
        """Whether a failing call prevented libdispatch from reading or waking its threads, which ends a
        program by SIGILL.
        """
        return self.has(r'"/proc/\d+/stat"|write\(\d+, "\\1(\\0){7}", 8')

    def is_reached(self):
        return True

    def has(self, pattern):
        """Whether a call that matches the pattern has failed; the fault hits the same turn in several
        threads.
        """
        begun = {}
        with open(self.trace, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                thread, _, call = line.partition(" ")
                if call.endswith("<unfinished ...>\n"):
                    begun[thread] = call
                elif "(INJECTED)" in call:
                    # The beginning of an interrupted call has a separate line in the trace.
                    whole = begun.get(thread, "") + call if " resumed>" in call else call
                    if re.search(pattern, whole):
                        return True
        return False

    def left(self):
        for folder, folders, names in os.walk(self.program.root):
            for name in folders + names:
                if name.startswith(TEMPORARY):
                    return name
        return None


class Allocations(Faults):
    """The runs of one command with one failing allocation each."""

    def __init__(self, name, kind, place, binary):
        self.library = os.path.join(place, "few-allocations.so")
        with open(self.library, "wb") as file:
            file.write(library_of_allocations())
        self.runtime = runtime_of_swift(binary)
        super().__init__(name, kind, place, binary)

    def with_failing(self, number, skip):
        return self.program.run(*self.scenario.command, under=(
            "env", f"LD_PRELOAD={self.library}", f"FAILING_ALLOCATION={number}", f"ALLOCATION_SKIP={skip}", f"ALLOCATION_COUNT={self.trace}"))

    def first_run(self):
        return self.with_failing(0, "")

    def find_sites(self):
        """The number of allocations: of all, and of all except those of the Swift runtime."""
        result = []
        for skip in dict.fromkeys(("", self.runtime)):
            rebuild(self.program.root, self.before, self.scenario.constant)
            self.with_failing(0, skip)
            with open(self.trace, encoding="utf-8") as file:
                result.append((skip, int(file.read().split()[-1])))
        return result

    def cases(self, options):
        for skip, count in self.sites:
            for number in range(1, min(count, options.allocations) + 1):
                yield "allocation of " + ("C" if skip else "all"), number, skip

    def fail(self, _, number, skip):
        return self.with_failing(number, skip)

    def may_end(self):
        return True

    def is_reached(self):
        """Whether the allocation was reached. Threads share the count, so a run may have fewer allocations
        than the first one.
        """
        with open(self.trace, encoding="utf-8") as file:
            return "failed" in file.read()

    def has(self, pattern):
        return False


@functools.cache
def library_of_allocations():
    """The content of the preload library."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Tests/SlowDevice/few-allocations.c")
    compiler = shutil.which("clang") or "cc"
    with tempfile.TemporaryDirectory(prefix="batchproc-faults-") as folder:
        library = os.path.join(folder, "few-allocations.so")
        subprocess.run([compiler, "-shared", "-fPIC", "-O2", source, "-o", library, "-ldl"], check=True)
        with open(library, "rb") as file:
            return file.read()


@functools.cache
def runtime_of_swift(binary):
    """The addresses of the runtime's allocation functions as LOW-HIGH,...; empty for a program without
    symbols.
    """
    names = subprocess.run(["nm", "-S", "--defined-only", binary], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    pattern = re.compile(r"(\w+) (\w+) [tTwW] (swift_slowAlloc\w*|swift_allocObject|swift_bufferAllocate|_Znwm|_ZN5swift17MetadataAllocator\w+)$")
    found = filter(None, map(pattern.match, names.decode(errors="replace").splitlines()))
    return ",".join(f"{int(low, 16):x}-{int(low, 16) + int(size, 16):x}" for low, size in (row.groups()[:2] for row in found))


def spread(names, count, numbers):
    """At most `count` of the names: one of each of that many parts of the list."""
    if count >= len(names):
        return names
    borders = [part * len(names) // count for part in range(count + 1)]
    return [names[numbers.randrange(first, end)] for first, end in zip(borders, borders[1:])]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--allocations", type=int, help="fail each of the first N allocations instead of calls")
    parser.add_argument("--occurrences", type=int, default=50, help="how many occurrences of each call")
    parser.add_argument("--sample", type=int, help="about how many runs; all by default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only commands whose name matches")
    parser.add_argument("--calls", default="", help="only calls whose name matches")
    options = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    numbers = random.Random(options.seed)
    total = failed = 0
    every = {**SCENARIOS, **READERS, **(CODECS if options.allocations else {})}
    names = [name for name in every if re.search(options.only, name)]
    if options.sample is not None:
        names = spread(names, options.sample, numbers)
    for name in names:
        with tempfile.TemporaryDirectory(prefix="batchproc-faults-", dir=memory) as place:
            faults = (Allocations if options.allocations else Faults)(name, every[name], place, os.path.abspath(options.binary))
            cases = list(faults.cases(options))
            if options.sample is not None:
                share = -(-options.sample // len(names))
                cases = numbers.sample(cases, min(len(cases), share))
            statuses, wrong = collections.Counter(), []
            for case in cases:
                status, problems = faults.look(*case)
                statuses[status] += 1
                if problems:
                    wrong.append((case, problems[0]))
            total += len(cases)
            failed += len(wrong)
            ends = " ".join(f"{status}:{count}" for status, count in sorted(statuses.items(), key=str))
            print(f"{name}\t{len(cases)} faults\tstatuses {ends}\t{len(wrong)} wrong", flush=True)
            for case, words in wrong:
                print(f"  {' '.join(map(str, case))}: {words}", flush=True)
    print(f"{total} faults, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
