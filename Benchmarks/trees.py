"""The measured trees. They are made from a fixed seed, have the same bytes everywhere, and are kept for the
next run."""

import dataclasses
import json
import os
import pathlib
import random
import shutil

PIECE = 1 << 20
# One file in five is noise, like pictures and archives, which cannot be compressed.
NOISE_SHARE = 0.2


@dataclasses.dataclass(frozen=True)
class Tree:
    """A tree of `files` whose sizes are log-normal and add up to `size` bytes; a single file when `files` is
    1.
    """

    name: str
    files: int
    folders: int
    size: int
    sigma: float = 1.6
    seed: int = 20240229
    # Increase this when trees are filled differently, so that kept trees are made again.
    version: int = 1

    def scaled(self, divisor: int) -> "Tree":
        """The same shape with fewer files and bytes, for a quick run."""
        return dataclasses.replace(
            self, files=max(1, self.files // divisor), folders=max(1, self.folders // divisor),
            size=self.size // divisor)


TREES = {
    tree.name: tree
    for tree in (
        Tree("small", files=44_000, folders=4_500, size=465_000_000),
        Tree("big", files=1, folders=1, size=1_500_000_000),
        Tree("mixed", files=3_000, folders=300, size=900_000_000, sigma=2.5),
    )
}


class Filler:
    """Contents of files: words that follow Zipf's law, broken into lines, or noise."""

    def __init__(self, chance: random.Random):
        self.chance = chance
        syllables = [a + b for a in "bdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "is", "ou")]
        words = ["".join(chance.choices(syllables, k=chance.choice((1, 2, 2, 3, 3, 4)))) for _ in range(12_000)]
        weights = [1 / rank for rank in range(1, len(words) + 1)]
        # 65,536 slots, so that two random bytes select a word with its weight by a fast table lookup.
        slots = chance.choices(words, weights, k=1 << 16)
        ends = chance.choices((" ", ", ", ".\n", "\n"), (80, 8, 6, 6), k=1 << 16)
        self.table = [(word + end).encode() for word, end in zip(slots, ends)]
        self.mean = sum(map(len, self.table)) / len(self.table)

    def write(self, path: str, size: int, alternate: bool = False) -> None:
        """A file that is all text or all noise; a single file has both in turn."""
        noise = self.chance.random() < NOISE_SHARE
        with open(path, "wb") as file:
            for start in range(0, size, PIECE):
                piece = min(PIECE, size - start)
                if alternate:
                    noise = self.chance.random() < NOISE_SHARE
                file.write(self.chance.randbytes(piece) if noise else self.text(piece))

    def text(self, size: int) -> bytes:
        count = int(size / self.mean * 1.1) + 16
        picks = memoryview(self.chance.randbytes(2 * count)).cast("H")
        text = b"".join(map(self.table.__getitem__, picks))
        return text[:size] if len(text) >= size else text + self.text(size - len(text))


def sizes(tree: Tree, chance: random.Random) -> list[int]:
    """Log-normal sizes, scaled so that their sum is exactly the tree's size."""
    drawn = [chance.lognormvariate(0, tree.sigma) for _ in range(tree.files)]
    scale = tree.size / sum(drawn)
    whole = [int(size * scale) for size in drawn]
    whole[whole.index(max(whole))] += tree.size - sum(whole)
    return whole


def folders(tree: Tree, chance: random.Random) -> list[str]:
    """Folder paths below the root, each within an earlier one and at most nine levels deep."""
    paths = [""]
    while len(paths) < tree.folders:
        parent = chance.choice(paths)
        if parent.count("/") < 9:
            paths.append(f"{parent}dir{len(paths):05d}/")
    return paths


def make(tree: Tree, path: pathlib.Path) -> None:
    """Makes the tree at `path`, or keeps an existing one that was made from the same values."""
    stamp = path.with_name(path.name + ".made")
    wanted = json.dumps(dataclasses.asdict(tree))
    if path.is_dir() and stamp.is_file() and stamp.read_text() == wanted:
        return
    stamp.unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    print(f"making {path}: {tree.files:,} files, {tree.size / 1e6:,.0f} MB", flush=True)
    chance = random.Random(f"{tree.name} {tree.seed}")
    filler = Filler(chance)
    if tree.files == 1:
        filler.write(f"{path}/big.dat", tree.size, alternate=True)
    else:
        places = folders(tree, chance)
        for place in places:
            os.makedirs(path / place, exist_ok=True)
        for number, size in enumerate(sizes(tree, chance)):
            filler.write(f"{path}/{chance.choice(places)}file{number:06d}.dat", size)
    stamp.write_text(wanted)


def place(wanted: int) -> pathlib.Path:
    """A folder in memory if it has room for `wanted` bytes twice, since the program is measured, not the
    disk.
    """
    memory = pathlib.Path("/dev/shm")
    kept = memory / "batchproc-bench"
    if kept.is_dir() or (memory.is_dir() and shutil.disk_usage(memory).free > 2 * wanted):
        return kept
    return pathlib.Path(__file__).parent / "work"
