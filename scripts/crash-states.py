#!/usr/bin/env python3
"""Checks the states in which a power cut may leave the files of a run.

usage: scripts/crash-states.py BINARY [--states N] [--seed N] [--only REGEX] [--mistakes] [--keep DIR]

Each scenario runs once under strace. The calls that change files give the states in which a file system may
be after a power cut at any point:

  posix    each name and each block that was not synced may be stored or missing, independently of the others;
           only fsync, fdatasync and syncfs store them
  ordered  names, modes and sizes are stored in their order, and each sync stores all before it (as ext4 with
           ordered data); of a file that was not synced, the first blocks may be stored
  log      the same, but any block of such a file may be missing or zeros (as XFS, or ext4 with
           data=writeback)

Equal states count once. If a scenario has more than N states, a seeded generator chooses N, the extreme
ones first. Each state is rebuilt in memory and must meet these conditions: each source or its complete
output exists; a file with a final name is complete; a listed snapshot can be restored; the same command
ends with 0, completes the work and leaves no temporary file. If the run had ended, all its results must be
stored.

With --mistakes the calls are changed first, and each change must be found: syncs of files or of folders are
left out, names come before contents, and removals come before the syncs. Then the extreme states at a few
points of the whole run come first. Ends with 1 when a condition is violated.
"""

import argparse
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

from scenarios import File, Program, SCENARIOS, read_all, read_file, rebuild

BLOCK = 4096
CALLS = ("openat,openat2,open,creat,close,dup,dup2,dup3,fcntl,write,pwrite64,writev,pwritev,pwritev2,ftruncate,truncate,fallocate,"
         "copy_file_range,sendfile,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,rmdir,mkdir,mkdirat,"
         "fsync,fdatasync,syncfs,sync,fchmod,fchmodat,chmod,utimensat,lseek,chdir,fchdir,ioctl,mmap,"
         "execve,vfork,fork,clone,clone3")


# --- Reading a trace ----------------------------------------------------------------------------------

class Op:
    """A change or a sync. `start` and `end` are line numbers in the trace."""
    __slots__ = ("kind", "start", "end", "target", "value", "size", "text")

    def __init__(self, kind, start, end, target, value=None, size=0, text=""):
        self.kind, self.start, self.end, self.target, self.value, self.size, self.text = kind, start, end, target, value, size, text


def calls(path):
    """(first line, last line, name, arguments, result, task) of each call that succeeded, in the order of their
    ends.
    """
    open_calls = {}
    with open(path, encoding="ascii", errors="replace") as lines:
        for number, line in enumerate(lines):
            task, _, text = line.rstrip("\n").partition(" ")
            text = text.lstrip()
            if text.endswith("<unfinished ...>"):
                open_calls[task] = (number, text[:-len("<unfinished ...>")].rstrip())
                if text.startswith("close("):
                    yield number, number, "close", text[6:].split(")")[0].split(" ")[0], 0, task
                continue
            start = number
            if text.startswith("<... "):
                if task not in open_calls:
                    continue
                start, begin = open_calls.pop(task)
                if begin.startswith("close("):
                    continue
                text = begin + text[text.index(" resumed>") + len(" resumed>"):]
            found = re.match(r"(\w+)\((.*)\)\s+= (-?\d+)", text)
            if found and int(found[3]) >= 0:
                yield start, number, found[1], found[2], int(found[3]), task


def string(text):
    return bytes.fromhex(text.replace("\\x", ""))


def strings(arguments):
    return [string(text) for text in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', arguments)]


class Recorder:
    """The changes below a folder, from a trace. Inode 0 is that folder."""

    def __init__(self, root):
        self.root = os.fsencode(root)
        self.files = {0: File("dir", mode=0o755)}
        self.names = {}
        self.ops = []
        # The descriptors of the process whose call is read, and those of all processes by task.
        self.descriptors = {}
        self.processes = {}
        known = {}
        for folder, folders, names in os.walk(self.root):
            parent = 0 if folder == self.root else known[os.lstat(folder).st_ino]
            for name in folders + names:
                path = os.path.join(folder, name)
                status = os.lstat(path)
                if status.st_ino not in known:
                    known[status.st_ino] = self.add(read_file(path, status))
                self.names[parent, name] = known[status.st_ino]
        self.base = dict(self.names)

    def add(self, file):
        self.files[len(self.files)] = file
        return len(self.files) - 1

    def place(self, folder, path):
        """(folder, name) of a path below the root; None for a path elsewhere. The root itself is (0, None)."""
        if path.startswith(b"/"):
            path = os.path.normpath(path)
            if path != self.root and not path.startswith(self.root + b"/"):
                return None
            folder, path = 0, path[len(self.root):]
        elif folder is None:
            return None
        name = None
        for part in path.split(b"/"):
            if part in (b"", b"."):
                continue
            if name is not None:
                folder = self.names[folder, name]
            if part == b"..":
                raise ValueError("a path with '..'")
            name = part
        return folder, name

    def inode(self, place):
        if place is None:
            return None
        folder, name = place
        return folder if name is None else self.names.get((folder, name))

    def folder(self, text):
        text = text.strip()
        if text == "AT_FDCWD":
            return 0
        entry = self.descriptors.get(int(text))
        return entry[0] if entry else None

    def change(self, call, sets):
        for place, inode in sets:
            if inode is None:
                self.names.pop(place, None)
            else:
                self.names[place] = inode
        self.ops.append(Op("name", call[0], call[1], None, sets, text=call[2]))

    def write(self, call, inode, offset, content):
        for start in range(offset - offset % BLOCK, offset + len(content), BLOCK):
            first, last = max(start, offset), min(start + BLOCK, offset + len(content))
            self.ops.append(Op("write", call[0], call[1], inode, (first, content[first - offset:last - offset]), text=call[2]))

    def content(self, inode):
        return build_content(self.files[inode].content, [op for op in self.ops if op.target == inode], lambda op: True)

    def read(self, trace):
        parents = self.parents(trace)
        main = None
        for call in calls(trace):
            start, end, name, arguments, result, task = call
            main = main or task
            self.descriptors = self.table(task, parents, main)
            # The guardian of the children leaves the folder; it changes no file.
            if name in ("vfork", "fork", "clone", "clone3") or name == "chdir" and task in parents:
                continue
            handler = getattr(self, "on_" + name, None)
            if handler:
                handler(call, arguments.split(","), arguments, result)
            elif name not in ("fcntl", "mmap", "ioctl"):
                raise ValueError(f"unknown call: {name}({arguments[:100]})")
        self.ops.sort(key=lambda op: op.end)

    @staticmethod
    def parents(trace):
        """The task that made each process, by the task of the process; threads are not in it."""
        parents = {}
        for start, end, name, arguments, result, task in calls(trace):
            if name in ("vfork", "fork") or name in ("clone", "clone3") and "CLONE_FILES" not in arguments:
                parents[str(result)] = task
        return parents

    def table(self, task, parents, main):
        """The descriptors of a process, which begin as a copy of those of its parent."""
        if task not in parents:
            # A thread of the program. A child makes no threads that change files.
            return self.processes.setdefault(main, {})
        if task not in self.processes:
            self.processes[task] = dict(self.table(parents[task], parents, main))
        return self.processes[task]

    # Calls, by name.

    def on_execve(self, call, parts, arguments, result):
        # Of a child; all others are closed when it executes a program.
        for number in [number for number in self.descriptors if number > 2]:
            del self.descriptors[number]

    def opened(self, call, folder, arguments, result, mode):
        name = strings(arguments)[0]
        # A folder above is only examined.
        if name == b".." and "O_PATH" in arguments:
            self.descriptors.pop(result, None)
            return
        place = self.place(folder, name)
        inode = self.inode(place)
        if place is None:
            self.descriptors.pop(result, None)
            return
        if "O_TMPFILE" in arguments:
            inode = self.add(File("file", mode=mode))
        elif inode is None and "O_CREAT" in arguments:
            inode = self.add(File("file", mode=mode))
            self.change(call, [(place, inode)])
        elif "O_TRUNC" in arguments:
            self.ops.append(Op("size", call[0], call[1], inode, 0, text=call[2]))
        if inode is None:
            raise ValueError(f"an unknown file is opened: {name!r}")
        self.descriptors[result] = [inode, [0], "O_APPEND" in arguments]

    def on_openat(self, call, parts, arguments, result):
        mode = re.search(r", (0\d*)$", arguments)
        self.opened(call, self.folder(parts[0]), arguments, result, int(mode[1], 8) & ~0o22 if mode else 0)

    def on_open(self, call, parts, arguments, result):
        self.on_openat(call, ["AT_FDCWD"], arguments, result)

    def on_openat2(self, call, parts, arguments, result):
        mode = re.search(r"mode=(0\d*)", arguments)
        self.opened(call, self.folder(parts[0]), arguments, result, int(mode[1], 8) & ~0o22 if mode else 0)

    def on_close(self, call, parts, arguments, result):
        self.descriptors.pop(int(parts[0]), None)

    def on_dup(self, call, parts, arguments, result):
        if int(parts[0]) in self.descriptors:
            self.descriptors[result] = self.descriptors[int(parts[0])]
        else:
            self.descriptors.pop(result, None)

    def on_dup2(self, call, parts, arguments, result):
        if int(parts[0]) != result:
            self.on_dup(call, parts, arguments, result)

    on_dup3 = on_dup2

    def on_fcntl(self, call, parts, arguments, result):
        if "F_DUPFD" in parts[1]:
            self.on_dup(call, parts, arguments, result)

    def on_lseek(self, call, parts, arguments, result):
        if int(parts[0]) in self.descriptors:
            self.descriptors[int(parts[0])][1][0] = result

    def on_write(self, call, parts, arguments, result):
        entry = self.descriptors.get(int(parts[0]))
        if entry:
            offset = len(self.content(entry[0])) if entry[2] else entry[1][0]
            self.write(call, entry[0], offset, strings(arguments)[0][:result])
            entry[1][0] = offset + result

    def on_writev(self, call, parts, arguments, result):
        entry = self.descriptors.get(int(parts[0]))
        if entry:
            self.write(call, entry[0], entry[1][0], b"".join(strings(arguments))[:result])
            entry[1][0] += result

    def on_pwrite64(self, call, parts, arguments, result):
        entry = self.descriptors.get(int(parts[0]))
        if entry:
            self.write(call, entry[0], int(parts[-1]), strings(arguments)[0][:result])

    def on_copy_file_range(self, call, parts, arguments, result):
        source, target = self.descriptors.get(int(parts[0])), self.descriptors.get(int(parts[2]))
        if not target:
            return
        if not source:
            raise ValueError("copied from an unknown file")
        offsets = [None if "NULL" in part else int(part.strip(" []")) for part in (parts[1], parts[3])]
        first = source[1][0] if offsets[0] is None else offsets[0]
        second = target[1][0] if offsets[1] is None else offsets[1]
        self.write(call, target[0], second, self.content(source[0])[first:first + result])
        if offsets[0] is None:
            source[1][0] += result
        if offsets[1] is None:
            target[1][0] += result

    def on_ftruncate(self, call, parts, arguments, result):
        entry = self.descriptors.get(int(parts[0]))
        if entry:
            self.ops.append(Op("size", call[0], call[1], entry[0], int(parts[1]), text=call[2]))

    def on_fallocate(self, call, parts, arguments, result):
        if int(parts[0]) in self.descriptors and "KEEP_SIZE" not in arguments:
            raise ValueError("fallocate that changes the size")

    def on_renameat(self, call, parts, arguments, result):
        first, second = strings(arguments)[:2]
        old = self.place(self.folder(parts[0]), first)
        new = self.place(self.folder(parts[2]), second)
        if old is None and new is None:
            return
        if "RENAME_EXCHANGE" in arguments:
            self.change(call, [(old, self.names[new]), (new, self.names[old])])
        else:
            self.change(call, [(old, None), (new, self.names[old])])

    on_renameat2 = on_renameat

    def on_rename(self, call, parts, arguments, result):
        self.on_renameat(call, ["AT_FDCWD", "", "AT_FDCWD"], arguments, result)

    def on_linkat(self, call, parts, arguments, result):
        first, second = strings(arguments)[:2]
        place = self.place(self.folder(parts[2]), second)
        if place is None:
            return
        if found := re.fullmatch(rb"/proc/self/fd/(\d+)", first):
            inode = self.descriptors[int(found[1])][0]
        elif first == b"":
            inode = self.descriptors[int(parts[0])][0]
        else:
            inode = self.inode(self.place(self.folder(parts[0]), first))
        self.change(call, [(place, inode)])

    def on_link(self, call, parts, arguments, result):
        self.on_linkat(call, ["AT_FDCWD", "", "AT_FDCWD"], arguments, result)

    def on_symlinkat(self, call, parts, arguments, result):
        target, name = strings(arguments)[:2]
        place = self.place(self.folder(parts[1]), name)
        if place is not None:
            self.change(call, [(place, self.add(File("link", target)))])

    def on_unlinkat(self, call, parts, arguments, result):
        place = self.place(self.folder(parts[0]), strings(arguments)[0])
        if place is not None:
            self.change(call, [(place, None)])

    def on_unlink(self, call, parts, arguments, result):
        self.on_unlinkat(call, ["AT_FDCWD"], arguments, result)

    on_rmdir = on_unlink

    def on_mkdirat(self, call, parts, arguments, result):
        place = self.place(self.folder(parts[0]), strings(arguments)[0])
        if place is not None:
            self.change(call, [(place, self.add(File("dir", mode=int(parts[-1], 8) & ~0o22)))])

    def on_mkdir(self, call, parts, arguments, result):
        self.on_mkdirat(call, ["AT_FDCWD", "", parts[-1]], arguments, result)

    def sync(self, call, kind, descriptor):
        entry = self.descriptors.get(descriptor)
        if entry:
            self.ops.append(Op(kind, call[0], call[1], entry[0], text=call[2]))

    def on_fsync(self, call, parts, arguments, result):
        self.sync(call, "fsync", int(parts[0]))

    def on_fdatasync(self, call, parts, arguments, result):
        self.sync(call, "fdatasync", int(parts[0]))

    def on_syncfs(self, call, parts, arguments, result):
        self.sync(call, "syncfs", int(parts[0]))

    def on_sync(self, call, parts, arguments, result):
        self.ops.append(Op("syncfs", call[0], call[1], 0, text=call[2]))

    def meta(self, call, inode, value):
        if inode is not None:
            self.ops.append(Op("meta", call[0], call[1], inode, value, text=call[2]))

    def on_fchmod(self, call, parts, arguments, result):
        entry = self.descriptors.get(int(parts[0]))
        self.meta(call, entry and entry[0], ("mode", int(parts[1], 8)))

    def on_fchmodat(self, call, parts, arguments, result):
        self.meta(call, self.inode(self.place(self.folder(parts[0]), strings(arguments)[0])), ("mode", int(parts[2], 8)))

    def on_utimensat(self, call, parts, arguments, result):
        times = re.search(r"\[(.*), ?(UTIME_\w+|\{tv_sec=(-?\d+), tv_nsec=(\d+)\})[^{]*\]", arguments)
        if times[3] is None:
            return
        if paths := strings(arguments):
            inode = self.inode(self.place(self.folder(parts[0]), paths[0]))
        else:
            entry = self.descriptors.get(int(parts[0]))
            inode = entry and entry[0]
        self.meta(call, inode, ("mtime", int(times[3]) * 10**9 + int(times[4])))

    def on_mmap(self, call, parts, arguments, result):
        if "MAP_SHARED" in arguments and "PROT_WRITE" in arguments and int(parts[4]) in self.descriptors:
            raise ValueError("a file below the folder is written through a mapping")


def build_content(content, ops, state):
    """`state(op)` is True, False, or "zeros": the size is stored, but not the block."""
    content = bytearray(content)
    for op in ops:
        if op.kind not in ("write", "size"):
            continue
        there = state(op)
        if not there:
            continue
        if op.kind == "size":
            content = content[:op.value] + bytes(max(0, op.value - len(content)))
            continue
        offset, block = op.value
        if len(content) < offset + len(block):
            content += bytes(offset + len(block) - len(content))
        if there is True:
            content[offset:offset + len(block)] = block
    return bytes(content)


# --- States -------------------------------------------------------------------------------------------------------------------

class States:
    """The states in which a power cut may leave the files of a trace."""

    def __init__(self, recorder, ops, constant, seed):
        self.files, self.base, self.ops = recorder.files, recorder.base, ops
        self.constant = {os.fsencode(name) for name in constant}
        self.random = random.Random(seed)
        self.of_file = {}
        for index, op in enumerate(ops):
            if op.kind in ("write", "size", "meta"):
                self.of_file.setdefault(op.target, []).append(index)
        self.own = [self.synced(index, False) for index in range(len(ops))]
        self.journal = [self.synced(index, True) for index in range(len(ops))]
        self.seen = set()

    def synced(self, index, in_order):
        """The index of the sync that stores an operation; the number of operations if no sync does."""
        op = self.ops[index]
        for number in range(index + 1, len(self.ops)):
            sync = self.ops[number]
            if sync.kind not in ("fsync", "fdatasync", "syncfs") or sync.start <= op.end:
                continue
            if sync.kind == "syncfs" or (in_order and op.kind != "write"):
                return number
            if op.kind == "name" and any(place[0] == sync.target for place, _ in op.value):
                return number
            if op.kind != "name" and op.target == sync.target and (op.kind != "meta" or sync.kind == "fsync"):
                return number
        return len(self.ops)

    @staticmethod
    def extremes(point):
        for model in ("posix", "ordered", "log"):
            for names in (1.0, 0.0):
                for data in ("none", "all", "zeros", "half"):
                    yield point, model, names, data, None

    def choices(self, is_wide):
        """(point, model, names and metadata, contents): extreme choices first, then random ones without end.

        The last points of the run come first. If `is_wide`, some points of the whole run come before them.
        """
        points = [number for number in range(len(self.ops) + 1) if number == len(self.ops) or self.ops[number].kind]
        for point in points[::-max(1, len(points) // 8)] if is_wide else ():
            yield from self.extremes(point)
        for point in reversed(points):
            yield from self.extremes(point)
            pending = [n for n in range(point) if self.own[n] >= point and self.ops[n].kind == "name"]
            for one in pending:
                for data in ("all", "none"):
                    yield point, "posix", 1.0, data, ("without", one)
                    yield point, "posix", 0.0, data, ("only", one)
        while True:
            yield (self.random.choice(points), self.random.choice(("posix", "ordered", "log")), self.random.random(),
                   self.random.choice(("mixed", "mixed", "mixed", "all", "none", "zeros", "half")), None)

    def state(self, choice):
        """Whether each operation before the point is stored."""
        point, model, share, data, special = choice
        durable = self.own if model == "posix" else self.journal
        there = [None] * point
        pending = []
        for index in range(point):
            if self.ops[index].kind in ("fsync", "fdatasync", "syncfs") or durable[index] < point:
                there[index] = True
            elif self.ops[index].kind != "write":
                pending.append(index)
        if model == "posix":
            for index in pending:
                there[index] = share == 1.0 or self.random.random() < share
            if special:
                there[special[1]] = special[0] == "only"
        else:
            for number, index in enumerate(pending):
                there[index] = number < round(share * len(pending))
        for inode, indexes in self.of_file.items():
            blocks = [index for index in indexes if index < point and there[index] is None]
            if not blocks:
                continue
            how = data if data != "mixed" else self.random.choice(("none", "all", "half", "zeros", "subset", "holes"))
            if model == "ordered" and how in ("zeros", "subset", "holes"):
                how = "half"
            cut = len(blocks) // 2 if data == "half" else self.random.randrange(len(blocks) + 1)
            for number, index in enumerate(blocks):
                if how == "half":
                    there[index] = number < cut
                elif how == "subset":
                    there[index] = self.random.random() < 0.5
                elif how == "holes":
                    there[index] = self.random.choice((True, False, "zeros"))
                else:
                    there[index] = {"none": False, "all": True, "zeros": "zeros"}[how]
        return there

    def tree(self, there):
        """{path: (kind, content, mode, time, inode)} without the constant files."""
        names = dict(self.base)
        for index, is_there in enumerate(there):
            op = self.ops[index]
            if op.kind == "name" and is_there:
                for place, inode in op.value:
                    if inode is None:
                        names.pop(place, None)
                    else:
                        names[place] = inode
        below = {}
        for (folder, name), inode in names.items():
            below.setdefault(folder, []).append((name, inode))
        result, contents, todo = {}, {}, [(0, b"")]
        while todo:
            folder, path = todo.pop()
            for name, inode in below.get(folder, ()):
                if folder == 0 and name in self.constant:
                    continue
                if inode not in contents:
                    contents[inode] = self.file(inode, there)
                result[path + name] = contents[inode]
                if contents[inode][0] == "dir":
                    todo.append((inode, path + name + b"/"))
        return result

    def file(self, inode, there):
        file = self.files[inode]
        indexes = [index for index in self.of_file.get(inode, ()) if index < len(there)]
        mode, mtime, content = file.mode, file.mtime, file.content
        for index in indexes:
            op = self.ops[index]
            if not there[index]:
                continue
            if op.kind == "meta":
                mode, mtime = (op.value[1], mtime) if op.value[0] == "mode" else (mode, op.value[1])
            else:
                mtime = None
        if indexes:
            chosen = {id(self.ops[index]): there[index] for index in indexes}
            content = build_content(content, [self.ops[index] for index in indexes], lambda op: chosen[id(op)])
        return file.kind, content, mode, mtime, inode

    def sample(self, count, is_wide):
        """(choice, tree) of up to `count` different states."""
        known = 0
        for choice in self.choices(is_wide):
            if count <= 0 or known > 1000:
                return
            known += 1
            tree = self.tree(self.state(choice))
            # After the end of the run, more conditions must hold than before it.
            is_end = choice[0] == len(self.ops)
            key = hashlib.sha1(repr((is_end, sorted((path, value[:4]) for path, value in tree.items()))).encode()).digest()
            if key in self.seen:
                continue
            self.seen.add(key)
            count, known = count - 1, 0
            yield choice, tree


# --- Mistakes -----------------------------------------------------------------------------------------------------------------

def moved(ops, index, before):
    op = ops[index]
    changed = Op(op.kind, ops[before].start - 1, ops[before].start - 1, op.target, op.value, text=op.text)
    return ops[:before] + [changed] + ops[before:index] + ops[index + 1:]


def is_folder_sync(recorder, op):
    return op.kind == "fsync" and recorder.files[op.target].kind == "dir"


def without_file_syncs(recorder, ops):
    return [op for op in ops if op.kind not in ("fsync", "fdatasync", "syncfs") or is_folder_sync(recorder, op)]


def without_folder_syncs(recorder, ops):
    return [op for op in ops if not is_folder_sync(recorder, op)]


def names_first(recorder, ops):
    """Each file gets its last name before its contents are written and synced."""
    for inode in {op.target for op in ops if op.kind == "write"}:
        named = [n for n, op in enumerate(ops) if op.kind == "name" and any(target == inode for _, target in op.value)]
        first = next(n for n, op in enumerate(ops) if op.kind == "write" and op.target == inode)
        if named and named[-1] > first:
            ops = moved(ops, named[-1], first)
    return ops


def removals_first(recorder, ops):
    """Files are removed before the first sync."""
    before = next((n for n, op in enumerate(ops) if op.kind in ("fsync", "fdatasync", "syncfs")), 0)
    for index, op in enumerate(ops):
        if index > before and op.kind == "name" and all(target is None for _, target in op.value) and op.text.startswith("unlink"):
            ops = moved(ops, index, before)
    return ops


def removed_before_replaced(recorder, ops):
    """A file that a rename replaces is removed first."""
    result = []
    for op in ops:
        if op.kind == "name" and len(op.value) == 2:
            result.append(Op("name", op.start, op.start, None, [(op.value[1][0], None)], text="unlink"))
        result.append(op)
    return result


MISTAKES = {"file-sync": without_file_syncs, "folder-sync": without_folder_syncs, "names-first": names_first,
            "removals-first": removals_first, "early-removal": removed_before_replaced}


# --- The run ------------------------------------------------------------------------------------------------------------------

def record(scenario, program):
    """Runs the command under strace; the recorder knows the files from before the run."""
    scenario.prepare()
    recorder = Recorder(program.root)
    trace = program.root + ".trace"
    done = program.run(*scenario.command, under=("strace", "-f", "-qq", "--seccomp-bpf", "-xx", "-s", "1000000000", "-e", "signal=none",
                                                "-e", "trace=" + CALLS, "-o", trace))
    if done.returncode:
        raise RuntimeError(f"{scenario.command} ended with {done.returncode}: {done.stderr.decode()}")
    recorder.read(trace)
    os.unlink(trace)
    scenario.after()
    # All calls together must give the real tree; otherwise the trace was not understood.
    whole = States(recorder, recorder.ops, (), 0)
    tree = {os.fsdecode(path): value[:2] for path, value in whole.tree([True] * len(recorder.ops)).items()}
    real = read_all(program.root)
    if tree != real:
        wrong = sorted(path for path in tree.keys() | real.keys() if tree.get(path) != real.get(path))
        raise RuntimeError(f"the trace does not explain {wrong[:5]}")
    return recorder


def check(scenario, program, states, count, keep, stop_at_first=False):
    """(number of states, problems by kind, descriptions)."""
    looked, kinds, words = 0, {}, []
    for choice, tree in states.sample(count, is_wide=stop_at_first):
        rebuild(program.root, tree, scenario.constant)
        looked += 1
        try:
            problems = list(scenario.look(choice[0] == len(states.ops)))
            if not problems:
                problems = list(scenario.next_run())
        except subprocess.TimeoutExpired as error:
            problems = [("hang", f"the command hangs: {error.cmd}")]
        if not problems:
            continue
        for kind, _ in problems:
            kinds[kind] = kinds.get(kind, 0) + 1
        point, model, share, data, special = choice
        last = f"after call {point} of {len(states.ops)} ({states.ops[point - 1].text if point else 'none'})"
        words.append(f"{problems[0][0]}: {problems[0][1]} [{model}, {last}, names {share:.2f}, contents {data}{f', {special}' if special else ''}]")
        if keep and len(words) <= 5:
            folder = os.path.join(keep, f"{type(scenario).__name__}-{looked}")
            shutil.rmtree(folder, ignore_errors=True)
            rebuild(program.root, tree, scenario.constant)
            shutil.copytree(program.root, folder, symlinks=True)
        if stop_at_first:
            break
    return looked, kinds, words


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--states", type=int, default=2000, help="at most this many states of each scenario")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only scenarios whose name matches")
    parser.add_argument("--mistakes", action="store_true", help="change the calls, and expect to find each change")
    parser.add_argument("--keep", help="a folder for the first states that fail")
    options = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    failed, total = False, 0
    for name, kind in SCENARIOS.items():
        if not re.search(options.only, name):
            continue
        with tempfile.TemporaryDirectory(prefix="batchproc-crash-", dir=memory) as place:
            root = os.path.join(place, "w")
            os.mkdir(root)
            os.mkdir(root + "-tmp")
            program = Program(os.path.abspath(options.binary), root)
            scenario = kind(program)
            recorder = record(scenario, program)
            if options.mistakes:
                for mistake in scenario.mistakes:
                    ops = MISTAKES[mistake](recorder, list(recorder.ops))
                    states = States(recorder, ops, scenario.constant, options.seed)
                    looked, kinds, words = check(scenario, program, states, options.states, None, stop_at_first=True)
                    total += looked
                    print(f"{name}\t{mistake}\t{'found' if words else 'NOT FOUND'}\t{looked} states\t{words[0] if words else ''}", flush=True)
                    failed = failed or not words
                continue
            started = time.monotonic()
            states = States(recorder, recorder.ops, scenario.constant, options.seed)
            looked, kinds, words = check(scenario, program, states, options.states, options.keep)
            total += looked
            problems = " ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "none"
            print(f"{name}\t{len(recorder.ops)} calls\t{looked} states\t{problems}\t{time.monotonic() - started:.1f} s", flush=True)
            for line in words[:3]:
                print(f"  {line}", flush=True)
            failed = failed or bool(words)
    print(f"{total} states, {'failed' if failed else 'all hold' if not options.mistakes else 'all mistakes found'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
