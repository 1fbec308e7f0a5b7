#!/usr/bin/env python3
"""Runs random commands for a long time over a tree that changes, with little space, and checks what is left.

usage: scripts/soak.py BINARY [--minutes N] [--seed N] [--disk SIZE] [--place DIR]

Two threads create, remove, rename, truncate, chmod and swap the files and folders of a tree. As root, a
third thread fills the disk of the outputs (a tmpfs of --disk bytes) and frees it again. Meanwhile the
script runs backups, audits, archives, extractions, compress, verify, prune, restores and mirrors at random,
one or two at a time, with 64 descriptors and, if possible, in a memory control group of 256 MB. A fifth of the
commands is ended by SIGKILL, SIGTERM or SIGINT at a random moment.

Each file contains its name and a checksum, so that a restored file can be recognized as completely written.
Files that are written in place may be read in between; then the run must have named them. Each run must end
in time with a status of the table, and leave no process and no file in TMPDIR. At the end the tree no
longer changes. A backup of it must restore it byte for byte, each listed snapshot must restore files that
were written, no temporary file may be left, and the later half of the runs must not need more memory than
the first half. Ends with 1 when a condition is violated.
"""

import argparse
import collections
import errno
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TEMPORARY = ".batchproc-"
MEMORY = 256 << 20
DESCRIPTORS = 64
# Names of each kind in each folder. The tree grows to 25 MB; the default disk has room for some snapshots and
# the outputs of two commands.
NAMES = 30
LONGEST = 120


def content(name, random_numbers, length):
    """A content that begins with a checksum of the rest."""
    body = name.encode() + b"\n" + random_numbers.randbytes(length // 2).hex().encode()
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def is_whole(data):
    head, mark, body = data.partition(b"\n")
    return bool(mark) and hashlib.sha256(body).hexdigest().encode() == head


class ControlGroup:
    """A memory limit for the commands, with either version of control groups; no limit if no group can be
    made.
    """

    def __init__(self):
        self.path = None
        name = f"batchproc-soak-{os.getpid()}"
        for folder, file in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            path = os.path.join(folder, name)
            try:
                if not os.path.exists(os.path.join(folder, "cgroup.procs")):
                    continue
                os.mkdir(path)
                with open(os.path.join(path, file), "w", encoding="ascii") as limit:
                    limit.write(str(MEMORY))
                self.path = path
                return
            except OSError:
                if os.path.isdir(path):
                    os.rmdir(path)

    def enter(self):
        if self.path:
            with open(self.path + "/cgroup.procs", "w", encoding="ascii") as file:
                file.write("0")

    def processes(self):
        if not self.path:
            return []
        with open(self.path + "/cgroup.procs", encoding="ascii") as file:
            return file.read().split()

    def remove(self):
        if self.path:
            os.rmdir(self.path)


class Changer(threading.Thread):
    """Changes the tree until it is stopped. Each of the two threads has separate folders, so that it knows
    their content.
    """

    def __init__(self, root, seed):
        super().__init__(daemon=True)
        self.root, self.random = root, random.Random(seed)
        self.stopped = threading.Event()
        self.changes, self.error = 0, None
        self.number = 0
        for folder in ("a", "b", "a/c"):
            os.makedirs(os.path.join(root, folder), exist_ok=True)
        for _ in range(NAMES):
            self.create()

    def path(self):
        return os.path.join(self.root, self.random.choice(("", "a", "b", "a/c")), f"{self.random.choice('rrrw')}{self.random.randrange(NAMES)}")

    def write(self, path, flags):
        self.number += 1
        length = self.random.choice((0, 100, 5000, 5000, 40000, 300000))
        data = content(f"{self.root} {self.number}", self.random, length)
        descriptor = os.open(path, flags, 0o644)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            for start in range(0, len(data), 65536):
                file.write(data[start:start + 65536])

    def create(self):
        """Replaces a file with a name r…, or writes one with a name w… in place."""
        path = self.path()
        if os.path.basename(path).startswith("w"):
            self.write(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        else:
            new = os.path.join(os.path.dirname(self.root), ".new-" + os.path.basename(self.root))
            self.write(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.replace(new, path)

    def remove(self):
        os.unlink(self.path())

    def rename(self):
        path = self.path()
        # The new name keeps the first letter.
        other = os.path.join(os.path.dirname(self.path()), os.path.basename(path)[0] + str(self.random.randrange(NAMES)))
        os.rename(path, other)

    def truncate(self):
        path = self.path()
        if os.path.basename(path).startswith("w"):
            os.truncate(path, self.random.choice((0, 10, 3000)))

    def chmod(self):
        os.chmod(self.path(), self.random.choice((0o600, 0o644, 0o444, 0o755)))

    def link(self):
        path = self.path()
        if os.path.basename(path).startswith("r"):
            os.link(path, os.path.join(os.path.dirname(path), "l" + str(self.random.randrange(20))))

    def unlink(self):
        os.unlink(os.path.join(os.path.dirname(self.path()), "l" + str(self.random.randrange(20))))

    def swap(self):
        """Two folders exchange their names, or one is replaced by a link to the other for a moment."""
        a, b, c = (os.path.join(self.root, name) for name in ("a", "b", ".swap"))
        os.rename(a, c)
        if self.random.random() < 0.3:
            os.symlink("b", a)
            time.sleep(0.01)
            os.unlink(a)
        os.rename(c, a)
        os.rename(a, c)
        os.rename(b, a)
        os.rename(c, b)
        for folder in (a, b):
            os.makedirs(os.path.join(folder, "c"), exist_ok=True)

    def run(self):
        actions = [self.create] * 8 + [self.remove] * 3 + [self.rename] * 3 + [self.truncate] * 2 + [self.chmod, self.link, self.unlink, self.swap]
        while not self.stopped.is_set():
            try:
                self.random.choice(actions)()
                self.changes += 1
            except (FileNotFoundError, FileExistsError):
                pass
            except OSError as error:
                self.error = error
                return
            # The clock for file times has a resolution of some milliseconds, within which two changes look
            # like one.
            self.stopped.wait(self.random.choice((0.012, 0.012, 0.03, 0.2)))


class Filler(threading.Thread):
    """Fills the disk of the outputs completely, and frees it again."""

    def __init__(self, disk, seed):
        super().__init__(daemon=True)
        self.path, self.random = os.path.join(disk, "ballast"), random.Random(seed)
        self.stopped = threading.Event()
        self.times = 0

    def run(self):
        while not self.stopped.wait(self.random.uniform(2, 12)):
            try:
                with open(self.path, "wb", buffering=0) as file:
                    while file.write(bytes(65536)) and not self.stopped.is_set():
                        pass
            except OSError:
                self.times += 1
            self.stopped.wait(self.random.uniform(0.2, 3))
            os.unlink(self.path)


class Soak:
    def __init__(self, options, place):
        self.binary = os.path.abspath(options.binary)
        self.random = random.Random(options.seed)
        self.place = place
        self.tree, self.disk, self.temporary = (os.path.join(place, name) for name in ("tree", "disk", "tmp"))
        for folder in (self.tree, self.disk, self.temporary):
            os.mkdir(folder)
        self.has_disk = os.geteuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={options.disk}", "tmpfs", self.disk], stderr=subprocess.DEVNULL, check=False).returncode == 0
        self.set = os.path.join(self.disk, "set")
        os.mkdir(self.set)
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": place, "TMPDIR": self.temporary,
                            **{f"XDG_{name}_HOME": os.path.join(place, name.lower()) for name in ("STATE", "CACHE", "CONFIG")}}
        self.group = ControlGroup()
        self.lock = threading.Lock()
        self.problems, self.statuses, self.memory = [], collections.defaultdict(collections.Counter), collections.defaultdict(list)
        self.kills = self.runs = 0

    def wrong(self, words):
        with self.lock:
            self.problems.append(words)
        print("WRONG: " + words, flush=True)

    # Single commands.

    def limit(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        self.group.enter()

    def run(self, *arguments, statuses=(0,), killed=None, name=None):
        """Runs a command and checks how it ended. `killed` is a signal and the seconds until it is sent."""
        command = [self.binary, *arguments]
        with tempfile.TemporaryFile(dir=self.place) as output:
            process = subprocess.Popen(command, cwd=self.place, env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                       preexec_fn=self.limit, start_new_session=True)
            ends = time.monotonic() + LONGEST
            if killed:
                time.sleep(killed[1])
                # send_signal() would also wait for the process.
                os.kill(process.pid, killed[0])
            hangs = False
            while True:
                # wait4 gives the memory of this process alone.
                found, status, usage = os.wait4(process.pid, os.WNOHANG)
                if found:
                    break
                if time.monotonic() > ends:
                    hangs = True
                    os.kill(process.pid, signal.SIGKILL)
                time.sleep(0.005)
            process.returncode = code = os.waitstatus_to_exitcode(status)
            output.seek(0)
            text = output.read()
        name = name or arguments[0]
        was_killed = killed is not None and code == -killed[0]
        with self.lock:
            self.runs += 1
            self.kills += was_killed
            self.statuses[name][code] += 1
            if code == 0:
                self.memory[name].append(usage.ru_maxrss)
        shown = " ".join(arguments)
        if hangs:
            self.wrong(f"{shown} hangs")
        elif code not in statuses and not was_killed:
            self.wrong(f"{shown} ends with {code}: {text[-600:].decode(errors='replace')}")
        if left := self.of_session(process.pid):
            self.wrong(f"{shown} leaves the processes {left} running")
        return code, text

    @staticmethod
    def of_session(session):
        """The processes in the session of a command that has ended."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session:
                found.append(int(name))
        return found

    def moment(self):
        """A signal and its time for a fifth of the commands."""
        if self.random.random() > 0.2:
            return None
        return self.random.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)), self.random.uniform(0, 0.6)

    # The random actions. Status 3 is for files that changed or vanished, 5 for the full disk, 1 if no output
    # could be written.

    def backup(self):
        self.run("backup", "-q", *self.random.choice(([], [], ["--full"], ["-j", "1"], ["-j", "8"])), "--to", self.set, self.tree,
                 statuses=(0, 1, 3, 5, 11), killed=self.moment())

    def prune(self):
        self.run("prune", "-q", "--keep-last", str(self.random.randrange(2, 5)), self.set, statuses=(0, 1, 5, 11), killed=self.moment())

    def verify(self):
        self.run("verify", "-q", self.set, statuses=(0, 1, 4, 11), killed=self.moment())

    def audit(self):
        manifest = self.scratch("manifest")
        code, _ = self.run("hash", "-q", "-o", manifest, self.tree, statuses=(0, 3, 5, 1), killed=self.moment())
        if code in (0, 3) and os.path.exists(manifest):
            self.run("audit", "-q", manifest, self.tree, statuses=(0, 3, 4), killed=self.moment())
        self.drop(manifest)

    def archive(self):
        archive, target = self.scratch("a") + self.random.choice((".tar.zst", ".tar.gz", ".tar")), self.scratch("x")
        code, text = self.run("archive", "-q", "-o", archive, "-C", self.place, "tree", statuses=(0, 1, 3, 5), killed=self.moment())
        if code in (0, 3):
            status, _ = self.run("extract", "-q", "-C", target, archive, statuses=(0, 1, 3, 5), killed=self.moment())
            if status == 0:
                self.judge(target, text, "archive")
        elif os.path.exists(archive):
            # A file with its final name must be complete.
            self.run("verify", "-q", archive, name="verify after a kill")
        self.drop(archive, target)

    def compress(self):
        out, form = self.scratch("z"), self.random.choice(("gz", "zst", "xz", "lz4"))
        code, text = self.run("compress", "-q", "--format", form, "--output-dir", out, "tree", statuses=(0, 1, 3, 5), killed=self.moment())
        if os.path.isdir(out) and code not in (1, 5):
            status, more = self.run("decompress", "-q", "--remove-source", out, statuses=(0, 1, 3, 5), killed=self.moment())
            if code == 0 and status == 0:
                self.judge(out, text + more, "compress")
        self.drop(out)

    def restore(self):
        listed = self.listed()
        if not listed:
            return
        target = self.scratch("r")
        os.mkdir(target)
        # Another thread may remove the snapshot meanwhile.
        code, text = self.run("restore", "-q", "--at", self.random.choice(listed), "-C", target, self.set, statuses=(0, 1, 3, 5, 11, 64),
                              killed=self.moment())
        if code == 0:
            self.judge(target, text, "restore")
        self.drop(target)

    def mirror(self):
        target = self.scratch("m")
        choices = ([], ["--verify"], ["--checksum"], ["--delete", "--max-delete", "1000000"], ["-o", target + ".sums", "--force"])
        code, text = self.run("mirror", "-q", *self.random.choice(choices), self.tree + "/", target, statuses=(0, 1, 3, 5),
                              killed=self.moment())
        if os.path.isdir(target) and code in (0, 3):
            self.judge(target, text, "mirror")
        # The next one continues in what is there.
        if self.random.random() < 0.3:
            self.drop(target, target + ".sums")

    def scratch(self, name):
        return os.path.join(self.disk, f"{name}{threading.get_ident()}")

    def drop(self, *paths):
        for path in paths:
            shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.path.exists(path) and os.unlink(path)

    def listed(self):
        _, text = self.run("snapshots", "--json", self.set, statuses=(0, 1, 3, 4, 11))
        rows = [json.loads(line) for line in text.splitlines() if line.startswith(b"{")]
        return [row["id"] for row in rows if row.get("type") == "snapshot" and row.get("whole")]

    def judge(self, root, text, what):
        """Each file must have a content that was written; files that are written in place may be cut."""
        for folder, _, names in os.walk(root):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.islink(path) or TEMPORARY in name or not re.fullmatch(r"[rwl]\d+", name):
                    continue
                with open(path, "rb") as file:
                    data = file.read()
                if not is_whole(data) and not (name.startswith("w") or name.encode() in text):
                    self.wrong(f"{what}: {path} ({len(data)} bytes) was never written with this content")
                    keep = os.path.join(self.place, "kept")
                    os.makedirs(keep, exist_ok=True)
                    shutil.copy(path, keep)

    # The whole run.

    def worker(self, ends, seed):
        numbers = random.Random(seed)
        actions = [self.backup] * 4 + [self.prune] * 2 + [self.restore] * 2 + [self.archive] * 2 + [self.compress] * 2 + [self.audit, self.verify, self.mirror]
        while time.monotonic() < ends:
            try:
                numbers.choice(actions)()
            except OSError as error:
                # The disk is full for this script, too.
                if error.errno != errno.ENOSPC:
                    self.wrong(f"{error!r}")

    def soak(self, minutes):
        self.run("backup", "-q", "--init", "--to", self.set, self.tree)
        seeds = [self.random.randrange(1 << 30) for _ in range(8)]
        changers = [Changer(os.path.join(self.tree, str(number)), seeds[number]) for number in range(2)]
        filler = Filler(self.disk, seeds[2])
        ends = time.monotonic() + minutes * 60
        workers = [threading.Thread(target=self.worker, args=(ends, seed), daemon=True) for seed in seeds[3:5]]
        for thread in (*changers, filler, *workers):
            thread.start()
        for thread in workers:
            thread.join()
        for thread in (*changers, filler):
            thread.stopped.set()
            thread.join()
        for thread in changers:
            if thread.error:
                self.wrong(f"the tree could not be changed: {thread.error!r}")
        self.end()
        changes = sum(thread.changes for thread in changers)
        print(f"{self.runs} runs in {minutes:g} minutes, {self.kills} ended by a signal, {changes} changes of the tree, the disk full {filler.times} times")
        print("disk: " + ("a tmpfs that fills" if self.has_disk else "a folder, since no tmpfs can be mounted"))
        print(f"memory: {'at most 256 MB by a control group' if self.group.path else 'no limit, since no control group can be made'}")
        for name, counts in sorted(self.statuses.items()):
            peak = f"\tat most {max(self.memory[name]) // 1024} MB" if self.memory[name] else ""
            print(f"{name}\t" + " ".join(f"{code}:{count}" for code, count in sorted(counts.items())) + peak)

    def end(self):
        """Checks the end state: the tree does not change any more, and the disk has space."""
        time.sleep(2.1)
        self.drop(*(os.path.join(self.disk, name) for name in os.listdir(self.disk) if name != "set"))
        self.run("prune", "-q", "--keep-last", "4", self.set)
        self.run("backup", "-q", "--to", self.set, self.tree, name="last backup")
        self.run("verify", "-q", self.set, name="last verify")
        copy = os.path.join(self.place, "copy")
        for name in ("mirror", "last mirror"):
            self.run("mirror", "-q", "--delete", self.tree + "/", copy, name=name)
            same = subprocess.run(["diff", "-r", "--no-dereference", copy, self.tree], stdout=subprocess.PIPE, check=False)
            if same.returncode:
                self.wrong("the mirror differs from the tree: " + same.stdout[:500].decode(errors="replace"))
        shutil.rmtree(copy)
        listed = self.listed()
        for id in listed:
            target = os.path.join(self.place, "last")
            os.mkdir(target)
            _, text = self.run("restore", "-q", "--at", id, "-C", target, self.set, name="last restore")
            self.judge(target, text, f"snapshot {id}")
            if id == listed[-1]:
                same = subprocess.run(["diff", "-r", "--no-dereference", target + self.tree, self.tree], stdout=subprocess.PIPE, check=False)
                if same.returncode:
                    self.wrong("the last snapshot differs from the tree: " + same.stdout[:500].decode(errors="replace"))
            shutil.rmtree(target)
        if len(listed) < 2:
            self.wrong(f"only {len(listed)} snapshots are left")
        for root in (self.tree, self.set, self.temporary):
            for folder, folders, names in os.walk(root):
                for name in folders + names:
                    if TEMPORARY in name or root == self.temporary:
                        self.wrong(f"{os.path.join(folder, name)} is left")
        if left := self.group.processes():
            self.wrong(f"processes are left: {left}")
        for name, sizes in self.memory.items():
            half = len(sizes) // 2
            # Each run determines its number of operations anew, so the memory of a few runs varies too much.
            if half < 100:
                continue
            first, second = statistics.median(sizes[:half]), statistics.median(sizes[half:])
            if second > first * 1.2 + 4096:
                self.wrong(f"{name} needs {second / 1024:.0f} MB in the second half, {first / 1024:.0f} in the first")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--disk", default="160M", help="the size of the disk for outputs")
    parser.add_argument("--place", help="a folder to work in; a new temporary folder by default")
    options = parser.parse_args()
    place = tempfile.mkdtemp(prefix="batchproc-soak-", dir=options.place)
    soak = Soak(options, place)
    try:
        soak.soak(options.minutes)
    finally:
        if soak.has_disk:
            subprocess.run(["umount", soak.disk], check=False)
        soak.group.remove()
    if soak.problems:
        print(f"{len(soak.problems)} problems; kept in {place}")
        return 1
    shutil.rmtree(place)
    print("all holds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
