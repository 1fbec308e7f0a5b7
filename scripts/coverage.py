#!/usr/bin/env python3
"""Measures how much of the code that reads foreign bytes the library tests and the fuzzing corpora reach.

usage: scripts/coverage.py [--skip-tests] [--show REGEX] [--least PERCENT]

Builds the tests with counters in .build/cov, runs them, and prints the regions of each file: reached, total
and percent. --show prints the regions that were not reached in the files whose path matches. Ends with 1
when less than --least percent (94) of all regions were reached.
"""

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys

SCRATCH = ".build/cov"
TESTS = "BatchEngineTests|BatchCoreTests|BatchprocTests|CorpusTests"
# The sources that read bytes which another user may have written: files, answers of programs, the command
# line.
READERS = """
BatchCore/Archiving/LibArchive/Foreign/ReaderMessage
BatchCore/Archiving/HeaderChecks/*
BatchCore/Archiving/Index/{IndexExtent,IndexPages,IndexSlice,MemberPage,StoredIndex}
BatchCore/Archiving/Index/Locating/*
BatchCore/Archiving/LibArchive/{AccessList+LibArchive,ArchiveReader,ArchiveReader+End,ArchiveReader+Format,LibArchiveEntry,LibArchiveMessage,StreamedTail,StreamedZip}
BatchCore/Archiving/Members/{HeaderChecksum,LittleEndianReader,NameTransform,OwnerNumbers}
BatchCore/Backup/Damage/DrillState
BatchCore/Backup/Sets/SetID
BatchCore/Backup/SnapshotPlace
BatchCore/Backup/Snapshots/{Companion,ManifestFile,SnapshotEntry,SnapshotFacts,SnapshotLine,SnapshotName,SnapshotReader,SnapshotRowParser}
BatchCore/Backup/Sets/KnownTargets
BatchCore/Backup/Times/{LocalTime,WrittenTime,WrittenTime+Reading}
BatchCore/Cluster/{JSONFields,PlanRecord,ShardPlan,ShardResult,ShardResultReader}
BatchCore/Compression/Codecs/{BlockFraming,CompressionFormat+Detection}
BatchCore/Compression/Codecs/*/{*Decoder,*Scanner,*Reader,DeflateBits,DeflateTable,DeflateWalker,GzipBlockTable,GzipSegment,LZ4FrameHeader,XZLayout}
BatchCore/Compression/Decoding/{FileDecoder+Parts,StreamDecoder}
BatchCore/Encryption/{AgeFile,AgeHeader,AgeIdentity,AgeKeys,AgeRecipient,AgeStream,ArmorDecoder,Bech32,CanonicalBase64,ChunkCipher,PayloadLayout}
BatchCore/Hashing/Cache/{CachedDigest,CachedRows}
BatchCore/Hashing/Digests/{DecimalDigits,Hexadecimal}
BatchCore/Hashing/Manifests/*
BatchCore/Hashing/Manifests/Forms/*
BatchCore/Tuning/SavedDevices
BatchEngine/Engine/Control/RunControl
BatchEngine/FileSystem/Ignoring/*
BatchEngine/FileSystem/Selecting/{OperandPattern,PathFilter+CacheTag,PathList}
batchproc/Arguments/Configuration/*
batchproc/Arguments/Parsing/*
batchproc/Arguments/Table/{ValueSyntax,ValueSyntax+Duration,ValueSyntax+Size,ValueSyntax+Time}
"""


def files():
    """The paths of all readers. Each line must match at least one file."""
    found = []
    for line in READERS.split():
        head, mark, rest = line.partition("{")
        names, _, tail = rest.partition("}")
        paths = [path for name in (names.split(",") if mark else [""]) for path in glob.glob(f"Sources/{head}{name}{tail}.swift")]
        if not paths:
            sys.exit(f"coverage: no file matches {line}")
        found += sorted(paths)
    return list(dict.fromkeys(found))


def run_tests():
    subprocess.run(["swift", "build", "--build-tests", "--enable-code-coverage", "--scratch-path", SCRATCH], check=True)
    tests = subprocess.run(["swift", "test", "--skip-build", "--disable-xctest", "--enable-code-coverage", "--scratch-path", SCRATCH,
                            "--no-parallel", "--filter", TESTS], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if tests.returncode:
        sys.exit(tests.stdout.decode(errors="replace")[-8000:] + "coverage: some tests failed")


def llvm(*arguments):
    binary = glob.glob(f"{SCRATCH}/debug/*PackageTests.xctest")[0]
    program = os.path.join(os.path.dirname(os.path.realpath(shutil.which("swift"))), "llvm-cov")
    return subprocess.run([program, arguments[0], binary, f"-instr-profile={SCRATCH}/debug/codecov/default.profdata", *arguments[1:]],
                          stdout=subprocess.PIPE, check=True).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--skip-tests", action="store_true", help="use the counters of the last run")
    parser.add_argument("--show", help="print the regions that were not reached in these files")
    parser.add_argument("--least", type=float, default=94, help="the least percentage of regions")
    options = parser.parse_args()
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    readers = files()
    if not options.skip_tests:
        run_tests()
    places = [os.path.abspath(path) for path in readers]
    report = json.loads(llvm("export", "-summary-only", *places))["data"][0]["files"]
    regions = {os.path.relpath(row["filename"]): row["summary"]["regions"] for row in report}
    if missing := [path for path in readers if path not in regions]:
        print("without a region: " + " ".join(missing))
    for path, row in sorted(regions.items(), key=lambda pair: pair[1]["percent"]):
        print(f"{row['covered']}\t{row['count']}\t{row['percent']:.1f} %\t{path.removeprefix('Sources/')}")
    covered, count = (sum(row[key] for row in regions.values()) for key in ("covered", "count"))
    percent = 100 * covered / max(count, 1)
    print(f"{covered}\t{count}\t{percent:.1f} %\tall {len(regions)} files")
    if options.show:
        for path in filter(re.compile(options.show).search, readers):
            print(path)
            shown = llvm("show", "-show-regions=0", "-show-line-counts=1", os.path.abspath(path)).decode()
            print("\n".join(line for line in shown.splitlines() if re.match(r"\s*\d+\|\s*0\|", line)))
    return 0 if percent >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())
