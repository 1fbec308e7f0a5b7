"""What is measured against what. A new row is one more Job here; nothing else has to change.

In the commands, {batchproc} is the binary, {small}, {big} and {mixed} are the trees, {work} is a folder for
files of the job's own and {disk} is one that is on a disk, {cores} is the number of cores this process may use.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    command: str
    # A peer that does other work (another digest) is shown, but never taken for the best.
    same_work: bool = True


@dataclasses.dataclass(frozen=True)
class Job:
    title: str
    ours: str
    peers: tuple[Peer, ...]
    # Our time over the best peer's that we promise not to exceed.
    target: float | None = None
    # Run once before the first run, and before every run, without being timed.
    setup: str | None = None
    prepare: str | None = None


def tree_peers(tree: str) -> tuple[Peer, ...]:
    files = f"find {{{tree}}} -type f -print0 | xargs -0 -n500 -P{{cores}}"
    return (
        Peer("xargs openssl sha256", f"{files} openssl sha256"),
        Peer("rhash -r --sha256", f"rhash -r --sha256 {{{tree}}}"),
        Peer("xargs sha256sum", f"{files} sha256sum"),
        Peer("hashdeep -r -c sha256", f"hashdeep -j{{cores}} -r -c sha256 {{{tree}}}"),
        Peer("xargs b3sum (BLAKE3)", f"{files} b3sum", same_work=False),
    )


JOBS = (
    Job("SHA-256 of many small files", "{batchproc} hash {small}", tree_peers("small"), target=0.60),
    Job("SHA-256 of a mixed tree", "{batchproc} hash {mixed}", tree_peers("mixed")),
    Job(
        "XXH3-128 of many small files",
        "{batchproc} hash -a xxh128 {small}",
        (Peer("xargs xxhsum -H2", "find {small} -type f -print0 | xargs -0 -n500 -P{cores} xxhsum -H2"),),
        target=0.80,
    ),
    Job(
        "SHA-256 of one big file",
        "{batchproc} hash {big}/big.dat",
        (
            Peer("openssl sha256", "openssl sha256 {big}/big.dat"),
            Peer("sha256sum", "sha256sum {big}/big.dat"),
            Peer("b3sum (BLAKE3)", "b3sum {big}/big.dat", same_work=False),
        ),
        target=1.05,
    ),
    Job(
        "check of many small files",
        "{batchproc} check --quiet {work}/small.sha256",
        (
            Peer("sha256sum -c", "sha256sum -c --quiet {work}/small.sha256"),
            Peer("rhash -c", "rhash -c --skip-ok {work}/small.sha256"),
        ),
        setup="find {small} -type f -print0 | xargs -0 sha256sum >{work}/small.sha256",
    ),
    Job(
        "tree to .gz",
        "{batchproc} compress -q --no-fsync --compress-all --force --output-dir {work}/gz {small}",
        (
            Peer("xargs libdeflate-gzip", "find {work}/copy -type f ! -name '*.gz' -print0"
                 " | xargs -0 -n500 -P{cores} libdeflate-gzip -kf6"),
            Peer("pigz -r", "pigz -rkf -p{cores} {work}/copy"),
        ),
        target=0.85,
        setup="rm -rf {work}/copy {work}/gz; cp -r {small} {work}/copy",
        prepare="find {work}/copy -name '*.gz' -delete",
    ),
    Job(
        "tree to .zst",
        "{batchproc} compress -q --no-fsync --compress-all --force --format zst --output-dir {work}/zst {small}",
        (
            Peer("xargs zstd -3", "find {work}/copy -type f ! -name '*.gz' ! -name '*.zst' -print0"
                 " | xargs -0 -n500 -P{cores} zstd -qkf3"),
            Peer("zstd -T -r", "zstd -qkfr3 -T{cores} --output-dir-mirror {work}/mirror {small}"),
        ),
        target=0.70,
        setup="rm -rf {work}/copy {work}/zst {work}/mirror; cp -r {small} {work}/copy",
        prepare="find {work}/copy -name '*.zst' -delete",
    ),
    Job(
        "big file to .gz",
        "{batchproc} compress -q --no-fsync --force --output-dir {work}/big {big}/big.dat",
        (
            Peer("pigz", "pigz -kc -p{cores} {big}/big.dat >{work}/big.gz"),
            Peer("libdeflate-gzip", "libdeflate-gzip -kc6 {big}/big.dat >{work}/big.gz"),
        ),
        target=0.40,
    ),
    Job(
        "big file to .zst",
        "{batchproc} compress -q --no-fsync --force --format zst --output-dir {work}/big {big}/big.dat",
        (Peer("zstd -T", "zstd -qkfc3 -T{cores} {big}/big.dat >{work}/big.zst"),),
        target=1.03,
    ),
    Job(
        "a .zst tree, decompressed",
        "{batchproc} decompress -q --no-fsync --force --output-dir {work}/plain {work}/packed",
        (
            Peer("zstd -d -r", "zstd -dqkfr --output-dir-mirror {work}/unpacked {work}/packed"),
            Peer("xargs zstd -d", "find {work}/packed -name '*.zst' -print0 | xargs -0 -n500 -P{cores} zstd -dqkf"),
        ),
        target=0.70,
        setup="rm -rf {work}/packed {work}/plain {work}/unpacked; mkdir {work}/packed;"
              " cp -r {small} {work}/packed/tree; find {work}/packed -type f -print0 | xargs -0 -P{cores} zstd -q3 --rm",
    ),
    Job(
        "tree to .zst on a disk, brought to it before the end",
        "{batchproc} compress -q --compress-all --force --format zst --output-dir {disk}/zst {small}",
        (
            Peer("batchproc --no-fsync", "{batchproc} compress -q --no-fsync --compress-all --force --format zst"
                 " --output-dir {disk}/zst {small}", same_work=False),
            Peer("zstd -T -r", "zstd -qkfr3 -T{cores} --output-dir-mirror {disk}/mirror {small}", same_work=False),
        ),
        setup="rm -rf {disk}/zst {disk}/mirror",
    ),
    Job(
        "start: --version",
        "{batchproc} --version",
        (Peer("sha256sum --version", "sha256sum --version"), Peer("b3sum --version", "b3sum --version")),
    ),
)


@dataclasses.dataclass(frozen=True)
class Sweep:
    """One option over a range of values, everything else left at its default."""

    key: str
    title: str
    option: str
    command: str
    values: tuple[int, ...]


SWEEPS = (
    Sweep("concurrency", "operations at once", "-j", "{batchproc} hash -j {value} {small}", (1, 2, 4, 8, 16, 32, 64)),
    Sweep("stride", "files per operation", "--stride", "{batchproc} hash --stride {value} {small}",
          (1, 4, 16, 64, 256, 1024, 4096)),
)
