"""Runs of each command that changes files: the files before it, and the conditions after a complete or
partial run.

Used by crash-states.py and call-faults.py.
"""

import bz2
import functools
import gzip
import hashlib
import json
import lzma
import os
import random
import re
import shutil
import stat
import subprocess
import tempfile

TEMPORARY = ".batchproc-"


class File:
    __slots__ = ("kind", "content", "mode", "mtime")

    def __init__(self, kind, content=b"", mode=0, mtime=None):
        self.kind, self.content, self.mode, self.mtime = kind, content, mode, mtime


def read_file(path, status):
    if stat.S_ISDIR(status.st_mode):
        return File("dir", mode=stat.S_IMODE(status.st_mode))
    if stat.S_ISLNK(status.st_mode):
        return File("link", os.fsencode(os.readlink(path)))
    with open(path, "rb") as file:
        return File("file", file.read(), stat.S_IMODE(status.st_mode), status.st_mtime_ns)


def rebuild(root, tree, constant):
    for name in os.listdir(root):
        if name in constant:
            continue
        path = os.path.join(root, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    made = {}
    for path in sorted(tree, key=lambda path: path.count(b"/")):
        kind, content, mode, mtime, inode = tree[path]
        full = os.path.join(os.fsencode(root), path)
        if kind == "dir":
            os.mkdir(full)
            os.chmod(full, mode)
        elif inode in made:
            os.link(made[inode], full)
        elif kind == "link":
            os.symlink(content, full)
        else:
            with open(full, "wb") as file:
                file.write(content)
            os.chmod(full, mode)
            if mtime is not None:
                os.utime(full, ns=(mtime, mtime))
            made[inode] = full


class Program:
    def __init__(self, binary, root):
        self.binary, self.root = binary, root
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "XDG_STATE_HOME": root + "/state",
                            "XDG_CACHE_HOME": root + "/cache", "XDG_CONFIG_HOME": root + "/config", "HOME": root, "TMPDIR": root + "-tmp"}

    def run(self, *arguments, under=()):
        """`under` is a command that runs the program, such as strace."""
        return subprocess.run([*under, self.binary, *arguments], cwd=self.root, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, umask=0o22, check=False)

    def must(self, *arguments):
        done = self.run(*arguments)
        if done.returncode:
            raise RuntimeError(f"{arguments} ended with {done.returncode}: {done.stderr.decode()}")


def text(number, lines):
    return b"".join(b"%d %d\n" % (number * line, line * line) for line in range(lines))


def read_all(root):
    """{path: content} of the files below a folder; for links and folders, their kind."""
    result = {}
    for folder, folders, names in os.walk(root):
        for name in folders + names:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            file = read_file(path, status)
            result[os.path.relpath(path, root)] = (file.kind, file.content)
    return result


def is_part(some, all):
    return all.items() >= some.items()


def write_tree(root, files=8):
    os.makedirs(root + "/d/e")
    for number in range(files):
        place = ("", "d/", "d/e/")[number % 3]
        write(f"{root}/{place}f{number}", text(number + 1, (40, 300, 1500)[number % 3]))
    os.link(root + "/f0", root + "/d/name")
    write(root + "/empty", b"")
    write(root + "/large", text(3, 6000) + random.Random(1).randbytes(30000))


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)
    os.utime(path, (1700000000, 1700000000))


def temporary(root):
    return sorted(os.path.join(folder, name)[len(root) + 1:] for folder, folders, names in os.walk(root)
                  for name in folders + names if name.startswith(TEMPORARY))


class Scenario:
    """A command, the files before it, and the conditions that must hold."""
    constant = ()
    mistakes = ("file-sync", "folder-sync", "names-first")
    # The command for the next run, which must end with 0; by default the same command.
    again = None
    # The expected status, and the expected output if it is checked.
    status = 0
    printed = None
    # Whether the run named some inputs that it could not process (status 3); the others must be complete.
    is_partial = False

    def __init__(self, program):
        self.program, self.root = program, program.root
        self.memo = {}

    def path(self, name):
        return os.path.join(self.root, name)

    def prepare(self):
        raise NotImplementedError

    def after(self):
        """Remembers the result of the complete run."""

    def look(self, is_end):
        """Yields (kind, description) for each condition that the rebuilt state violates."""
        raise NotImplementedError

    def look_again(self):
        """The same for the state after the next run."""
        return ()

    def next_run(self):
        done = self.program.run(*(self.again or self.command))
        if done.returncode:
            yield "next", f"the next run ends with {done.returncode}: {done.stderr.decode()[:300]}"
        elif left := temporary(self.root):
            yield "left", f"the next run leaves {left[0]}"
        else:
            yield from self.look_again()


class Streams(Scenario):
    """One output for each source; the sources are removed."""
    mistakes = ("file-sync", "folder-sync", "names-first", "removals-first")
    suffixes = (".gz",)

    def contents(self):
        return {path: content for path, (kind, content) in read_all(self.path("t")).items() if kind == "file"}

    def after(self):
        self.outputs = self.contents()

    def plain(self, path, content):
        raise NotImplementedError

    def look(self, is_end):
        there = self.contents()
        for path, content in there.items():
            if TEMPORARY not in path and content != self.sources.get(path) and content != self.outputs.get(path):
                yield "torn", f"{path} is neither the old nor the new file"
        for path, content in self.sources.items():
            output = self.output(path)
            if there.get(path) != content and (output not in there or there[output] != self.outputs[output]):
                yield "lost", f"{path} is missing, and its output is not complete"
        for path in self.outputs if is_end else ():
            if path not in there:
                yield "lost", f"{path} is missing after the end"

    def look_again(self):
        there = self.contents()
        if there != self.outputs:
            wrong = sorted(path for path in there.keys() | self.outputs.keys() if there.get(path) != self.outputs.get(path))
            yield "next", f"after the next run {wrong[0]} differs from the expected file"


class Compress(Streams):
    command = ("compress", "-q", "--remove-source", "t")

    def prepare(self):
        write_tree(self.path("t"))
        self.sources = self.contents()

    def output(self, path):
        return path + ".gz"


class CompressReplacing(Compress):
    """An output that is older than its source is replaced."""
    command = ("compress", "-q", "--remove-source", "--force", "t")

    def prepare(self):
        write_tree(self.path("t"))
        write(self.path("t/d/f1.gz"), gzip.compress(b"older\n", mtime=0))
        os.utime(self.path("t/d/f1.gz"), (1600000000, 1600000000))
        self.sources = {path: content for path, content in self.contents().items() if not path.endswith(".gz")}

    def look(self, is_end):
        self.sources["d/f1.gz"] = gzip.compress(b"older\n", mtime=0)
        problems = list(super().look(is_end))
        del self.sources["d/f1.gz"]
        return [problem for problem in problems if not problem[1].startswith("d/f1.gz is missing, and")]


class CompressElsewhere(Streams):
    """The folders of the outputs are new as well."""
    command = ("compress", "-q", "--remove-source", "--format", "zst", "--output-dir", "t/out", "t/in")

    def prepare(self):
        os.mkdir(self.path("t"))
        write_tree(self.path("t/in"))
        self.sources = self.contents()

    def output(self, path):
        return "out/t/" + path + ".zst"


class Decompress(Streams):
    command = ("decompress", "-q", "--remove-source", "t")

    def prepare(self):
        write_tree(self.path("t"))
        for number, (path, content) in enumerate(sorted(self.contents().items())):
            if path == "d/name":
                os.unlink(self.path("t/d/name"))
                continue
            pack, suffix = ((lambda c: gzip.compress(c, mtime=0), ".gz"), (lzma.compress, ".xz"), (bz2.compress, ".bz2"))[number % 3]
            os.unlink(self.path("t/" + path))
            write(self.path("t/" + path + suffix), pack(content))
        self.sources = self.contents()

    def output(self, path):
        return path.rsplit(".", 1)[0]


class RunOutputs(Streams):
    """A command of the user makes one output for each source, which stays."""
    # dd reads and writes; cp and cat may let the kernel copy.
    command = ("run", "-q", "--suffix", ".o", "t", "--", "dd", "status=none", "if={}", "of={out}")
    # The rebuilt files have no marks.
    again = ("run", "-q", "--force", "--suffix", ".o", "t", "--", "dd", "status=none", "if={}", "of={out}")
    mistakes = ("file-sync", "folder-sync", "names-first")

    def prepare(self):
        write_tree(self.path("t"))
        self.sources = self.contents()

    def output(self, path):
        return path + ".o"

    def look(self, is_end):
        yield from super().look(is_end)
        there = self.contents()
        for path, content in self.sources.items():
            if there.get(path) != content:
                yield "lost", f"{path} is not the source any more"

    def look_again(self):
        # A forced run takes the outputs of the run before for sources, unless they have marks.
        there = self.contents()
        for path in self.outputs:
            if there.get(path) != self.outputs[path]:
                yield "next", f"after the next run {path} differs from the expected file"


class RunInPlace(Streams):
    """A command of the user changes files."""
    command = ("run", "-q", "--in-place", "t/d/e", "t/large", "--", "sed", "-i", "s/1/22/")
    mistakes = ("file-sync", "names-first")

    def prepare(self):
        write_tree(self.path("t"))
        self.sources = self.contents()

    def output(self, path):
        return path

    def look_again(self):
        # Without marks, which the rebuilt files do not have, the next run changes them again.
        return ()


class Mirror(Scenario):
    """A copy of a tree, in which some files replace older ones."""
    constant = ("src",)
    command = ("mirror", "-q", "src/", "dst")
    mistakes = ("file-sync", "names-first")

    def prepare(self):
        write_tree(self.path("src"))
        os.makedirs(self.path("dst/d"))
        for name in ("f0", "d/f1", "large"):
            write(self.path("dst/" + name), b"older\n")
            os.utime(self.path("dst/" + name), (1600000000, 1600000000))
        self.sources = self.contents("src")
        self.old = self.contents("dst")

    def contents(self, folder):
        return {path: content for path, (kind, content) in read_all(self.path(folder)).items() if kind == "file"}

    def look(self, is_end):
        there = self.contents("dst")
        for path, content in there.items():
            if TEMPORARY not in path and content not in (self.old.get(path), self.sources.get(path)):
                yield "torn", f"dst/{path} is neither the old nor the new file"
        for path in self.old:
            if path not in there:
                yield "lost", f"dst/{path} is missing"
        if is_end and there != self.sources:
            yield "lost", "the copy is not complete after the end"

    def look_again(self):
        if self.contents("dst") != self.sources:
            yield "next", "after the next run the copy differs from the source"


class MirrorDeleting(Mirror):
    """A copy after which what the source does not have is removed."""
    command = ("mirror", "-q", "--delete", "--max-delete", "9", "src/", "dst")

    def prepare(self):
        super().prepare()
        os.mkdir(self.path("dst/gone"))
        write(self.path("dst/gone/f"), b"gone\n")
        self.old = {path: content for path, content in self.contents("dst").items() if path != "gone/f"}

    def look(self, is_end):
        gone = self.path("dst/gone/f")
        if os.path.exists(gone):
            os.unlink(gone)
        yield from super().look(is_end)


class OneOutput(Scenario):
    """A single output: the old file or the new one."""
    constant = ("src",)
    output = "out"

    def content(self):
        try:
            with open(self.path(self.output), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def prepare(self):
        write_tree(self.path("src"))
        self.old = None

    def after(self):
        self.new = self.content()

    def look(self, is_end):
        content = self.content()
        if content not in (self.old, self.new) and not self.is_equal():
            yield "torn", f"{self.output} is neither the old nor the new file"
        if is_end and content != self.new and not self.is_equal():
            yield "lost", f"{self.output} is not the new file after the end"

    def is_equal(self):
        """Whether a different output is equivalent, except for inputs that were named as failed."""
        return False

    def look_again(self):
        if self.content() != self.new:
            yield "next", f"{self.output} is a different file after the next run"


class Archive(OneOutput):
    output = "a.tar.zst"
    command = ("archive", "-q", "-o", "a.tar.zst", "src")
    again = ("archive", "-q", "--force", "-o", "a.tar.zst", "src")

    def is_equal(self):
        target = self.root + "-restored"
        shutil.rmtree(target, ignore_errors=True)
        done = self.program.run("extract", "-q", "--no-fsync", "-C", target, self.output)
        if done.returncode:
            return False
        there, expected = read_all(target + "/src"), read_all(self.path("src"))
        return is_part(there, expected) if self.is_partial else there == expected


class ArchiveReplaced(Archive):
    command = Archive.again

    def prepare(self):
        super().prepare()
        self.program.must("archive", "-q", "-o", "a.tar.zst", "src/d")
        self.old = self.content()


class Hash(OneOutput):
    output = "m"
    command = ("hash", "-q", "-o", "m", "src")
    again = ("hash", "-q", "--force", "-o", "m", "src")

    def is_equal(self):
        return self.is_partial and set((self.content() or b"").splitlines()) < set(self.new.splitlines())

    def prepare(self):
        os.mkdir(self.path("src"))
        for number in range(300):
            write(self.path(f"src/file with a long name, number {number}"), b"%d\n" % number)
        self.old = None


class HashReplaced(Hash):
    command = Hash.again

    def prepare(self):
        super().prepare()
        self.program.must("hash", "-q", "-o", "m", "src")
        self.old = self.content()
        write(self.path("src/file with a long name, number 7"), b"changed\n")


class Merge(OneOutput):
    output = "a.tar.zst"
    constant = ("src", "plan")
    command = ("merge", "-q", "plan")
    again = ("merge", "-q", "--force", "plan")

    def prepare(self):
        self.old = None
        write_tree(self.path("src"))
        self.program.must("plan", "-q", "--shards", "3", "--out", "plan", "--", "archive", "--stride", "3", "-o", self.path(self.output),
                          self.path("src"))
        for shard in range(3):
            self.program.must("archive", "-q", "--plan", "plan", "--shard", str(shard))


CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *t) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, t);
  if (id == CLOCK_REALTIME && getenv("SHIFT")) t->tv_sec += atol(getenv("SHIFT"));
  return result;
}
time_t time(time_t *t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t) *t = now.tv_sec;
  return now.tv_sec;
}
"""


@functools.cache
def clock_library():
    """The content of a library that moves the clock of a program by SHIFT seconds."""
    with tempfile.TemporaryDirectory(prefix="batchproc-clock-") as folder:
        library = os.path.join(folder, "clock.so")
        subprocess.run(("cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", library, "-ldl"), input=CLOCK.encode(), check=True)
        with open(library, "rb") as file:
            return file.read()


class Sets(Scenario):
    """Snapshots: each listed snapshot can be restored."""
    constant = ("src",)
    folder = "s"
    identity = ()
    # How many seconds the clock of the program is ahead.
    ahead = 0

    def backup(self, *options):
        """Makes a snapshot an hour before the command runs."""
        self.set_clock(self.ahead - 3600)
        self.program.must("backup", "-q", "--to", "s", *options, "src")
        self.set_clock(self.ahead)
        # The id of a snapshot is the second in which it began, or the next one that is not taken.
        ids = self.listed("s")
        trees = getattr(self, "trees", {})
        self.trees = {**trees, **{id: read_all(self.path("src")) for id in ids if id not in trees}}

    def advance_clock(self):
        """Lets the program see a clock that is a day ahead: files that have just been made would be archived again."""
        self.ahead = 86400
        self.set_clock(self.ahead)

    def set_clock(self, seconds):
        environment = self.program.environment
        environment.pop("LD_PRELOAD", None)
        if seconds:
            library = self.root + "-tmp/clock.so"
            write(library, clock_library())
            environment.update(LD_PRELOAD=library, SHIFT=str(seconds))

    def files(self, folder):
        return {path: content for path, (kind, content) in read_all(self.path(folder)).items()
                if not os.path.basename(path).startswith(".")}

    def digest(self, folder):
        """A digest of the files of a set."""
        digest = hashlib.sha1()
        for path, content in sorted(self.files(folder).items()):
            digest.update(b"%s\0%d\0" % (os.fsencode(path), len(content)))
            digest.update(content)
        return digest.digest()

    def listed(self, folder, is_complete=True):
        """The ids of the snapshots that can be restored; those of runs that were cut with `is_complete` False."""
        return [row["id"] for row in self.rows(folder) if row.get("whole") and row.get("complete", True) == is_complete]

    def rows(self, folder):
        """The rows of the list of snapshots. They are cached by the files of the set."""
        if not os.path.isdir(self.path(folder)):
            return []
        hidden = tuple(sorted(name for name in os.listdir(self.path(folder)) if name.startswith(".")))
        key = "rows", folder, hidden, self.digest(folder)
        if key not in self.memo:
            done = self.program.run("snapshots", "--json", *self.identity, folder)
            rows = [json.loads(line) for line in done.stdout.splitlines()]
            self.memo[key] = [row for row in rows if row.get("type") == "snapshot"]
        return self.memo[key]

    def restores(self, folder, id, expected):
        """Whether a restore of a snapshot gives its original tree. The result is cached by the files of the
        set.
        """
        key = folder, id, self.digest(folder)
        if key not in self.memo:
            target = self.root + "-restored"
            shutil.rmtree(target, ignore_errors=True)
            done = self.program.run("restore", "-q", "--no-fsync", "--at", id, *self.identity, "-C", target, folder)
            self.memo[key] = read_all(target + self.path("src")) if done.returncode == 0 else None
        restored = self.memo[key]
        return restored is not None and (is_part(restored, expected) if self.is_partial else restored == expected)

    def restorable(self, folder, needed):
        """Checks the snapshots that existed before the command."""
        listed = self.listed(folder)
        for id in listed:
            if id in self.trees and not self.restores(folder, id, self.trees[id]):
                yield "torn", f"the snapshot {id} in {folder} is listed and cannot be restored"
        for id in needed:
            if id not in listed:
                yield "lost", f"the snapshot {id} is missing in {folder}"


class Backup(Sets):
    command = ("backup", "-q", "--to", "s", "src")
    mistakes = ("file-sync", "folder-sync", "names-first")

    def prepare(self):
        write_tree(self.path("src"))
        self.backup("--init")
        self.before = self.listed("s")
        write(self.path("src/new"), text(9, 2000))
        write(self.path("src/f0"), text(8, 50))

    def look(self, is_end):
        yield from self.restorable("s", self.before)
        self.there = self.listed("s")
        made = [id for id in self.there if id not in self.before]
        if is_end and not made:
            yield "lost", "there is no new snapshot after the end"
        for id in made:
            if not self.restores("s", id, self.now()):
                yield "torn", f"the new snapshot {id} is listed and cannot be restored"

    def now(self):
        return read_all(self.path("src"))

    def look_again(self):
        self.is_partial = False
        made = [id for id in self.listed("s") if id not in self.there]
        if not made:
            yield "next", "the next run makes no listed snapshot"
        for id in made:
            if not self.restores("s", id, self.now()):
                yield "next", f"the snapshot of the next run cannot be restored: {id}"
        # A marker for earlier versions stays when its snapshot goes.
        names = {path.split(".")[0] for path in self.files("s") if not path.endswith(".manifest")}
        listed = self.listed("s")
        rows = [row for row in self.rows("s") if row["id"] in listed]
        known = {"backup-" + id for row in rows for id in (row["id"], *row["archives"].split())}
        if orphans := sorted(names - known):
            yield "left", f"files without a snapshot are left after the next run: {orphans[0]}"


class FirstBackup(Backup):
    command = ("backup", "-q", "--init", "--to", "s", "src")

    def prepare(self):
        write_tree(self.path("src"))
        self.before, self.trees = [], {}

    def next_run(self):
        # If the set exists and this machine knows it, --init would begin another set.
        has_begun = os.path.exists(self.path("state/batchproc/sets"))
        self.again = Backup.command if has_begun else self.command
        return super().next_run()


class CheckpointBackup(Backup):
    """A run in several parts. Until it ends, the newest part is a snapshot that has some of the files."""
    command = ("backup", "-q", "--checkpoint", "1M", "--stride", "2", "--to", "s", "src")

    def prepare(self):
        super().prepare()
        for number in range(9):
            write(self.path(f"src/d/more{number}"), text(20 + number, 60_000))

    def after(self):
        if len([path for path in self.files("s") if ".tar.zst" in path]) < 5:
            raise RuntimeError("the backup has no checkpoints")

    def look(self, is_end):
        yield from super().look(is_end)
        for id in self.listed("s", is_complete=False):
            self.is_partial = True
            if not self.restores("s", id, self.now()):
                yield "torn", f"the checkpoint {id} is listed and cannot be restored"
            self.is_partial = False
            if is_end:
                yield "left", "a checkpoint is listed after the end"

    def look_again(self):
        yield from super().look_again()
        if self.listed("s", is_complete=False):
            yield "left", "a checkpoint is listed after the next run"


class ReferringBackup(Backup):
    """A snapshot whose rows refer to older archives: of moved files, of files with another mode, and of blocks that did not change."""

    def prepare(self):
        write_tree(self.path("src"))
        write(self.path("src/image"), text(7, 500_000))
        self.advance_clock()
        self.backup("--init")
        self.before = self.listed("s")
        os.rename(self.path("src/d"), self.path("src/moved"))
        os.chmod(self.path("src/large"), 0o600)
        with open(self.path("src/image"), "r+b") as file:
            file.seek(3_000_000)
            file.write(b"changed")

    def after(self):
        if sum(len(data) for path, data in self.files("s").items() if ".tar.zst" in path) > 1.5 * os.path.getsize(self.first()):
            raise RuntimeError("the second archive is not small")

    def first(self):
        return self.path("s/" + min(path for path in self.files("s") if ".tar.zst" in path))


class PruningBackup(Backup):
    command = ("backup", "-q", "--full", "--prune-first", "--keep-last", "2", "--to", "s", "src")
    # Snapshots that the command removes before it makes one.
    old = ()

    def prepare(self):
        write_tree(self.path("src"))
        for number in range(3):
            write(self.path("src/new"), text(number, 500))
            self.backup(*(["--init"] if number == 0 else []), "--full")
        listed = self.listed("s")
        self.old, self.before = listed[:-1], listed[-1:]
        write(self.path("src/f0"), text(8, 50))

    def listed(self, folder):
        return [id for id in super().listed(folder) if id not in self.old]


class EncryptedBackup(Backup):
    constant = ("src", "key")
    identity = ("--identity", "key")

    def prepare(self):
        done = self.program.run("keygen", "-o", "key")
        recipient = re.search(rb"age1\w+", done.stdout + done.stderr)[0].decode()
        self.command = ("backup", "-q", "--encrypt-to", recipient, "--to", "s", "src")
        write_tree(self.path("src"))
        self.backup("--init", "--encrypt-to", recipient)
        self.before = self.listed("s")
        write(self.path("src/new"), text(9, 2000))


class Prune(Sets):
    command = ("prune", "-q", "--keep-last", "2", "s")
    mistakes = ("folder-sync", "removals-first")

    def prepare(self):
        write_tree(self.path("src"))
        for number in range(5):
            write(self.path("src/new"), text(number, 500))
            self.backup(*(["--init"] if number == 0 else []), *(["--full"] if number in (0, 3) else []))
        self.kept = self.listed("s")[-2:]

    def after(self):
        self.last = sorted(self.files("s"))

    def look(self, is_end):
        yield from self.restorable("s", self.kept)
        if is_end and sorted(self.files("s")) != self.last:
            yield "lost", "a pruned snapshot exists after the end"

    def look_again(self):
        if sorted(self.files("s")) != self.last:
            yield "left", f"after the next run there is {sorted(set(self.files('s')) ^ set(self.last))[0]}"


class Compaction(Prune):
    """Of the first archive little is needed. It is replaced under its name, and needed by the snapshots that stay."""
    command = ("prune", "-q", "--keep-last", "2", "s")
    mistakes = ("file-sync", "names-first")
    options = ()

    def prepare(self):
        write_tree(self.path("src"))
        self.advance_clock()
        for number in range(4):
            for name in ("large", "f6", "d/f1", "d/e/f2", "d/e/f5", "d/f7")[2 * number - 2:2 * number] if number else ():
                os.unlink(self.path("src/" + name))
            write(self.path("src/new"), text(number, 500))
            self.backup(*(["--init"] if number == 0 else []), "--full-every", "1000", *self.options)
        self.kept = self.listed("s")[-2:]
        self.first = min(path for path in self.files("s") if ".tar.zst" in path)
        self.whole = len(self.files("s")[self.first])

    def after(self):
        super().after()
        if len(self.files("s")[self.first]) >= self.whole / 2:
            raise RuntimeError("the archive is not compacted")

    def look(self, is_end):
        yield from super().look(is_end)
        # No state is damage.
        done = self.program.run("verify", "-q", "s")
        if done.returncode:
            yield "torn", f"verify ends with {done.returncode}: {done.stderr.decode()[:200]}"

    def look_again(self):
        yield from super().look_again()
        yield from self.restorable("s", self.kept)
        if len(self.files("s")[self.first]) >= self.whole / 2:
            yield "next", "the next run does not compact the archive"
        done = self.program.run("verify", "-q", "s")
        if done.returncode:
            yield "next", f"verify ends with {done.returncode} after the next run: {done.stderr.decode()[:200]}"


class EncryptedCompaction(Compaction):
    constant = ("src", "key")
    identity = ("--identity", "key")
    command = (*Prune.command, "--identity", "key")

    def prepare(self):
        done = self.program.run("keygen", "-o", "key")
        recipient = re.search(rb"age1\w+", done.stdout + done.stderr)[0].decode()
        self.options = ("--encrypt-to", recipient)
        super().prepare()


class Copy(Sets):
    constant = ("src", "s", "state")
    command = ("copy", "-q", "s", "c")

    def prepare(self):
        write_tree(self.path("src"))
        for number in range(2):
            write(self.path("src/new"), text(number, 500))
            self.backup(*([] if number else ["--init"]))
        os.mkdir(self.path("c"))

    def look(self, is_end):
        yield from self.restorable("c", list(self.trees) if is_end else [])

    def look_again(self):
        # The hashes of blocks are for the next backup alone.
        if self.files("c") != {path: data for path, data in self.files("s").items() if not path.endswith(".blocks")}:
            yield "next", "the copy is not complete after the next run"


class Restore(Sets):
    """A restore renames files before their contents are synced; they are synced when it ends.

    Before the end: the next run names each incomplete file, and with --force it replaces these files.
    """
    constant = ("src", "s", "state")
    command = ("restore", "-q", "-C", "r", "s")
    mistakes = ("file-sync",)

    def prepare(self):
        write_tree(self.path("src"))
        os.symlink("f0", self.path("src/link"))
        self.backup("--init")
        self.expected = read_all(self.path("src"))
        os.mkdir(self.path("r"))

    def there(self):
        folder = self.path("r") + self.path("src")
        return read_all(folder) if os.path.isdir(folder) else {}

    def look(self, is_end):
        if is_end and self.there() != self.expected:
            yield "lost", "the restored tree is not complete after the end"

    def next_run(self):
        done = self.program.run(*self.command)
        if done.returncode == 0 and self.there() != self.expected:
            yield "torn", "the next run ends with 0, and some files are not complete"
        elif done.returncode == 3:
            done = self.program.run(*self.command, "--force")
        if done.returncode:
            yield "next", f"the next run ends with {done.returncode}: {done.stderr.decode()[:300]}"
        elif self.there() != self.expected:
            yield "next", "the tree is not complete after the next run"
        elif left := temporary(self.root):
            yield "left", f"the next run leaves {left[0]}"


class Duplicates(Scenario):
    command = ("duplicates", "-q", "--link", "hard", "t")
    # A link has no separate content that could be late, and a copy is replaced in one step.
    mistakes = ("early-removal",)

    def prepare(self):
        os.makedirs(self.path("t/d"))
        for number in range(24):
            write(self.path(f"t/{'d/' if number % 2 else ''}f{number}"), text(number % 5, 300))
        self.expected = read_all(self.path("t"))

    def look(self, is_end):
        there = {path: value for path, value in read_all(self.path("t")).items() if TEMPORARY not in path}
        for path, value in self.expected.items():
            if path not in there:
                yield "lost", f"{path} is missing"
            elif there[path] != value:
                yield "torn", f"{path} has a different content"

    def look_again(self):
        yield from self.look(False)
        inodes = {os.stat(self.path("t/" + path)).st_ino for path, (kind, _) in self.expected.items() if kind == "file"}
        if len(inodes) != 5:
            yield "next", f"{len(inodes)} files are left, not 5"


def recoverable(scenario, folder=""):
    """Each archive and manifest that has recovery data is the one that they describe."""
    names = [name for name in os.listdir(scenario.path(folder)) if name.endswith(".par2")]
    for file in sorted({re.sub(r"(\.vol\d+\+\d+)?\.par2$", "", name) for name in names}):
        if not os.path.exists(scenario.path(os.path.join(folder, file))):
            continue
        done = scenario.program.run("parity", "verify", "-q", os.path.join(folder, file))
        if done.returncode:
            yield "torn", f"{file} and its recovery data differ: {done.stdout.decode()[:200]}"


class ParityArchive(Archive):
    command = ("archive", "-q", "--parity", "50%", "-o", "a.tar.zst", "src")
    again = ("archive", "-q", "--force", "--parity", "50%", "-o", "a.tar.zst", "src")

    def look(self, is_end):
        yield from super().look(is_end)
        yield from recoverable(self)
        if is_end and not os.path.exists(self.path("a.tar.zst.par2")):
            yield "lost", "there are no recovery data after the end"

    def look_again(self):
        yield from super().look_again()
        yield from recoverable(self)
        if len([name for name in os.listdir(self.root) if name.endswith(".par2")]) != 2:
            yield "left", "there are other recovery data after the next run"


class ParityArchiveReplaced(ParityArchive):
    command = ParityArchive.again

    def prepare(self):
        super().prepare()
        self.program.must("archive", "-q", "--parity", "50%", "-o", "a.tar.zst", "src/d")
        self.old = self.content()


class ParityCreate(Scenario):
    command = ("parity", "create", "-q", "--parity", "100%", "f")
    again = ("parity", "create", "-q", "--parity", "100%", "--force", "f")

    def prepare(self):
        write(self.path("f"), random.Random(4).randbytes(60_000))
        self.whole = read_all(self.root)["f"]

    def look(self, is_end):
        if read_all(self.root).get("f") != self.whole:
            yield "lost", "the file is another one"
        yield from recoverable(self)
        if is_end and not os.path.exists(self.path("f.par2")):
            yield "lost", "there are no recovery data after the end"

    def look_again(self):
        yield from self.look(True)


class Repair(ParityCreate):
    """A damaged file; with --force it is not kept."""
    command = again = ("repair", "-q", "f")

    def prepare(self):
        super().prepare()
        self.program.must(*ParityCreate.command)
        content = bytearray(self.whole[1])
        content[100], content[20_000:21_000] = 1, b""
        self.damaged = bytes(content)
        write(self.path("f"), self.damaged)

    def look(self, is_end):
        there = read_all(self.root)
        content = there.get("f", (None, None))[1]
        if content not in (self.whole[1], self.damaged):
            yield "lost", "the file is neither the damaged nor the whole one"
        if is_end and content != self.whole[1]:
            yield "lost", "the file is damaged after the end"
        if is_end and "--force" not in self.command and there.get("f.damaged", (None, None))[1] != self.damaged:
            yield "lost", "the damaged file is not kept"

    def look_again(self):
        if read_all(self.root)["f"][1] != self.whole[1]:
            yield "next", "the next run does not repair the file"


class RepairReplacing(Repair):
    command = again = ("repair", "-q", "--force", "f")


class ParityBackup(Backup):
    command = ("backup", "-q", "--parity", "50%", "--to", "s", "src")

    def backup(self, *options):
        super().backup("--parity", "50%", *options)

    def look(self, is_end):
        yield from super().look(is_end)
        yield from recoverable(self, "s")

    def look_again(self):
        yield from super().look_again()
        yield from recoverable(self, "s")
        files = self.files("s")
        for path in files:
            if path.endswith(".zst") and path + ".par2" not in files:
                yield "next", f"{path} has no recovery data"


class ParityPrune(Prune):
    def backup(self, *options):
        super().backup("--parity", "50%", *options)

    def look(self, is_end):
        yield from super().look(is_end)
        yield from recoverable(self, "s")


class ParityCompaction(Compaction):
    options = ("--parity", "50%")

    def prepare(self):
        super().prepare()
        self.first = min(path for path in self.files("s") if path.endswith(".tar.zst"))

    def look(self, is_end):
        yield from super().look(is_end)
        yield from recoverable(self, "s")


SCENARIOS = {
    "compress": Compress, "compress --force": CompressReplacing, "compress --output-dir": CompressElsewhere, "decompress": Decompress, "run": RunOutputs,
    "run --in-place": RunInPlace, "archive": Archive,
    "archive --force": ArchiveReplaced, "backup": Backup, "backup --init": FirstBackup, "backup --encrypt-to": EncryptedBackup,
    "backup --prune-first": PruningBackup, "backup --checkpoint": CheckpointBackup, "backup of moved and changed files": ReferringBackup,
    "prune": Prune, "prune with compaction": Compaction, "prune with compaction, encrypted": EncryptedCompaction,
    "restore": Restore, "copy": Copy, "merge": Merge, "duplicates": Duplicates, "hash": Hash, "hash --force": HashReplaced,
    "mirror": Mirror, "mirror --delete": MirrorDeleting, "parity create": ParityCreate, "repair": Repair,
    "repair --force": RepairReplacing, "archive --parity": ParityArchive, "archive --force --parity": ParityArchiveReplaced,
    "backup --parity": ParityBackup, "prune with recovery data": ParityPrune, "compaction with recovery data": ParityCompaction,
}


class Reader(Scenario):
    """A command that changes no file: its output must be the same, or its status different."""
    constant = ("src", "state", "s", "m", "a.tar.zst", "a.zip", "src.gz", "r")
    mistakes = ()
    arguments = ()
    made_by = ()

    def __init__(self, program):
        super().__init__(program)
        self.command = self.arguments

    def prepare(self):
        write_tree(self.path("src"))
        for command in self.made_by:
            self.program.must(*command)
        self.printed = self.program.run(*self.command).stdout

    def look(self, is_end):
        return ()


class Extract(Reader):
    constant = ("src", "state", "a.tar.zst", "a.zip")
    folder = "r"

    def prepare(self):
        write_tree(self.path("src"))
        for command in self.made_by:
            self.program.must(*command)
        self.expected = read_all(self.path("src"))
        os.mkdir(self.path("r"))

    def look(self, is_end):
        there = read_all(self.path("r/src")) if os.path.isdir(self.path("r/src")) else {}
        for path, (kind, content) in there.items():
            if kind == "file" and TEMPORARY not in path and self.expected.get(path) != (kind, content):
                yield "torn", f"{path} is not complete"
        if is_end and there != self.expected:
            yield "lost", "the extracted tree is not complete after the end"

    def next_run(self):
        done = self.program.run(*self.command, "--force")
        if done.returncode:
            yield "next", f"the next run ends with {done.returncode}: {done.stderr.decode()[:300]}"
        else:
            yield from self.look(True)


def reader(kind, *arguments, made_by=(), status=0):
    return type("Reading", (kind,), {"arguments": arguments, "made_by": made_by, "status": status})


HASHED = (("hash", "-q", "-o", "m", "src"),)
ARCHIVED = (("archive", "-q", "-o", "a.tar.zst", "src"),)
ZIPPED = (("archive", "-q", "-o", "a.zip", "src"),)
SAVED = (("backup", "-q", "--init", "--to", "s", "src"),)
PACKED = (("compress", "-q", "src/large"),)

READERS = {
    "hash to a pipe": reader(Reader, "hash", "-q", "src"), "check": reader(Reader, "check", "-q", "m", made_by=HASHED),
    "audit": reader(Reader, "audit", "-q", "m", "src", made_by=HASHED), "test": reader(Reader, "test", "-q", "src/large.gz", made_by=PACKED),
    "cat": reader(Reader, "cat", "src/large.gz", made_by=PACKED), "list": reader(Reader, "list", "a.tar.zst", made_by=ARCHIVED),
    "verify": reader(Reader, "verify", "-q", "a.tar.zst", made_by=ARCHIVED), "verify zip": reader(Reader, "verify", "-q", "a.zip", made_by=ZIPPED),
    "snapshots": reader(Reader, "snapshots", "s", made_by=SAVED), "drill": reader(Reader, "drill", "-q", "--all", "s", made_by=SAVED),
    "extract": reader(Extract, "extract", "-q", "-C", "r", "a.tar.zst", made_by=ARCHIVED),
    "extract zip": reader(Extract, "extract", "-q", "-C", "r", "a.zip", made_by=ZIPPED),
}


class DecompressOf(Decompress):
    """Files of one format, compressed by the program itself."""

    def prepare(self):
        write_tree(self.path("t"))
        self.program.must("compress", "-q", "--remove-source", "--format", self.format, "t")
        self.sources = self.contents()


def codec(kind, format, *command):
    return type("Codec", (kind,), {"format": format, "command": command, "output": lambda self, path: f"out/t/{path}.{format}"}
                if kind is CompressElsewhere else {"format": format, "command": command})


CODECS = {
    f"{verb} {format}": made for format in ("xz", "lz4", "zst", "gz")
    for verb, made in (
        ("compress", codec(CompressElsewhere, format, "compress", "-q", "--remove-source", "--format", format, "--output-dir", "t/out", "t/in")),
        ("decompress", codec(DecompressOf, format, "decompress", "-q", "--remove-source", "t")))
}
