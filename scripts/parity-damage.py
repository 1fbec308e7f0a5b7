#!/usr/bin/env python3
"""Damages archives at random, and repairs them by their recovery data.

usage: scripts/parity-damage.py BINARY [--rounds N] [--seed N]

Each round damages an archive by flipped bits, zeroed sectors, a cut tail, lost and inserted bytes, and exchanged blocks, up to
the number of recovery blocks. The repaired archive must be the same bit for bit. In every fourth round one block more than that
is damaged; then nothing may change. Ends with 1 when a round fails.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile


def blocks_of(binary, folder, name):
    """The size of blocks, and the number of recovery blocks."""
    found = subprocess.run((binary, "parity", "create", "-v", "--force", "--parity", "6%", name), cwd=folder, check=True,
                           capture_output=True, text=True).stderr
    size = int(re.search(r"blocks? of (\d+) bytes", found)[1])
    return size, int(re.search(r"([\d,]+) recovery block", found)[1].replace(",", ""))


def damage(whole, block, limit, numbers):
    """The damaged bytes, and the kinds of damage; at most `limit` blocks are lost."""
    data, rest, kinds = bytearray(whole), limit, []
    for kind in numbers.sample(("flip", "zero", "exchange"), 3):
        if kind == "flip":
            for _ in range(numbers.randint(0, rest)):
                data[numbers.randrange(len(data))] ^= 1 << numbers.randrange(8)
                rest -= 1
                kinds.append(kind)
        elif kind == "zero" and rest > 1:
            # A sector of 4,096 bytes touches two blocks at most, since no block is smaller.
            for _ in range(numbers.randint(0, rest // 2)):
                start = numbers.randrange(len(data) // 4096) * 4096
                data[start:start + 4096] = bytes(len(data[start:start + 4096]))
                rest -= 2
                kinds.append(kind)
        elif kind == "exchange" and len(data) > 4 * block:
            count = len(data) // block
            one, other = (numbers.randrange(count) * block for _ in range(2))
            data[one:one + block], data[other:other + block] = data[other:other + block], data[one:one + block]
            kinds.append(kind)
    while rest > 2 and numbers.random() < 0.6:
        place, count = numbers.randrange(len(data)), numbers.randint(1, 9)
        if numbers.random() < 0.5:
            data[place:place] = numbers.randbytes(count)
            kinds.append("insert")
        else:
            del data[place:place + count]
            kinds.append("lose")
        rest -= 2
    if rest > 2 and numbers.random() < 0.5:
        del data[len(data) - numbers.randint(1, (rest - 1) * block - 1):]
        kinds.append("cut")
    return bytes(data), kinds


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    binary, numbers = os.path.abspath(options.binary), random.Random(options.seed)
    counts = {"repaired": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as folder:
        archives = []
        for index, (files, size) in enumerate(((3, 20_000), (40, 9_000), (60, 60_000), (5, 3_000_000))):
            os.mkdir(f"{folder}/t{index}")
            for number in range(files):
                write(f"{folder}/t{index}/f{number}", numbers.randbytes(size // 2) + b"text " * (size // 10))
            name = f"a{index}.tar.zst"
            subprocess.run((binary, "archive", "-q", "-o", name, f"t{index}"), cwd=folder, check=True)
            archives.append((name, read(f"{folder}/{name}"), *blocks_of(binary, folder, name)))
        for number in range(options.rounds):
            name, whole, block, limit = numbers.choice(archives)
            path = f"{folder}/{name}"
            is_too_much = number % 4 == 3
            if is_too_much:
                data, kinds = bytearray(whole), ["too much"]
                for place in numbers.sample(range(len(whole) // block), limit + 1):
                    data[place * block + numbers.randrange(block)] ^= 0x10
                data = bytes(data)
            else:
                data, kinds = damage(whole, block, limit, numbers)
            write(path, data)
            before = os.stat(path).st_ino
            done = subprocess.run((binary, "repair", "-q", "--force", "--no-fsync", name), cwd=folder, capture_output=True, text=True)
            after = read(path)
            if is_too_much:
                is_right = done.returncode == 4 and after == data and os.stat(path).st_ino == before
                counts["refused"] += 1
            else:
                is_right = done.returncode == 0 and after == whole
                counts["repaired"] += 1
            left = [entry for entry in os.listdir(folder) if entry.startswith(".batchproc-") or entry.endswith(".damaged")]
            if not is_right or left:
                print(f"round {number}: {name}, {' '.join(kinds)}: status {done.returncode}, "
                      f"{'other bytes' if after != whole else 'the same bytes'}, {left}\n{done.stdout}{done.stderr}")
                return 1
            write(path, whole)
    print(f"{counts['repaired']} repaired, {counts['refused']} refused, all hold")
    return 0


if __name__ == "__main__":
    sys.exit(main())
