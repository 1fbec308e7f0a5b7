#!/usr/bin/env python3
"""Runs commands at random for a long time over a tree that others change, with little room, and looks at what is left.

usage: scripts/soak.py BINARY [--minutes N] [--seed N] [--disk SIZE] [--place DIR]

Two threads create, remove, rename, truncate, chmod and swap the files and folders of a tree; a third one fills the disk of the outputs
(a tmpfs of --disk bytes, where this is root) and frees it again. Over that run backups, audits, archives, extractions, compress,
verify, prune and restores at random, one or two at a time, with 64 descriptors and in a memory control group of 256 MB where one can
be made; a fifth of them is ended by SIGKILL, SIGTERM or SIGINT at a random moment.

The name of a file is in its content, with a checksum, so that each one that comes back is known to be one that was written whole.
Files that are written in place may be caught in between; then the run has to have named them. Each run ends in time with a status of
the table, and leaves no process, and nothing in TMPDIR. At the end the tree stands still: a backup of it restores to it byte for byte, every
snapshot that is listed restores to files that were written, nothing temporary is left, and the memory of the later half of the runs is not
above that of the first half. Ends with 1 when something does not hold.
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
# Of each kind in each folder: the tree grows to 25 MB, of which the default disk holds some snapshots and what two commands write.
NAMES = 30
LONGEST = 120


def content(name, random_numbers, length):
    """A file that says what it is: a checksum of all that follows."""
    body = name.encode() + b"\n" + random_numbers.randbytes(length // 2).hex().encode()
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def is_whole(data):
    head, mark, body = data.partition(b"\n")
    return bool(mark) and hashlib.sha256(body).hexdigest().encode() == head


class ControlGroup:
    """A memory limit for the commands, by either version of control groups; none where it cannot be made."""

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
    """Changes the tree until it is stopped. Each of two has folders of its own, so that it knows what is in them."""

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
        """Files of the name r… are replaced whole, those of the name w… are written in place."""
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
        # A file keeps its kind.
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
        """Two folders change their names, or one is a link to the other for a moment."""
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
            # The clock of file times goes in steps of some milliseconds: two changes in one step look like one.
            self.stopped.wait(self.random.choice((0.012, 0.012, 0.03, 0.2)))


class Filler(threading.Thread):
    """Fills the disk of the outputs to the last byte, and frees it again."""

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

    # One command.

    def limit(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        self.group.enter()

    def run(self, *arguments, statuses=(0,), killed=None, name=None):
        """Runs a command and looks at how it ended. `killed` is a signal and after how many seconds it comes."""
        command = [self.binary, *arguments]
        with tempfile.TemporaryFile(dir=self.place) as output:
            process = subprocess.Popen(command, cwd=self.place, env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                       preexec_fn=self.limit, start_new_session=True)
            ends = time.monotonic() + LONGEST
            if killed:
                time.sleep(killed[1])
                # send_signal() would wait for the process, too.
                os.kill(process.pid, killed[0])
            hangs = False
            while True:
                # wait4 tells the memory of this one process.
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
            self.wrong(f"{shown} does not end")
        elif code not in statuses and not was_killed:
            self.wrong(f"{shown} ends with {code}: {text[-600:].decode(errors='replace')}")
        if left := self.of_session(process.pid):
            self.wrong(f"{shown} leaves the processes {left}")
        return code, text

    @staticmethod
    def of_session(session):
        """Processes of the session of a command that has ended."""
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
        """For every fifth command, how and when it is ended."""
        if self.random.random() > 0.2:
            return None
        return self.random.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)), self.random.uniform(0, 0.6)

    # What is done at random. 3 is for files that changed or vanished, 5 for the full disk, 1 where nothing could be written.

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
            # What has its final name is whole.
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
        # A snapshot may go meanwhile.
        code, text = self.run("restore", "-q", "--at", self.random.choice(listed), "-C", target, self.set, statuses=(0, 1, 3, 5, 11, 64),
                              killed=self.moment())
        if code == 0:
            self.judge(target, text, "restore")
        self.drop(target)

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
        """Each file is one that was written; files that are written in place may be cut."""
        for folder, _, names in os.walk(root):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.islink(path) or TEMPORARY in name or not re.fullmatch(r"[rwl]\d+", name):
                    continue
                with open(path, "rb") as file:
                    data = file.read()
                if not is_whole(data) and not (name.startswith("w") or name.encode() in text):
                    self.wrong(f"{what}: {path} ({len(data)} bytes) was never written so")
                    keep = os.path.join(self.place, "kept")
                    os.makedirs(keep, exist_ok=True)
                    shutil.copy(path, keep)

    # The whole.

    def worker(self, ends, seed):
        numbers = random.Random(seed)
        actions = [self.backup] * 4 + [self.prune] * 2 + [self.restore] * 2 + [self.archive] * 2 + [self.compress] * 2 + [self.audit, self.verify]
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
        print("disk: " + ("a tmpfs that fills" if self.has_disk else "a folder, since nothing can be mounted"))
        print(f"memory: {'at most 256 MB by a control group' if self.group.path else 'no limit, since no control group can be made'}")
        for name, counts in sorted(self.statuses.items()):
            peak = f"\tat most {max(self.memory[name]) // 1024} MB" if self.memory[name] else ""
            print(f"{name}\t" + " ".join(f"{code}:{count}" for code, count in sorted(counts.items())) + peak)

    def end(self):
        """The tree stands still, and there is room."""
        time.sleep(2.1)
        self.drop(*(os.path.join(self.disk, name) for name in os.listdir(self.disk) if name != "set"))
        self.run("prune", "-q", "--keep-last", "4", self.set)
        self.run("backup", "-q", "--to", self.set, self.tree, name="last backup")
        self.run("verify", "-q", self.set, name="last verify")
        listed = self.listed()
        for id in listed:
            target = os.path.join(self.place, "last")
            os.mkdir(target)
            _, text = self.run("restore", "-q", "--at", id, "-C", target, self.set, name="last restore")
            self.judge(target, text, f"snapshot {id}")
            if id == listed[-1]:
                same = subprocess.run(["diff", "-r", "--no-dereference", target + self.tree, self.tree], stdout=subprocess.PIPE, check=False)
                if same.returncode:
                    self.wrong("the last snapshot is not the tree: " + same.stdout[:500].decode(errors="replace"))
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
            # The number of operations is found anew by each run, so that few of them say nothing.
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
    parser.add_argument("--disk", default="160M", help="size of the disk of the outputs")
    parser.add_argument("--place", help="a folder to work in; default a new one in the folder of temporary files")
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
        print(f"{len(soak.problems)} wrong; kept in {place}")
        return 1
    shutil.rmtree(place)
    print("all holds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
