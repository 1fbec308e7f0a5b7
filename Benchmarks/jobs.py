"""The measured jobs and their peers. To add a row, add a Job here.

In the commands, {batchproc} is the binary; {small}, {big} and {mixed} are the trees; {work} is a folder for
the files of the job; {disk} is a folder on a disk; {cores} is the number of cores that this process may
use.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    command: str
    # A peer that does different work (another digest) is shown, but does not count as the best peer.
    same_work: bool = True


@dataclasses.dataclass(frozen=True)
class Job:
    title: str
    ours: str
    peers: tuple[Peer, ...]
    # The greatest allowed ratio of our time to that of the best peer.
    target: float | None = None
    # Runs without being measured: `setup` once before the first run, `prepare` before each run.
    setup: str | None = None
    prepare: str | None = None
    # Why the best peer is faster, where it is.
    behind: str | None = None


def tree_peers(tree: str) -> tuple[Peer, ...]:
    files = f"find {{{tree}}} -type f -print0 | xargs -0 -n500 -P{{cores}}"
    return (
        Peer("xargs openssl sha256", f"{files} openssl sha256"),
        Peer("rhash -r --sha256", f"rhash -r --sha256 {{{tree}}}"),
        Peer("xargs sha256sum", f"{files} sha256sum"),
        Peer("hashdeep -r -c sha256", f"hashdeep -j{{cores}} -r -c sha256 {{{tree}}}"),
        Peer("xargs b3sum (BLAKE3)", f"{files} b3sum", same_work=False),
    )


RESTIC = "env RESTIC_PASSWORD=x RESTIC_REPOSITORY={work}/restic RESTIC_CACHE_DIR={work}/restic-cache restic"
BORG = "env BORG_REPO={work}/borg BORG_BASE_DIR={work}/borg-base BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes borg"
BORG_CREATE = BORG + " create --compression zstd,3 \"::$(date +%s%N)\" {small}"
# Both tools have a repository before the measurement.
NEW_SETS = ("rm -rf {work}/set {work}/state {work}/restic {work}/restic-cache {work}/borg {work}/borg-base;"
            f" {RESTIC} init -q; {BORG} init -e none")
# The state is removed as well, so that a removed set is not reported as an unmounted disk.
STATE = "env XDG_STATE_HOME={work}/state"
CACHE = "env XDG_CACHE_HOME={work}/cache {batchproc} hash --cache {small}"


BZIP2 = "libbz2, which decodes each block, takes more processor time for it than the decoder of lbzip2"


def read_back(
        suffix: str, make: str, *peers: Peer, target: float | None = None, whose: str = "", behind: str | None = None) -> Job:
    """One large file that is decoded and compared with its checksum, as `test` does. `make` is a filter."""
    file = f"{{work}}/back/large{whose.replace(' ', '')}{suffix}"
    peers = tuple(Peer(peer.name, f"{peer.command} {file}") for peer in peers)
    return Job(
        f"one large {suffix}{whose} read back", f"{{batchproc}} test -q {file}", peers, target,
        setup=f"mkdir -p {{work}}/back; test -e {file} || head -c 400000000 {{big}}/big.dat | {make} >{file}",
        behind=behind)


OWN_ARCHIVE = "{batchproc} archive -q --no-fsync --force -o {work}/in.tar.zst -C {small} ."


FEW_FILES = ("test -d {work}/children || (mkdir -p {work}/children; cd {work}/children;"
             " seq {children} | xargs -I@ sh -c 'head -c 1024 /dev/zero >@')")
CHILDREN = "find {work}/children -type f -print0 | "


JOBS = (
    Job(
        "a program for each of 10,000 files",
        "{batchproc} run -q {work}/children -- /bin/true",
        (
            Peer("xargs -n1", CHILDREN + "xargs -0 -n1 -P{cores} /bin/true"),
            Peer("GNU parallel", CHILDREN + "parallel -0 -j{cores} /bin/true", same_work=False),
        ),
        target=1.10,
        setup=FEW_FILES,
        behind="a child gets a group of its own and pipes, of which the output is collected, and its end is awaited by a"
               " descriptor; a child of xargs inherits everything",
    ),
    Job(
        "a program that makes an output for each of 10,000 files",
        "{batchproc} run -q --no-fsync --output-dir {work}/outputs {work}/children -- /bin/cp {{}} {{out}}",
        (Peer("xargs cp", CHILDREN + "xargs -0 -P{cores} -I@ /bin/cp @ {work}/copies"),),
        target=1.50,
        setup=FEW_FILES,
        behind="each output is written in a folder of its own and renamed when it is complete; a child of xargs writes under"
               " the final name",
        prepare="rm -rf {work}/outputs {work}/copies; mkdir {work}/copies",
    ),
    Job(
        "recovery data of 5 % of one big file",
        "{batchproc} parity create -q --no-fsync -b2000 --base {big} {work}/ours.par2 {big}/big.dat",
        (Peer("par2", "par2 c -q -q -r5 -b2000 -n1 -B{big} {work}/peer.par2 {big}/big.dat"),),
        target=0.25,
        prepare="rm -f {work}/ours*.par2 {work}/peer*.par2",
    ),
    Job(
        "repair of 50 of 100 blocks of one big file",
        "{batchproc} parity repair -q --no-fsync {work}/repaired/ours/big.dat",
        (Peer("par2", "par2 r -q -q {work}/repaired/peer/big.dat.par2"),),
        target=0.30,
        setup=("rm -rf {work}/repaired; mkdir -p {work}/repaired/whole; cp {big}/big.dat {work}/repaired/whole;"
               " {batchproc} parity create -q -b2000 {work}/repaired/whole/big.dat; for i in $(seq 50); do"
               " printf damage | dd of={work}/repaired/whole/big.dat bs=1 seek=$((i * 1000003)) conv=notrunc status=none; done"),
        prepare=("rm -rf {work}/repaired/ours {work}/repaired/peer; cp -r {work}/repaired/whole {work}/repaired/ours;"
                 " cp -r {work}/repaired/whole {work}/repaired/peer"),
    ),
    Job("SHA-256 of many small files", "{batchproc} hash {small}", tree_peers("small"), target=0.60),
    Job("SHA-256 of a mixed tree", "{batchproc} hash {mixed}", tree_peers("mixed")),
    Job(
        "XXH3-128 of many small files",
        "{batchproc} hash -a xxh128 {small}",
        (Peer("xargs xxhsum -H2", "find {small} -type f -print0 | xargs -0 -n500 -P{cores} xxhsum -H2"),),
        target=0.80,
    ),
    Job(
        "BLAKE3 of many small files",
        "{batchproc} hash -a blake3 {small}",
        (Peer("xargs b3sum", "find {small} -type f -print0 | xargs -0 -n500 -P{cores} b3sum"),),
        target=0.70,
    ),
    Job(
        "BLAKE3 of one big file",
        "{batchproc} hash -a blake3 {big}/big.dat",
        (
            Peer("b3sum", "b3sum {big}/big.dat"),
            Peer("batchproc hash (SHA-256)", "{batchproc} hash {big}/big.dat", same_work=False),
        ),
        target=1.05,
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
        "tree to .gz (our -6 is level 5 of libdeflate)",
        "{batchproc} compress -q --no-fsync --compress-all --force --output-dir {work}/gz {small}",
        (
            Peer("xargs libdeflate-gzip", "find {work}/copy -type f ! -name '*.gz' -print0"
                 " | xargs -0 -n500 -P{cores} libdeflate-gzip -kf6"),
            Peer("pigz -r", "pigz -rkf -p{cores} {work}/copy"),
        ),
        target=0.85,
        setup="rm -rf {work}/copy {work}/gz; cp -r {small} {work}/copy",
        prepare="find {work}/copy -name '*.gz' -delete; rm -rf {work}/gz",
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
        prepare="find {work}/copy -name '*.zst' -delete; rm -rf {work}/zst {work}/mirror",
    ),
    Job(
        "big file to .gz (our -6 is level 5 of libdeflate)",
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
        behind="both spend their time in libzstd; the ranges overlap, and the order changes from run to run",
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
        prepare="find {work}/packed -type f ! -name '*.zst' -delete; rm -rf {work}/plain {work}/unpacked",
    ),
    Job(
        "a .gz tree, read back",
        "{batchproc} test -q {work}/tested",
        (
            Peer("xargs libdeflate-gunzip -t", "find {work}/tested -name '*.gz' -print0"
                 " | xargs -0 -n500 -P{cores} libdeflate-gunzip -t"),
            Peer("xargs gzip -t", "find {work}/tested -name '*.gz' -print0 | xargs -0 -n500 -P{cores} gzip -t"),
        ),
        target=0.80,
        setup="rm -rf {work}/tested; cp -r {small} {work}/tested; find {work}/tested -type f -print0 | xargs -0 -n500 -P{cores} gzip",
    ),
    read_back(
        ".gz", "gzip", Peer("igzip -t", "igzip -t"), Peer("rapidgzip", "rapidgzip -qt -P{cores}"),
        Peer("libdeflate-gunzip -t", "libdeflate-gunzip -t"), target=1.0),
    read_back(
        ".gz", "cat >{work}/back/plain; {batchproc} compress -qf {work}/back/plain; cat {work}/back/plain.gz",
        Peer("igzip -t", "igzip -t"), Peer("rapidgzip", "rapidgzip -qt -P{cores}"), target=0.55, whose=" of ours"),
    read_back(".xz", "xz -0 -T{cores} --block-size=8MiB", Peer("xz -T", "xz -t -T{cores}")),
    read_back(
        ".lz4", "lz4 -q", Peer("lz4 -t", "lz4 -qt"),
        behind="one frame is decoded by one thread, as by lz4"),
    read_back(
        ".bz2", "bzip2 -1", Peer("lbzip2 -t", "lbzip2 -tn{cores}"), Peer("bzip2 -t", "bzip2 -t"), behind=BZIP2),
    Job(
        "one large .bz2, decompressed",
        "{batchproc} cat {work}/back/one.bz2 >/dev/null",
        (
            Peer("lbzip2 -d", "lbzip2 -dcn{cores} {work}/back/one.bz2 >/dev/null"),
            Peer("pbzip2 -d", "pbzip2 -dcp{cores} {work}/back/one.bz2 >/dev/null"),
            Peer("bzip2 -d", "bzip2 -dc {work}/back/one.bz2 >/dev/null"),
        ),
        target=1.10,
        setup="mkdir -p {work}/back; test -e {work}/back/one.bz2 || head -c 400000000 {big}/big.dat | bzip2 >{work}/back/one.bz2",
        behind=BZIP2,
    ),
    Job(
        "tree to .zst on a disk, synced before the end",
        "{batchproc} compress -q --compress-all --force --format zst --output-dir {disk}/zst {small}",
        (
            Peer("batchproc --no-fsync", "{batchproc} compress -q --no-fsync --compress-all --force --format zst"
                 " --output-dir {disk}/zst {small}", same_work=False),
            Peer("zstd -T -r", "zstd -qkfr3 -T{cores} --output-dir-mirror {disk}/mirror {small}", same_work=False),
        ),
        setup="rm -rf {disk}/zst {disk}/mirror",
    ),
    Job(
        "a .gz tree, tested",
        "{batchproc} test -q {work}/packed-gz",
        (Peer("xargs libdeflate-gunzip -t", "find {work}/packed-gz -name '*.gz' -print0"
              " | xargs -0 -n500 -P{cores} libdeflate-gunzip -t"),),
        target=0.80,
        setup="rm -rf {work}/packed-gz; cp -r {small} {work}/packed-gz;"
              " find {work}/packed-gz -type f -print0 | xargs -0 -n500 -P{cores} libdeflate-gzip -f6",
    ),
    Job(
        "one large .gz of stock gzip, tested",
        "{batchproc} test -q {work}/stock.gz",
        (Peer("igzip -t", "igzip -t {work}/stock.gz"), Peer("libdeflate-gunzip -t", "libdeflate-gunzip -t {work}/stock.gz")),
        target=1.0,
        setup="gzip -kc {big}/big.dat >{work}/stock.gz",
    ),
    Job(
        "one large .gz of ours, tested",
        "{batchproc} test -q {work}/own.gz",
        (Peer("igzip -t", "igzip -t {work}/own.gz"), Peer("libdeflate-gunzip -t", "libdeflate-gunzip -t {work}/own.gz")),
        target=0.55,
        setup="rm -rf {work}/own; {batchproc} compress -q --no-fsync --output-dir {work}/own {big}/big.dat;"
              " find {work}/own -name big.dat.gz -exec mv {{}} {work}/own.gz ';'",
    ),
    Job(
        "archive .tar, with digests and an index",
        "{batchproc} archive -q --no-fsync --force -o {work}/ours.tar -C {small} .",
        (Peer("tar", "tar -cf {work}/peer.tar -C {small} ."), Peer("bsdtar", "bsdtar -cf {work}/peer.tar -C {small} .")),
        target=1.0,
        prepare="rm -f {work}/ours.tar {work}/peer.tar",
    ),
    Job(
        "archive .tar.zst, with digests and an index",
        "{batchproc} archive -q --no-fsync --force -o {work}/ours.tar.zst -C {small} .",
        (
            Peer("tar | zstd -T", "tar -cf - -C {small} . | zstd -qT{cores} -3 >{work}/peer.tar.zst"),
            Peer("bsdtar --zstd", "bsdtar -cf {work}/peer.tar.zst --zstd --options zstd:threads={cores} -C {small} ."),
        ),
        target=0.92,
        prepare="rm -f {work}/ours.tar.zst {work}/peer.tar.zst",
    ),
    Job(
        "archive .tar.gz, with digests and an index",
        "{batchproc} archive -q --no-fsync --force -o {work}/ours.tar.gz -C {small} .",
        (Peer("tar | pigz", "tar -cf - -C {small} . | pigz -p{cores} >{work}/peer.tar.gz"),),
        target=0.40,
        prepare="rm -f {work}/ours.tar.gz {work}/peer.tar.gz",
    ),
    Job(
        "extract our .tar.zst",
        "{batchproc} extract -q --no-fsync -C {work}/ours {work}/in.tar.zst",
        (
            Peer("tar --zstd", "tar --zstd -xf {work}/in.tar.zst -C {work}/peer"),
            Peer("bsdtar", "bsdtar -xf {work}/in.tar.zst -C {work}/peer"),
        ),
        target=0.65,
        setup=OWN_ARCHIVE,
        prepare="rm -rf {work}/ours {work}/peer; mkdir {work}/ours {work}/peer",
    ),
    Job(
        "extract a .tar.zst of stock tar",
        "{batchproc} extract -q --no-fsync -C {work}/ours {work}/stock.tar.zst",
        (Peer("tar --zstd", "tar --zstd -xf {work}/stock.tar.zst -C {work}/peer"),),
        target=1.0,
        setup="tar -cf - -C {small} . | zstd -qfT{cores} -3 -o {work}/stock.tar.zst",
        prepare="rm -rf {work}/ours {work}/peer; mkdir {work}/ours {work}/peer",
    ),
    Job(
        "one member of our .tar.zst",
        "{batchproc} extract -q --to-stdout {work}/in.tar.zst \"$(cat {work}/member)\" >{work}/member.ours",
        (Peer("tar --zstd", "tar --zstd -xOf {work}/in.tar.zst \"$(cat {work}/member)\" >{work}/member.peer"),),
        target=0.10,
        setup=OWN_ARCHIVE + "; tar --zstd -tf {work}/in.tar.zst | grep -v '/$' | sed -n 3000p >{work}/member",
    ),
    Job(
        "list our .tar.zst",
        "{batchproc} list {work}/in.tar.zst >{work}/list.ours",
        (Peer("tar --zstd -t", "tar --zstd -tf {work}/in.tar.zst >{work}/list.peer"),),
        target=0.05,
        setup=OWN_ARCHIVE,
    ),
    Job(
        "verify our .tar.zst",
        "{batchproc} verify -q {work}/in.tar.zst",
        (
            Peer("zstd -t, then sha256sum of the tree", "zstd -qt {work}/in.tar.zst;"
                 " find {small} -type f -print0 | xargs -0 sha256sum >{work}/peer.sums"),
        ),
        target=0.7,
        setup=OWN_ARCHIVE,
    ),
    Job(
        "copy of a tree, synced",
        "{batchproc} mirror -q {small} {work}/ours",
        (
            Peer("cp -a", "cp -a {small} {work}/peer; sync -f {work}/peer"),
            Peer("rsync -a", "rsync -a {small} {work}/peer; sync -f {work}/peer"),
            Peer("fpsync -n 2", "fpsync -n 2 {small}/ {work}/peer/ >/dev/null; sync -f {work}/peer"),
            Peer("rclone copy", "rclone copy --metadata {small} {work}/peer; sync -f {work}/peer"),
        ),
        target=0.80,
        prepare="rm -rf {work}/ours {work}/peer; mkdir {work}/ours {work}/peer; sync -f {work}",
    ),
    Job(
        "copy of a tree that is up to date",
        "{batchproc} mirror -q {small} {work}/ours",
        (Peer("rsync -aAX", "rsync -aAX {small} {work}/ours"),),
        target=0.7,
        setup="rm -rf {work}/ours; mkdir {work}/ours; {batchproc} mirror -q {small} {work}/ours",
    ),
    Job(
        "first backup",
        f"{STATE} {{batchproc}} backup -q --to {{work}}/set {{small}}",
        (
            Peer("restic backup", f"{RESTIC} backup -q {{small}}"),
            Peer("borg create (zstd,3)", BORG_CREATE),
            Peer("batchproc backup --no-verify", f"{STATE} {{batchproc}} backup -q --no-verify --to {{work}}/unverified {{small}}",
                 same_work=False),
        ),
        target=0.25,
        prepare=f"{NEW_SETS}; rm -rf {{work}}/unverified",
    ),
    Job(
        "second backup, nothing changed",
        f"{STATE} {{batchproc}} backup -q --full-every 1000000 --to {{work}}/set {{small}}",
        (Peer("restic backup", f"{RESTIC} backup -q {{small}}"), Peer("borg create (zstd,3)", BORG_CREATE)),
        target=0.60,
        setup=f"{NEW_SETS}; {STATE} {{batchproc}} backup -q --to {{work}}/set {{small}}; {RESTIC} backup -q {{small}}; {BORG_CREATE}",
    ),
    Job(
        "digests of an unchanged tree, from the cache",
        CACHE,
        (Peer("batchproc hash", "{batchproc} hash {small}"),),
        target=0.35,
        setup=f"rm -rf {{work}}/cache; mkdir {{work}}/cache; {CACHE} >{{work}}/digests",
    ),
    Job(
        "start: --version",
        "{batchproc} --version",
        (Peer("sha256sum --version", "sha256sum --version"), Peer("b3sum --version", "b3sum --version")),
        behind="the program contains Swift's runtime and all codecs; 118,000 addresses in 417 of its pages are set before it starts",
    ),
)


@dataclasses.dataclass(frozen=True)
class Sweep:
    """One option with several values; all others have their defaults."""

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
