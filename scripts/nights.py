#!/usr/bin/env python3
"""Simulates many nights of backups by several jobs and machines, and checks after each night what can be restored.

usage: scripts/nights.py BINARY [--nights N | --brief] [--seed N] [--samples N] [--place DIR]

As root. Two machines write to one set in one folder: the first one has two jobs and a run by hand of a part of a
source, the second one has a job whose source has the same path as one of the first. Another set is encrypted. One
job copies the set to a second folder. The tree changes each night, and these things happen:

* a source is moved and a symbolic link takes its place; later the link leads nowhere,
* a disk inside a source is not mounted,
* a folder cannot be read for a week,
* a byte of a file changes below the file system, and a run that reads everything finds it,
* the clock is set forward for some nights, and back again,
* the recipient of the encrypted job is forgotten.

A model, which shares no code with the program, says how each run must end, and which snapshots must be there
afterwards. Each night some of them are restored and compared with the contents that the model has recorded; after the last
night all of them are. Ends with 1 when something differs.
"""

import argparse
import base64
import datetime
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

DAY = 86400
USER = 1001
DAILY, WEEKLY = 5, 3


class Events:
    """The nights on which something happens; they come again after `cycle` nights."""

    def __init__(self, cycle, unmounted, unreadable, rot, linked, nowhere, part, forgotten, jumps):
        self.cycle, self.unmounted, self.unreadable, self.rot, self.linked = cycle, unmounted, unreadable, rot, linked
        self.nowhere, self.part, self.forgotten, self.jumps = nowhere, part, forgotten, jumps


USUAL = Events(45, unmounted=(8, 9, 12), unreadable=range(16, 23), rot=25, linked=(38, 39), nowhere=40, part=range(3, 45, 7),
               forgotten=(14, 28), jumps={30: 4, 31: 4, 33: -2, 36: 40})
BRIEF = Events(10, unmounted=(2,), unreadable=(3, 4), rot=5, linked=(7,), nowhere=8, part=(1, 4), forgotten=(2,), jumps={6: 4})
CLOCK = r"""
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


class Snapshot:
    """What the model knows of a snapshot: when it began by the clock of its run, and the contents."""

    def __init__(self, stamp, seconds, contents, is_complete):
        self.stamp, self.seconds, self.contents, self.is_complete = stamp, seconds, contents, is_complete


class Series:
    """The snapshots that keep rules count together."""

    def __init__(self):
        self.snapshots = []  # in the order in which they were made

    def kept(self, now):
        """The rules, counted by time; a snapshot from the future takes no place and stays."""
        kept = {id(one) for one in self.snapshots if one.seconds > now}
        past = sorted((one for one in self.snapshots if one.seconds <= now), key=lambda one: one.seconds, reverse=True)
        for count, period in ((DAILY, "%Y-%m-%d"), (WEEKLY, "%G-%V")):
            seen = []
            for one in past:
                name = datetime.datetime.fromtimestamp(one.seconds, datetime.timezone.utc).strftime(period)
                if name not in seen and len(seen) < count:
                    seen.append(name)
                    kept.add(id(one))
        for one in reversed(self.snapshots):
            if one.is_complete:
                kept.add(id(one))
                break
        return [one for one in self.snapshots if id(one) in kept]

    def prune(self, now):
        self.snapshots = self.kept(now)


class Machine:
    def __init__(self, world, name):
        self.name = name
        self.folder = os.path.join(world.place, name)
        self.state = os.path.join(self.folder, "state")
        self.number = os.path.join(self.folder, "machine-id")
        for folder in (self.folder, self.state, os.path.join(self.folder, "src")):
            os.mkdir(folder)
        with open(self.number, "w", encoding="ascii") as file:
            file.write(hashlib.md5(name.encode()).hexdigest() + "\n")


class World:
    def __init__(self, options, place):
        self.random = random.Random(options.seed)
        self.binary = os.path.abspath(options.binary)
        self.place, self.samples = place, options.samples
        self.problems, self.runs, self.restored = [], 0, 0
        self.source = os.path.join(place, "src")
        self.target = os.path.join(place, "target")
        self.vault = os.path.join(place, "vault")
        self.copy = os.path.join(place, "copy")
        self.night = 0
        self.jump = 0
        self.nights, self.events = (BRIEF.cycle, BRIEF) if options.brief else (options.nights, USUAL)
        for folder in (self.source, self.target, self.vault, self.copy, os.path.join(place, "elsewhere")):
            os.mkdir(folder)
        self.machines = {name: Machine(self, name) for name in ("one", "two")}
        self.preload = os.path.join(place, "clock.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", self.preload, "-ldl"], input=CLOCK.encode(), check=True)
        self.disk = os.path.join(place, "disk.img")
        with open(self.disk, "wb") as file:
            file.truncate(16 << 20)
        subprocess.run(["mkfs.ext4", "-qF", "-E", f"root_owner={USER}:{USER}", self.disk], check=True)
        self.series = {}
        # The ids of the snapshots after the last backup, by the folders of the sets.
        self.there = {}
        self.key = os.path.join(place, "key")
        self.recipient = None

    # Running programs.

    def enter(self, machine, command, mounts=True):
        """A command on a machine: its source, its number and, if it is mounted, its disk, in a mount namespace of its own."""
        name = self.machines[machine]
        steps = [f'mount --bind "{name.folder}/src" "{self.source}"', f'mount --bind "{name.number}" /etc/machine-id']
        if machine == "one" and mounts:
            steps.append(f'mount -o loop "{self.disk}" "{self.source}/home/disk"')
        script = " && ".join(steps) + f' && exec setpriv --reuid={USER} --regid={USER} --clear-groups "$@"'
        return ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", *command]

    def run(self, machine, *arguments, mounts=True, folder=None):
        self.runs += 1
        environment = {"PATH": os.environ["PATH"], "HOME": self.machines[machine].folder, "TZ": "UTC", "LC_ALL": "C.UTF-8",
                       "LD_PRELOAD": self.preload, "SHIFT": str(self.shift), "TMPDIR": os.path.join(self.place, "tmp"),
                       "XDG_STATE_HOME": self.machines[machine].state}
        return subprocess.run(self.enter(machine, [self.binary, *arguments], mounts), cwd=folder or self.place, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120)

    def shell(self, machine, script, mounts=True):
        subprocess.run(self.enter(machine, ["sh", "-euc", script], mounts), cwd=self.place, check=True)

    @property
    def shift(self):
        return self.night * DAY + self.jump

    def now(self):
        return int(datetime.datetime.now().timestamp()) + self.shift

    def wrong(self, words, run=None):
        self.problems.append(words)
        print(f"WRONG, night {self.night}: {words}", flush=True)
        if run is not None:
            print((run.stdout[-600:] + run.stderr[-1500:]).decode("utf-8", "replace"), flush=True)

    # The trees.

    def write(self, machine, path, data):
        path = os.path.join(self.machines[machine].folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path):
            os.unlink(path)
        with open(path, "wb") as file:
            file.write(data)

    def fill(self):
        for machine in self.machines:
            for folder, count in (("etc", 12), ("home", 20), ("home/sub", 8), ("home/private", 6)):
                if machine == "two" and folder != "etc":
                    continue
                for index in range(count):
                    self.write(machine, f"src/{folder}/file{index}", self.data(machine, folder))
        os.makedirs(os.path.join(self.machines["one"].folder, "src/home/disk"))
        self.own()
        folder = os.path.join(self.place, "elsewhere")
        subprocess.run(["unshare", "-m", "sh", "-euc", f'mount -o loop "{self.disk}" "{folder}"; rmdir "{folder}/lost+found"'], check=True)
        for index in range(6):
            self.write_disk(f"d{index}", self.data("one", "disk"))

    def data(self, *words):
        head = " ".join((*words, str(self.night), str(self.random.randrange(1 << 48)))).encode() + b"\n"
        return head + self.random.randbytes(self.random.choice((20, 900, 6000, 40000)))

    def own(self):
        subprocess.run(["chown", "-R", f"{USER}:{USER}", self.place], check=True)

    def write_disk(self, name, data):
        path = os.path.join(self.place, "piece")
        with open(path, "wb") as file:
            file.write(data)
        os.chown(path, USER, USER)
        self.shell("one", f'cp "{path}" "{self.source}/home/disk/{name}.new"; mv "{self.source}/home/disk/{name}.new" "{self.source}/home/disk/{name}"')

    def change(self):
        for machine in self.machines:
            for folder in ("etc", "home", "home/sub") if machine == "one" else ("etc",):
                place = os.path.join(self.home(machine), folder)
                names = sorted(name for name in os.listdir(place) if name.startswith("file"))
                for name in self.random.sample(names, min(2, len(names))):
                    with open(os.path.join(place, name), "wb") as file:
                        file.write(self.data(machine, folder))
                if self.random.random() < 0.4:
                    with open(os.path.join(place, f"file-{self.night}"), "wb") as file:
                        file.write(self.data(machine, folder))
                if len(names) > 8 and self.random.random() < 0.4:
                    os.unlink(os.path.join(place, self.random.choice(names)))
                if len(names) > 4 and self.random.random() < 0.3:
                    name = self.random.choice([name for name in names if os.path.exists(os.path.join(place, name))])
                    os.rename(os.path.join(place, name), os.path.join(place, f"file-moved-{self.night}"))
        self.own()

    def home(self, machine):
        return os.path.join(self.machines[machine].folder, "src")

    def contents(self, machine, paths, mounts=True):
        """The regular files below some paths as the machine sees them; a path that is a link to a folder is followed."""
        script = r"""
import base64, json, os, sys
found = {}
for top in sys.argv[1:]:
    for folder, folders, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                try:
                    found[path] = base64.b64encode(open(path, "rb").read()).decode()
                except PermissionError:
                    pass
print(json.dumps(found))
"""
        out = subprocess.run(self.enter(machine, [sys.executable, "-S", "-c", script, *paths], mounts), cwd=self.place, capture_output=True, check=True)
        return {path: hashlib.sha256(value.encode()).hexdigest() for path, value in json.loads(out.stdout).items()}

    # Sets.

    def listed(self, target, machine="two"):
        run = self.run(machine, "snapshots", "--json", target)
        rows = [json.loads(line) for line in run.stdout.splitlines()]
        return {row["id"]: row for row in rows if row["type"] == "snapshot"}

    def backup(self, machine, key, sources, *options, status=0, mounts=True, target=None, known=None):
        """A backup, its end, and what it must have added and removed.

        `known` are the contents that the snapshot must have; without it, they are what the machine shows.
        """
        target = target or self.target
        before = self.there.get(target, set())
        if known is None:
            # The disk is in no other folder.
            known = self.contents(machine, [os.path.join(self.source, name) for name in sources], mounts="home" in sources)
        run = self.run(machine, "backup", "-q", "--to", target, *options, *(os.path.join(self.source, name) for name in sources), mounts=mounts)
        if run.returncode != status:
            self.wrong(f"{key}: the status is {run.returncode} and not {status}", run)
        rows = self.listed(target) if os.listdir(target) else {}
        self.there[target] = after = set(rows)
        series = self.series.setdefault((target, *key), Series())
        added = after - before
        makes = status in (0, 3, 4)
        if len(added) != (1 if makes else 0):
            self.wrong(f"{key}: added {sorted(added)}", run)
        for stamp in added:
            series.snapshots.append(Snapshot(stamp, int(rows[stamp]["started"].split(".")[0]), known, status != 3))
        if status == 0:
            series.prune(self.now())
        expected = {one.stamp for name, other in self.series.items() if name[0] == target for one in other.snapshots}
        if not expected <= after:
            self.wrong(f"{key}: removed {sorted(expected - after)}", run)
        if after - expected:
            self.wrong(f"{key}: kept {sorted(after - expected)}, which no rule keeps", run)
        return run

    def restore(self, target, snapshot, *options):
        out = os.path.join(self.place, "out")
        shutil.rmtree(out, ignore_errors=True)
        run = self.run("one", "restore", "-q", "-C", out, "--at", snapshot.stamp, *options, target, mounts=False)
        found = {}
        for folder, _, names in os.walk(out):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    data = file.read()
                found["/" + os.path.relpath(path, out)] = hashlib.sha256(base64.b64encode(data)).hexdigest()
        self.restored += 1
        if run.returncode != 0 or found != snapshot.contents:
            missing = sorted(set(snapshot.contents) - set(found))
            other = sorted(path for path in found if snapshot.contents.get(path) != found[path])
            self.wrong(f"{snapshot.stamp} of {target} is restored with {run.returncode}; missing {missing[:3]}, other {other[:3]}", run)

    def check(self, everything=False):
        for key, series in self.series.items():
            chosen = series.snapshots if everything else self.random.sample(series.snapshots, min(self.samples, len(series.snapshots)))
            for snapshot in chosen:
                self.restore(key[0], snapshot, *(("-i", self.key) if key[0] == self.vault else ()))

    # The nights.

    def prepare(self):
        os.mkdir(os.path.join(self.place, "tmp"))
        self.fill()
        run = self.run("one", "keygen", "-o", self.key)
        if run.returncode != 0:
            self.wrong("no key", run)
        with open(self.key, encoding="ascii") as file:
            self.recipient = next(line for line in file if "public key:" in line).split()[-1]

    def rot(self, name):
        """Changes a byte of a file of the disk below its file system."""
        path = os.path.join(self.place, "piece")
        self.shell("one", f'cat "{self.source}/home/disk/{name}" >"{path}"')
        with open(path, "rb") as file:
            data = file.read()
        with open(self.disk, "r+b") as file:
            image = file.read()
            place = image.find(data[:256])
            if place < 0 or image.find(data[:256], place + 1) >= 0:
                return False
            file.seek(place + 10)
            file.write(bytes([image[place + 10] ^ 1]))
        subprocess.run(["sync"], check=True)
        return True

    def one_night(self):
        events, night = self.events, self.night % self.events.cycle
        keep = ("--keep-daily", str(DAILY), "--keep-weekly", str(WEEKLY))
        if self.night:
            self.change()
        self.jump = events.jumps.get(night, 0) * DAY
        folder = os.path.join(self.machines["one"].folder, "src")
        home, moved, private = (os.path.join(folder, name) for name in ("home", "moved", "home/private"))
        is_unreadable = night in events.unreadable
        if is_unreadable:
            os.chown(private, 0, 0)
            os.chmod(private, 0o700)
        elif night - 1 in events.unreadable:
            os.chmod(private, 0o755)
        if night in events.linked and not os.path.islink(home):
            os.rename(home, moved)
            os.symlink("moved", home)
        # The first machine.
        etc = self.contents("one", [os.path.join(self.source, "etc")], mounts=False)
        self.backup("one", ("one", "etc"), ["etc"], *keep, known=etc)
        key, whole = ("one", "home"), ("--copy-to", self.copy, "--copy-keep-daily", "3", *keep)
        if night in events.unmounted:
            self.backup("one", key, ["home"], *whole, status=1, mounts=False)
        elif night == events.nowhere:
            os.unlink(home)
            os.symlink("gone", home)
            self.backup("one", key, ["home"], *whole, status=1, mounts=False, known={})
            os.unlink(home)
            os.rename(moved, home)
        elif night == events.rot:
            good = self.contents("one", [os.path.join(self.source, "home")])
            if not self.rot("d0") or good == self.contents("one", [os.path.join(self.source, "home")]):
                self.wrong("no byte was changed below the file system")
            self.backup("one", key, ["home"], *whole, "--checksum", status=4, known=good)
            self.write_disk("d0", self.data("one", "disk"))
        else:
            everything = ("--checksum",) if night % 5 == 0 and not is_unreadable else ()
            self.backup("one", key, ["home"], *whole, *everything, status=3 if is_unreadable else 0)
        if night in events.part:
            self.backup("one", ("one", "sub"), ["home/sub"], *keep)
        # The second machine.
        self.backup("two", ("two", "etc"), ["etc"], *keep)
        # The encrypted set.
        recipient = () if night in events.forgotten else ("--encrypt-to", self.recipient)
        self.backup("one", ("one", "vault"), ["etc"], "--name", "vault", *recipient, *keep, status=0 if recipient else 64, target=self.vault,
                    known=etc)
        self.check(everything=self.night == self.nights - 1)

    def live(self):
        self.prepare()
        for night in range(self.nights):
            self.night = night
            self.one_night()
        self.check_copy()

    def check_copy(self):
        """The newest snapshot of the job with copies is at the copy, and is restored from there."""
        series = self.series[(self.target, "one", "home")]
        copies = self.listed(self.copy)
        newest = max(series.snapshots, key=lambda one: one.seconds if one.seconds <= self.now() else 0)
        if newest.stamp not in copies:
            self.wrong(f"the copy lacks {newest.stamp}; it has {sorted(copies)}")
        else:
            self.restore(self.copy, newest)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("binary")
    parser.add_argument("--nights", type=int, default=90)
    parser.add_argument("--brief", action="store_true", help=f"{BRIEF.cycle} nights in which each thing happens once")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=int, default=1, help="how many snapshots of each series are restored each night")
    parser.add_argument("--place", default="/tmp")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("nights: only root can mount disks")
    place = tempfile.mkdtemp(prefix="batchproc-nights-", dir=options.place)
    os.chmod(place, 0o755)
    world = World(options, place)
    try:
        world.live()
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(f"{world.nights} nights, {world.runs} runs, {world.restored} snapshots restored, {len(world.problems)} problems")
    sys.exit(1 if world.problems else 0)


if __name__ == "__main__":
    main()
