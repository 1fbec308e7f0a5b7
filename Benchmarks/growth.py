#!/usr/bin/env python3
"""How much a backup set and a restic repository grow in nights with typical changes.

usage: Benchmarks/growth.py BATCHPROC [--scale F] [--folder DIR] [--days N]

Makes a tree of about 2.7 GB times F that does not compress, changes it night by night, and backs it up with both programs. Prints the
bytes that each night added, the share of the manifests, and the time. Compares a restore of the last snapshot with the tree.
With --days, the changes come again and again, both programs keep 7 daily and 4 weekly snapshots, and a second set is encrypted by a
machine that cannot read it; prints the sizes after each week. Needs root for chown.
"""

import argparse
import datetime
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

import clock
import report

MB = 1_000_000
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("batchproc")
parser.add_argument("--scale", type=float, default=1.0)
parser.add_argument("--folder", default="/var/tmp/growth")
parser.add_argument("--days", type=int, default=0)
parser.add_argument("--results", help="the page to which the nights are written")
options = parser.parse_args()
program = os.path.abspath(options.batchproc)
scale = options.scale
root = os.path.abspath(options.folder)
options.results = options.results and os.path.abspath(options.results)
shutil.rmtree(root, ignore_errors=True)
os.makedirs(root)
os.chdir(root)
environment = dict(os.environ, XDG_STATE_HOME=root + "/state", RESTIC_PASSWORD="growth", RESTIC_CACHE_DIR=root + "/cache")
chance = random.Random(49)


def write(path, size):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        while size > 0:
            piece = chance.randbytes(min(size, 1 << 20))
            file.write(piece)
            size -= len(piece)


def put(path, offset, piece):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(piece)


def files(folder):
    return sorted(os.path.join(place, name) for place, _, names in os.walk(folder) for name in names
                  if not os.path.islink(os.path.join(place, name)))


def make():
    for number in range(int(100 * scale)):
        write(f"tree/big/{number}", 10 * MB)
    for number in range(int(10_000 * scale)):
        write(f"tree/small/{number % 100}/{number}", chance.randrange(100, 12_000))
    write("tree/disk.img", int(1000 * MB * scale))
    write("tree/log/app.log", int(100 * MB * scale))
    write("tree/ten", 10 * MB)


def image():
    size = os.path.getsize("tree/disk.img")
    for _ in range(int(160 * scale)):
        put("tree/disk.img", chance.randrange(size - 65_536), chance.randbytes(65_536))


def edit():
    for path in chance.sample(files("tree/small"), int(100 * scale)):
        put(path, 0, chance.randbytes(64))


def rename():
    os.rename("tree/big", "tree/large")


def rotate():
    os.rename("tree/log/app.log", "tree/log/app.log.1")
    write("tree/log/app.log", 3 * MB)


def append():
    with open("tree/log/app.log", "ab") as file:
        file.write(chance.randbytes(int(50 * MB * scale)))


def remove():
    for path in chance.sample(files("tree/large"), int(10 * scale)) + chance.sample(files("tree/small"), int(1000 * scale)):
        os.remove(path)


def run(*arguments):
    return lambda: subprocess.run(arguments, check=True)


NIGHTS = [
    ("first backup", lambda: None),
    ("1 % of the small files edited", edit),
    ("folder of 1 GB renamed", rename),
    ("chmod -R", run("chmod", "-R", "g+w", "tree")),
    ("chown -R", run("chown", "-R", "1:1", "tree")),
    ("cp -a of a folder", run("cp", "-a", "tree/small", "tree/copy")),
    ("log rotated", rotate),
    ("5 bytes in a file of 10 MB", lambda: put("tree/ten", 5_000_000, chance.randbytes(5))),
    ("50 MB appended to a log", append),
    ("a tenth deleted", remove),
    ("all touched", run("find", "tree", "-exec", "touch", "-h", "{}", "+")),
]


def move():
    """A folder gets another name, and back."""
    for old, new in (("tree/big", "tree/large"), ("tree/large", "tree/big")):
        if os.path.exists(old):
            return os.rename(old, new)


def replace():
    """A tenth of the files of a folder are removed, and as many new ones are made."""
    for path in chance.sample(files("tree/small"), int(500 * scale)):
        os.remove(path)
    for _ in range(int(500 * scale)):
        write(f"tree/small/{chance.randrange(100)}/{chance.randrange(1 << 40)}", chance.randrange(100, 12_000))


def keep_for(days):
    """Backups of many days, with rules that keep few of them."""
    changes = [edit, replace, move, edit, rotate, edit, append, run("chmod", "-R", "o-w", "tree"), edit, run("find", "tree", "-exec", "touch", "-h", "{}", "+")]
    clock.make_library(root + "/clock.so")
    made = subprocess.run([program, "keygen", "-o", "key"], check=True, capture_output=True)
    recipient = re.search(rb"age1\w+", made.stdout + made.stderr)[0].decode()
    rules = ["--keep-daily", "7", "--keep-weekly", "4"]
    worst = [0.0, 0.0]
    print(f"{'day':>4} {'batchproc':>10} {'encrypted':>10} {'restic':>10} {'ratio':>6} {'encr.':>6}", flush=True)
    for day in range(days):
        if day:
            changes[day % len(changes)]()
            image()
        environment.update(LD_PRELOAD=root + "/clock.so", SHIFT=str(day * 86_400))
        timed(program, "backup", "-q", "--to", "set", *rules, "tree")
        timed(program, "backup", "-q", "--to", "secret", "--encrypt-to", recipient, *rules, "tree")
        del environment["LD_PRELOAD"]
        now = datetime.datetime.now() + datetime.timedelta(days=day)
        timed("restic", "-r", "restic", "backup", "-q", "--time", now.strftime("%Y-%m-%d %H:%M:%S"), "tree")
        timed("restic", "-r", "restic", "forget", "-q", *rules, "--prune")
        own, secret, other = size("set"), size("secret"), size("restic")
        if day >= 7:
            worst = [max(worst[0], own / other), max(worst[1], secret / other)]
        if day % 7 == 6 or day == days - 1:
            print(f"{day + 1:4} {own / MB:10.1f} {secret / MB:10.1f} {other / MB:10.1f} {own / other:6.3f} {secret / other:6.3f}", flush=True)
    print(f"the largest ratio on a day after the first week: {worst[0]:.3f}, encrypted {worst[1]:.3f}")
    for folder, keys in (("set", []), ("secret", ["--identity", "key"])):
        subprocess.run([program, "verify", "-q", *keys, folder], env=environment, check=True)
        shutil.rmtree("out", ignore_errors=True)
        subprocess.run([program, "restore", "-q", *keys, "-C", "out", folder], env=environment, check=True)
        subprocess.run(["diff", "-r", "tree", "out" + root + "/tree"], check=True)


def size(folder, suffix=""):
    return sum(os.path.getsize(path) for path in files(folder) if path.endswith(suffix))


def timed(*arguments):
    start = time.monotonic()
    subprocess.run(arguments, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


make()
subprocess.run(["restic", "-r", "restic", "init", "-q"], env=environment, check=True)
if options.days:
    keep_for(options.days)
    sys.exit()
before = (0, 0)
seconds = [0.0, 0.0]
rows = 0
page = ["| night | batchproc, MB | restic, MB | batchproc, s | restic, s |", "|---|--:|--:|--:|--:|"]
print(f"{'night':32} {'batchproc':>10} {'restic':>10} {'manifests':>10} {'s':>6} {'s':>6}", flush=True)
for number, (name, change) in enumerate(NIGHTS):
    change()
    if number:
        image()
    subprocess.run(["sync"], check=True)
    time.sleep(1.1)
    own = timed(program, "backup", "-q", "--to", "set", "tree")
    other = timed("restic", "-r", "restic", "backup", "-q", "tree")
    rows += len(files("tree"))
    now = (size("set"), size("restic"))
    print(f"{name:32} {(now[0] - before[0]) / MB:10.1f} {(now[1] - before[1]) / MB:10.1f} "
          f"{size('set', '.manifest.zst') / MB:10.2f} {own:6.1f} {other:6.1f}", flush=True)
    page.append(f"| {name} | {(now[0] - before[0]) / MB:.1f} | {(now[1] - before[1]) / MB:.1f} | {own:.2f} | {other:.2f} |")
    seconds = [seconds[0] + own, seconds[1] + other]
    before = now
page.append(f"| together | {before[0] / MB:.1f} | {before[1] / MB:.1f} | {seconds[0]:.2f} | {seconds[1]:.2f} |")
allowed = 80 * rows / MB
print(f"{'together':32} {before[0] / MB:10.1f} {before[1] / MB:10.1f}; ratio {before[0] / before[1]:.3f}; "
      f"{allowed:.1f} MB are allowed for manifests")
restore = timed(program, "restore", "-q", "set", "-C", "out")
full = timed("restic", "-r", "restic", "restore", "-q", "latest", "-t", "out-restic")
print(f"restore {restore:.1f} s, restic {full:.1f} s")
if options.results:
    with open(options.results, "w") as file:
        file.write("\n".join([
            "# Ten nights of a backup set", "",
            f"A tree of {2700 * scale:.0f} MB that does not compress, on a disk. Each night one change, beside changes in an image. What each night",
            "added, and the seconds of the backup. batchproc reads its archive back before it names it; restic does not. Made by",
            "`Benchmarks/growth.py`.", "", *report.machine(program, pathlib.Path(root)),
            f"| restic | {report.first_line('restic', 'version')} |", "", *page, "",
            f"The bytes of the set divided by those of the repository: **{before[0] / before[1]:.2f}**. Restoring the last night took",
            f"{restore:.2f} s, restic {full:.2f} s.", ""]))
sys.exit(subprocess.run(["diff", "-r", "tree", "out" + root + "/tree"]).returncode)
