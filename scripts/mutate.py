#!/usr/bin/env python3
"""Gives the program files with random changes, and checks the results.

usage: scripts/mutate.py BINARY [--runs N] [--seed N] [--only REGEX] [--keep DIR]

The changed files are: our archives in each format, foreign archives, encrypted archives, compressed files,
manifests of digests, backup sets (archives, manifests, companions), plans and results of shards, and the
configuration. A change consists of one to six edits: a bit, a byte, a number, digits, a cut, or a part that
is removed, doubled, moved, zeroed or replaced by a part of another file. In some formats the checksums are
then repaired, so that the code after the check is reached.

Each run must end within 10 seconds, within 512 MiB and without a signal or trap. Its status must be one of
the table that fits the command, with a message if it is not 0, and no file may be outside of the target.
Status 0 means that the content equals the original. A change that fails is reduced to the fewest edits that
still fail, and is kept in DIR with its command; the script then ends with 1.
"""

import argparse
import bz2
import collections
import gzip
import hashlib
import lzma
import os
import random
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
import zlib

SECONDS = 10
MEMORY = 512 << 20
# Formats without a checksum of contents, or without one of names and times, may give other contents or
# metadata.
UNCHECKED, CONTENTS, ALL = range(3)


# --- Edits --------------------------------------------------------------------------------------------------------------------

NUMBERS = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32, 1 << 62, (1 << 63) - 1, 1 << 63,
           (1 << 64) - 1]
DIGITS = [b"0", b"1", b"-1", b"9", b"512", b"4294967296", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616",
          b"00000000001", b"1e9", b"07777777", b"99999999999999999999999"]
PIECES = [b"../", b"/", b"\0", b"\n", b"\r\n", b'"', b"\\", b"\xff\xfe", b"%s%n", b"{" * 200, b"A" * 5000, b" ", b".", b"*"]


def edits_of(random, content, others):
    """A list of (position, number of removed bytes, inserted bytes), in the order of the positions."""
    edits, size = [], len(content)
    for _ in range(1 if random.random() < 0.6 else random.randint(2, 6)):
        if size == 0:
            break
        at = random.randrange(size)
        if random.random() < 0.35:
            at = min(size - 1, random.randrange(600)) if random.random() < 0.5 else max(0, size - 1 - random.randrange(1200))
        part = content[at:at + 512] or b"\0"
        kind = random.choice(("bit", "bit", "byte", "number", "number", "digits", "cut", "remove", "double", "move", "zeros", "insert", "other"))
        if kind == "bit":
            edit = at, 1, bytes([part[0] ^ 1 << random.randrange(8)])
        elif kind == "byte":
            edit = at, 1, bytes([random.choice((0, 255, 127, 128, 10, 32, 47, 46, 34, 92, random.randrange(256)))])
        elif kind == "number":
            width = random.choice((1, 2, 4, 8))
            value = random.choice(NUMBERS + [size, size - 1, size + 1, random.randrange(1 << 32)]) % (1 << 8 * width)
            edit = at, width, value.to_bytes(width, random.choice(("little", "little", "big")))
        elif kind == "digits":
            found = list(re.finditer(rb"\d+", part))
            if not found:
                continue
            one, value = random.choice(found), random.choice(DIGITS)
            if random.random() < 0.5:
                value = value[:one.end() - one.start()].rjust(one.end() - one.start(), b"0")
            edit = at + one.start(), one.end() - one.start(), value
        elif kind == "cut":
            edit = at, size - at, b""
        elif kind == "remove":
            edit = at, random.choice((1, 2, 4, 16, 512, random.randrange(1, size + 1))), b""
        elif kind == "double":
            edit = at, 0, content[at:at + random.choice((1, 8, 64, 512, 4096))] * random.choice((1, 1, 2, 50))
        elif kind == "move":
            edit = random.randrange(size), random.choice((0, 512)), part
        elif kind == "zeros":
            count = random.choice((4, 64, 512, 4096))
            edit = at, count, bytes(count)
        elif kind == "insert":
            edit = at, 0, random.choice(PIECES) if random.random() < 0.6 else random.randbytes(random.choice((1, 2, 4, 8, 512)))
        else:
            other = random.choice(others)
            start = random.randrange(len(other) + 1)
            edit = at, size - at, other[start:]
        edits.append(edit)
        size += len(edit[2]) - min(edit[1], size - edit[0])
    return edits


def apply(content, edits):
    for at, removed, inserted in edits:
        content = content[:at] + inserted + content[at + removed:]
    return content


# --- Repaired checksums -------------------------------------------------------------------------------

def right_tar(content):
    blocks = bytearray(content)
    for at in range(0, len(blocks) - 511, 512):
        if blocks[at + 257:at + 262] == b"ustar":
            blocks[at + 148:at + 156] = b" " * 8
            blocks[at + 148:at + 156] = b"%06o\0 " % sum(blocks[at:at + 512])
    return bytes(blocks)


def right_7z(content):
    content = bytearray(content)
    if len(content) > 32:
        offset, length = struct.unpack("<QQ", content[12:28])
        if 32 + offset + length <= len(content):
            content[28:32] = struct.pack("<I", zlib.crc32(content[32 + offset:32 + offset + length]))
        content[8:12] = struct.pack("<I", zlib.crc32(content[12:32]))
    return bytes(content)


def right_xz(content):
    content = bytearray(content)
    if len(content) > 30:
        content[8:12] = struct.pack("<I", zlib.crc32(content[6:8]))
        content[-12:-8] = struct.pack("<I", zlib.crc32(content[-8:-2]))
        end = 12 + (content[12] + 1) * 4
        if end < len(content):
            content[end - 4:end] = struct.pack("<I", zlib.crc32(content[12:end - 4]))
    return bytes(content)


def right_manifest(content):
    """Repairs the last line of a snapshot's manifest, which has the place of the footer and the digest of all
    before it.
    """
    lines = content.rstrip(b"\n").split(b"\n")
    body = b"\n".join(lines[:-1]) + b"\n"
    last = re.sub(rb'"footer":\d+', b'"footer":%d' % max(body.find(b'{"type":"total"'), 0), lines[-1])
    return body + re.sub(rb'"manifest_sha256":"[0-9a-f]*"', b'"manifest_sha256":"%s"' % hashlib.sha256(body).hexdigest().encode(), last) + b"\n"


def plain_manifest(content):
    """The lines of a manifest, which is read too if it is not compressed. So lines are changed, and not only frames."""
    found = subprocess.run(["zstd", "-dcfq"], input=content, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return found.stdout or content


def right_end(content):
    """Repairs the last line, which has the digest of all before it, as in a plan."""
    lines = content.rstrip(b"\n").split(b"\n")
    body = b"\n".join(lines[:-1]) + b"\n"
    return body + re.sub(rb'"sha256":"[0-9a-f]*"', b'"sha256":"%s"' % hashlib.sha256(body).hexdigest().encode(), lines[-1]) + b"\n"


# --- The program --------------------------------------------------------------------------------------------------------------

Ending = collections.namedtuple("Ending", "status faults output message seconds memory")


class Program:
    def __init__(self, binary, work):
        self.binary, self.work = binary, work
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": work + "/home", "TMPDIR": work + "/tmp",
                            "SWIFT_BACKTRACE": "enable=no",
                            **{f"XDG_{kind}_HOME": f"{work}/home/{kind.lower()}" for kind in ("STATE", "CACHE", "CONFIG")}}
        for folder in ("home/config/batchproc", "tmp"):
            os.makedirs(os.path.join(work, folder), mode=0o700)
        self.count = 0

    def run(self, *arguments, stdin=os.devnull):
        self.count += 1
        started = time.monotonic()
        with (open(self.work + "/output", "w+b") as output, open(self.work + "/message", "w+b") as message, open(stdin, "rb") as given):
            process = subprocess.Popen([self.binary, *arguments], cwd=self.work, env=self.environment, stdin=given,
                                       stdout=output, stderr=message, umask=0o22)
            signal.signal(signal.SIGALRM, lambda *_: process.kill())
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            _, status, usage = os.wait4(process.pid, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            process.returncode = status
            output.seek(0)
            message.seek(0)
            text = message.read(200_000)
            seconds = time.monotonic() - started
            code = os.waitstatus_to_exitcode(status)
            faults = []
            if seconds >= SECONDS:
                faults.append("hang")
            elif code < 0 or b"Fatal error" in text:
                faults.append("trap")
            if usage.ru_maxrss << 10 > MEMORY:
                faults.append("memory")
            return Ending(code, faults, output.read(50_000_000), text, seconds, usage.ru_maxrss << 10)

    def must(self, *arguments, stdin=os.devnull):
        done = self.run(*arguments, stdin=stdin)
        if done.status:
            raise RuntimeError(f"{arguments} ended with {done.status}: {done.message.decode()}")
        return done


def tree(folder, with_metadata):
    result = {}
    for parent, folders, names in os.walk(os.fsencode(folder)):
        for name in folders + names:
            path = os.path.join(parent, name)
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                value = "link", os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    value = "file", hashlib.sha1(file.read()).digest()
            else:
                value = (stat.S_IFMT(status.st_mode),)
            if with_metadata and value[0] != "link":
                value += (stat.S_IMODE(status.st_mode), int(status.st_mtime) if value[0] == "file" else 0)
            result[os.path.relpath(path, os.fsencode(folder))] = value
    return result


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def read(path):
    with open(path, "rb") as file:
        return file.read()


# --- Kinds of changed files ---------------------------------------------------------------------------

class Kind:
    """Files of one kind, and the commands for a changed file. `judge` returns the problems."""
    files = {}

    def __init__(self, program):
        self.program, self.work = program, program.work
        self.prepare()

    def path(self, name):
        return os.path.join(self.work, name)

    def others(self, name):
        return list(self.files.values())

    def repairs(self, name):
        """The functions that may repair checksums after the edits."""
        return [None]

    def run(self, allowed, *arguments, stdin=os.devnull):
        """Runs the program, and adds forbidden results to `self.wrong`."""
        done = self.program.run(*arguments, stdin=stdin)
        self.commands.append(arguments if stdin == os.devnull else (*arguments, "<", stdin))
        self.wrong += done.faults
        if not done.faults and done.status not in allowed:
            self.wrong.append(f"status {done.status}")
        if done.status != 0 and not done.faults and not done.message and not done.output:
            self.wrong.append("no message")
        self.last = done
        return done.status

    def outside(self):
        names = os.listdir(self.path("box"))
        if names != ["in"]:
            self.wrong.append(f"outside of the target: {sorted(names)}")

    def target(self):
        remove(self.path("box"))
        os.makedirs(self.path("box/in"))
        return self.path("box/in")

    def judge(self, name, content, repaired, random):
        self.commands, self.wrong = [], []
        self.try_one(name, content, repaired, random)
        return self.wrong


def remove(path):
    if os.path.lexists(path):
        shutil.rmtree(path, ignore_errors=True)
        if os.path.lexists(path):
            subprocess.run(["chmod", "-R", "u+rwX", path], check=False)
            shutil.rmtree(path)


class Pipe:
    """A file without seeking, for zipfile."""

    def __init__(self, file):
        self.write, self.flush = file.write, file.flush


class Archives(Kind):
    # The checksums of each format: zip and 7z have one of contents only, cpio and a foreign tar have none.
    def prepare(self):
        source = self.path("source")
        os.makedirs(source + "/d/e")
        for number, (name, content) in enumerate((("a", b"one\n" * 300), ("d/b", bytes(3000)), ("d/e/c", os.urandom(700)), ("d/empty", b""),
                                                  ("long" * 40, b"x"), ("d/e/z", b"text %d\n" * 90))):
            write(f"{source}/{name}", content)
            os.utime(f"{source}/{name}", (1700000000 + number, 1700000000 + number))
        os.symlink("a", source + "/link")
        self.files, self.original, self.level, self.options = {}, {}, {}, {}
        self.program.must("keygen", "-o", self.path("key"))
        recipient = self.program.must("keygen", "-o", self.path("key2"))
        recipient = re.search(rb"age1\w+", recipient.output + recipient.message)[0].decode()
        for suffix in ("tar", "tar.zst", "tar.gz", "tar.xz", "tar.lz4", "tar.bz2", "zip", "7z", "cpio", "tar.zst.age"):
            name = "our." + suffix
            options = ["--encrypt-to", recipient] if suffix.endswith("age") else []
            self.program.must("archive", "-q", *options, "-o", self.path(name), "-C", source, ".")
            self.add(name, ALL if suffix.startswith("tar") else CONTENTS if suffix in ("zip", "7z") else UNCHECKED,
                     ["--identity", self.path("key2")] if options else [])
        for name, format in (("gnu.tar", tarfile.GNU_FORMAT), ("pax.tar", tarfile.PAX_FORMAT), ("stock.tar.gz", tarfile.PAX_FORMAT),
                             ("stock.tar.xz", tarfile.GNU_FORMAT)):
            mode = "w:" + {"gz": "gz", "xz": "xz"}.get(name.rsplit(".", 1)[1], "")
            with tarfile.open(self.path(name), mode, format=format) as archive:
                archive.add(source, ".")
            self.add(name, ALL if name.startswith("stock") else UNCHECKED, [])
        with zipfile.ZipFile(self.path("stock.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
            for name in ("a", "d/b", "d/e/c"):
                archive.write(f"{source}/{name}", name)
        self.add("stock.zip", CONTENTS, [])
        # In a zip that is written into a pipe, the sizes follow the contents.
        with open(self.path("stream.zip"), "wb") as file, zipfile.ZipFile(Pipe(file), "w", zipfile.ZIP_DEFLATED) as archive:
            for name in ("a", "d/b", "d/e/c"):
                archive.write(f"{source}/{name}", name)
        self.add("stream.zip", CONTENTS, [])

    def add(self, name, level, options):
        self.files[name], self.level[name], self.options[name] = read(self.path(name)), level, options
        self.program.must("extract", "-q", *options, "-C", self.target(), self.path(name))
        self.original[name] = tree(self.path("box/in"), level == ALL)

    def repairs(self, name):
        if name.endswith(".tar"):
            return [None, right_tar]
        if name.endswith(".7z"):
            return [None, right_7z, right_7z]
        if name.startswith("stock.tar.gz"):
            return [None, lambda content: gzip.compress(right_tar(content), 1, mtime=0)]
        if name.endswith(".xz"):
            return [None, right_xz]
        return [None]

    def plain(self, name, repair):
        """The bytes that are edited: the plain content if it is compressed again afterwards."""
        return gzip.decompress(self.files[name]) if name == "stock.tar.gz" and repair else self.files[name]

    def try_one(self, name, content, repaired, random):
        path = self.path("changed." + name.split(".", 1)[1])
        write(path, content)
        options, limits = self.options[name], ["--max-memory", "64M"]
        more = random.choice(([], [], [], ["--keep-going"], ["-j", "1"], ["-p", "--devices"]))
        target = self.target()
        place, stdin = ("-", path) if random.random() < 0.25 else (path, os.devnull)
        extracted = self.run((0, 1, 3, 5), "extract", "-q", "--max-output", "100M", *limits, *more, *options, "-C", target, place, stdin=stdin)
        self.outside()
        # A stream of zeros is a tar without members, for stock tar too; a warning says so.
        is_empty = not content.strip(b"\0") and b"it has no members" in self.last.message
        # If nothing of its index is left, a plain tar is one of another tool, without checksums of its contents.
        is_foreign = name == "our.tar" and b"\x28\xb5\x2f\xfd" not in content and b"BPTAIL" not in content
        if extracted == 0 and not repaired and self.level[name] != UNCHECKED and not is_empty and not is_foreign:
            there = tree(target, self.level[name] == ALL)
            original = self.original[name]
            is_other = there != original if self.level[name] == ALL else self.contents(there) - self.contents(original)
            if is_other:
                self.wrong.append("0 with another content")
        verified = self.run((0, 1, 3, 4), "verify", "-q", *limits, *options, path)
        # Some formats cannot be read from standard input.
        if verified == 0 and extracted not in (0, 3) and place == path:
            self.wrong.append(f"verify 0, extract {extracted}")
        if random.random() < 0.4:
            self.run((0, 1, 3, 4, 5), *random.choice((
                ("list", "-l", *options, path), ("list", "--no-index", *options, path), ("list", "--digests", *options, path),
                ("list", "-l", "--json", *options, path), ("extract", "-q", "-O", *options, path, "d/*"),
                ("extract", "-q", "-n", *options, path))))

    @staticmethod
    def contents(there):
        """The contents of files. In a zip, nothing protects the mode that makes a link of a file."""
        links = {("file", hashlib.sha1(value[1]).digest()) for value in there.values() if value[0] == "link"}
        return links | {value[:2] for value in there.values() if value[0] == "file"}


class Streams(Kind):
    def prepare(self):
        self.text = b"".join(b"%d %d\n" % (number, number * number) for number in range(9000))
        write(self.path("text"), self.text)
        self.files, self.options = {}, {}
        for suffix in ("gz", "zst", "xz", "lz4"):
            self.program.must("compress", "-q", "--format", suffix, self.path("text"))
            self.add("our." + suffix, read(self.path("text." + suffix)))
        self.add("stock.gz", gzip.compress(self.text[:30000], mtime=0) + gzip.compress(self.text[30000:], mtime=0))
        self.add("stock.xz", lzma.compress(self.text))
        self.add("stock.bz2", bz2.compress(self.text))
        self.program.must("archive", "-q", "--encrypt-to", self.recipient(), "-o", self.path("text.tar.age"), "-C", self.work, "text")
        self.add("our.age", read(self.path("text.tar.age")), ["--identity", self.path("key3")])
        done = self.program.must("cat", *self.options["our.age"], self.path("text.tar.age"))
        self.plain_age = done.output

    def recipient(self):
        done = self.program.must("keygen", "-o", self.path("key3"))
        return re.search(rb"age1\w+", done.output + done.message)[0].decode()

    def add(self, name, content, options=()):
        self.files[name], self.options[name] = content, list(options)

    def repairs(self, name):
        return [None, right_xz] if name.endswith(".xz") else [None]

    def try_one(self, name, content, repaired, random):
        path = self.path("changed." + name.rsplit(".", 1)[1])
        write(path, content)
        options = ["--max-memory", "64M", *self.options[name]]
        shown = self.run((0, 1, 3, 4, 5), "cat", *options, *random.choice(([], ["-j", "1"])), path)
        plain = self.plain_age if name.endswith(".age") else self.text
        # No checksum detects members and frames that are cut off, doubled or from another file.
        if shown == 0 and self.last.output != plain and not self.is_joined(name, self.last.output):
            self.wrong.append("0 with another content")
        # Bytes after the last member are ignored with a warning, as by stock tools; `test` calls them damage.
        has_garbage = b"garbage after the end" in self.last.message
        if not name.endswith(".age"):
            tested = self.run((0, 1, 3, 4), "test", "-q", path)
            if (tested == 0) != (shown == 0) and not (has_garbage and shown == 0 and tested == 4):
                self.wrong.append(f"test {tested}, cat {shown}")
            if random.random() < 0.3:
                target = self.target()
                made = self.run((0, 1, 3, 5), "decompress", "-q", "--output-dir", target, path)
                self.outside()
                if (made == 0) != (shown == 0):
                    self.wrong.append(f"decompress {made}, cat {shown}")

    def is_joined(self, name, output):
        """Whether the output consists of complete members of the file, in any number and order."""
        parts = [self.text[:30000], self.text[30000:]] if name == "stock.gz" else [self.text]
        while output and not name.endswith(".age"):
            part = next((part for part in parts if output.startswith(part)), None)
            if part is None:
                break
            output = output[len(part):]
        return not output


class Manifests(Kind):
    """Digests of a tree in each form."""
    def prepare(self):
        os.makedirs(self.path("digested/d"))
        for number in range(5):
            write(self.path(f"digested/{'d/' if number % 2 else ''}file {number}"), b"%d\n" % number * 50)
        self.files = {}
        for form in ("gnu", "bsd", "hashdeep", "mtree", "json"):
            self.files[form] = self.program.must("hash", "-q", "--format", form, "digested").output

    def try_one(self, name, content, repaired, random):
        path = self.path("changed.manifest")
        write(path, content)
        status = self.run((0, 1, 3, 4), "check", "-q", *random.choice(([], [], ["--strict"], ["--json"], ["-j", "1"])), path)
        if status == 0 and name == "gnu":
            for line in content.split(b"\n"):
                found = re.fullmatch(rb"([0-9a-fA-F]{64}) [ *](.+?)\r?", line)
                if found and found[1].lower() not in self.files["gnu"]:
                    self.wrong.append("0 with another digest")
        if random.random() < 0.5:
            self.run((0, 1, 3, 4), *random.choice((("audit", "-q", path, "digested"), ("audit", "--json", path, "digested"),
                                                   ("check", "-z", path), ("check", "--warn", path))))


class Sets(Kind):
    """Archives, manifests and companions of two snapshots, in plain text and encrypted."""
    def prepare(self):
        source = self.path("saved")
        os.makedirs(source + "/d")
        for number in range(12):
            write(f"{source}/{'d/' if number % 2 else ''}f{number}", b"%d\n" % number * 200)
        recipient = self.program.must("keygen", "-o", self.path("key4"))
        recipient = re.search(rb"age1\w+", recipient.output + recipient.message)[0].decode()
        self.files, self.original = {}, {}
        for folder, options in (("plain", []), ("age", ["--encrypt-to", recipient])):
            for turn in range(2):
                write(source + "/new", b"%d" % turn)
                self.program.must("backup", "-q", "--to", self.path(folder), *(["--init"] if turn == 0 else []), *options, source)
            self.program.must("restore", "-q", *self.identity(folder), "-C", self.target(), self.path(folder))
            self.original[folder] = tree(self.path("box/in"), True)
            for name in sorted(os.listdir(self.path(folder))):
                if not name.endswith(".lock"):
                    self.files[folder + "/" + name] = read(self.path(folder + "/" + name))
        # The manifests of this set are not compressed, so that their lines are changed.
        shutil.copytree(self.path("plain"), self.path("lines"))
        self.original["lines"] = self.original["plain"]
        for name in sorted(os.listdir(self.path("lines"))):
            if name.endswith(".manifest.zst"):
                self.files["lines/" + name] = plain_manifest(self.files["plain/" + name])
                write(self.path("lines/" + name), self.files["lines/" + name])

    def identity(self, folder):
        return ["--identity", self.path("key4")] if folder == "age" else []

    def others(self, name):
        return [content for other, content in self.files.items() if other.rsplit(".", 1)[1] == name.rsplit(".", 1)[1]]

    def repairs(self, name):
        return [None, right_manifest, right_manifest] if name.startswith("lines/") else [None]

    def try_one(self, name, content, repaired, random):
        folder = name.split("/")[0]
        changed = self.path("changed-set")
        remove(changed)
        shutil.copytree(self.path(folder), changed)
        write(os.path.join(changed, name.split("/")[1]), content)
        target, key = self.target(), self.identity(folder)
        status = self.run((0, 1, 3, 5), "restore", "-q", "--max-memory", "64M", *key, "-C", target, changed)
        self.outside()
        if status == 0 and not repaired and tree(target, True) != self.original[folder]:
            # With an unreadable or missing manifest, the earlier snapshot becomes the newest, with a message.
            if not self.last.message:
                self.wrong.append("0 with another content")
        command, allowed = random.choice((
            (("snapshots", *key, changed), (0, 1, 3, 4)), (("snapshots", "--json", changed), (0, 1, 3, 4)),
            (("drill", "-q", "--all", *key, changed), (0, 1, 3, 4, 5)), (("prune", "-q", "--keep-last", "1", changed), (0, 1, 3, 5)),
            (("copy", "-q", changed, self.path("box/in/copy")), (0, 1, 3, 4, 5)),
            (("audit", "-q", *key, changed, self.path("saved")), (0, 1, 3, 4, 64))))
        self.run(allowed, *command)


class Plans(Kind):
    """A plan of three shards, and their results."""
    def prepare(self):
        source = self.path("planned")
        os.makedirs(source + "/d")
        for number in range(20):
            write(f"{source}/{'d/' if number % 2 else ''}f{number}", b"%d\n" % number * 3000)
        self.commands_of = {"hash": ("hash", "-o", self.path("merged")), "archive": ("archive", "--stride", "4", "-o", self.path("merged.tar.zst"))}
        self.files, self.merged = {}, {}
        for word, command in self.commands_of.items():
            plan = self.path("plan-" + word)
            self.program.must("plan", "-q", "--shards", "3", "--out", plan, "--", *command, source)
            for shard in range(3):
                self.program.run(word, "-q", "--plan", plan, "--shard", str(shard))
            self.program.must("merge", "-q", plan)
            self.merged[word] = read(command[-1])
            os.unlink(command[-1])
            for name in sorted(os.listdir(plan)):
                if not name.startswith(".") and not name.endswith(".lock"):
                    self.files[f"plan-{word}/{name}"] = read(f"{plan}/{name}")

    def repairs(self, name):
        return [None, right_end, right_end] if name.endswith((".json", ".result")) else [None]

    def try_one(self, name, content, repaired, random):
        folder, file = name.split("/")
        word = folder[5:]
        changed = self.path("changed-plan")
        remove(changed)
        shutil.copytree(self.path(folder), changed)
        write(os.path.join(changed, file), content)
        output = self.commands_of[word][-1]
        # A plan with a repaired digest may name any output, so it is not merged here.
        if not repaired:
            merged = self.run((0, 1, 3, 4, 5), "merge", "-q", "--force", changed)
            if merged == 0 and read(output) != self.merged[word]:
                self.wrong.append("0 with another content")
            if merged not in (0, 3) and os.path.exists(output):
                self.wrong.append("an incomplete output")
            if os.path.exists(output):
                os.unlink(output)
        self.run((0, 1, 3, 4, 5), *random.choice((("status", changed), ("status", "--json", changed))))
        if random.random() < 0.5 and not file.endswith(".result") and not repaired:
            self.run((0, 1, 3, 4, 5, 64), word, "-q", "--plan", changed, "--shard", str(random.randrange(3)), "--force")
        elif repaired and file.endswith(".json"):
            self.run((0, 1, 3, 4, 5, 64), word, "-q", "-n", "--plan", changed, "--shard", str(random.randrange(3)))


class Configurations(Kind):
    def prepare(self):
        self.files = {"config": b"""# defaults
exclude = *.tmp
max-concurrency = 4
max-memory = 512M
progress = none

[compress]
format = zst
level = 3
[hash]
algorithm = md5
on = vanished=retry:3
[profile nightly]
command = hash
operand = /nowhere
min-size = "12K"
[backup]
keep-within = 1y6m
""", "patterns": b"*.tmp\n!keep.tmp\n/sub/**/deep/\n[a-z]*.txt\n[!0-9]?\\ x\n**/foo\n# c\n\\#x\n{a,b}\n*a*b*c*d*e*\n[[:alpha:]]*\n",
            "key": read(self.path("key2"))}
        os.makedirs(self.path("walked"))
        for name in ("a.txt", "abcde", "keep.tmp", "x"):
            write(self.path("walked/" + name), b"")

    def try_one(self, name, content, repaired, random):
        if name == "config":
            place = self.path("home/config/batchproc/config")
            write(place, content)
            os.chmod(place, 0o600)
            self.run((0, 1, 64), *random.choice((("config",), ("config", "hash"), ("config", "--json"), ("config", "--profile", "nightly"))))
            os.unlink(place)
        elif name == "key":
            write(self.path("changed.key"), content)
            os.chmod(self.path("changed.key"), 0o600)
            self.run((0, 1, 3, 64), "list", "--identity", self.path("changed.key"), self.path("our.tar.zst.age"))
        else:
            write(self.path("rules"), content)
            # A line that is the path of another directory, such as `/`, would take minutes.
            if any(os.path.isdir(os.path.join(self.work.encode(), line)) for line in re.split(rb"[\0\n]", content) if line):
                return
            self.run((0, 1, 3, 64), *random.choice((
                ("hash", "-q", "--exclude-from", self.path("rules"), "walked"), ("hash", "-q", "--files-from", self.path("rules")),
                ("hash", "-q", "--files0-from", self.path("rules")), ("list", "--exclude-from", self.path("rules"), self.path("our.tar")))))


KINDS = {"archives": Archives, "streams": Streams, "manifests": Manifests, "sets": Sets, "plans": Plans, "configurations": Configurations}


# --- The run ------------------------------------------------------------------------------------------------------------------

def reduce(fails, edits):
    """The fewest and smallest edits with which the run still fails."""
    edits = list(edits)
    for index in reversed(range(len(edits))):
        fewer = edits[:index] + edits[index + 1:]
        if fewer and fails(fewer):
            edits = fewer
    for index, (at, removed, inserted) in enumerate(edits):
        while len(inserted) > 1:
            shorter = edits[:index] + [(at, removed, inserted[:len(inserted) // 2])] + edits[index + 1:]
            if not fails(shorter):
                break
            edits, inserted = shorter, inserted[:len(inserted) // 2]
    return edits


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--runs", type=int, default=20000, help="how many runs of the program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only kinds whose name matches")
    parser.add_argument("--keep", default=".build/mutations", help="a folder for the files that fail")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    random_numbers = random.Random(options.seed)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    found, statuses, changed = 0, collections.Counter(), 0
    with tempfile.TemporaryDirectory(prefix="batchproc-mutate-", dir=memory) as work:
        program = Program(os.path.abspath(options.binary), work)
        names = [name for name in KINDS if re.search(options.only, name)]
        # The configurations use an archive and a key that the archives make.
        needed = names + (["archives"] if "configurations" in names else [])
        kinds = {name: kind(program) for name, kind in KINDS.items() if name in needed}
        program.count = 0
        while program.count < options.runs:
            word = names[changed % len(names)]
            kind = kinds[word]
            changed += 1
            name = random_numbers.choice(sorted(kind.files))
            repair = random_numbers.choice(kind.repairs(name))
            content = kind.plain(name, repair) if isinstance(kind, Archives) else kind.files[name]
            edits = edits_of(random_numbers, content, kind.others(name))
            turn = random_numbers.random()

            def make(edits):
                result = apply(content, edits)
                return repair(result) if repair else result

            def wrong(edits):
                return kind.judge(name, make(edits), repair is not None, random.Random(turn))

            if make(edits) == kind.files[name]:
                continue
            faults = wrong(edits)
            for command in kind.commands:
                statuses[word, command[0]] += 1
            if not faults:
                continue
            found += 1
            commands = list(kind.commands)
            edits = reduce(lambda fewer: bool(set(wrong(fewer)) & set(faults)), edits)
            os.makedirs(options.keep, exist_ok=True)
            place = os.path.join(options.keep, f"{word}-{options.seed}-{changed}")
            write(place + "-" + os.path.basename(name), make(edits))
            with open(place + ".txt", "w", encoding="utf-8") as file:
                print(f"{name}: {', '.join(faults)}\n{edits!r}", *(" ".join(command) for command in commands), sep="\n", file=file)
            print(f"{word}\t{name}\t{', '.join(faults)}\t{place}", flush=True)
    runs = ", ".join(f"{count} {word}: {command}" for (word, command), count in sorted(statuses.items()))
    print(f"{changed} files, {program.count} runs, {found} found ({runs})")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
