#!/usr/bin/env python3
"""Runs the tests that `swift build --build-tests` built, and prints how long they took.

usage: scripts/run-tests.py [--filter REGEX] [--jobs N]

A runner is a process that runs some suites, one test at a time, so that no test sees changes that another
one makes to its process (limits, signals, descriptors). Two more runners than processors work at once,
since tests sometimes wait. The output of a runner is printed when it ends; the slowest 20 tests, the total
time and the verdict on all tests come last. Ends with 1 when a test failed.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time

BUNDLE = ".build/debug/batchprocPackageTests.xctest"
# How long each suite took last time. Slow suites start first, so that no runner is busy with one at the end.
TIMES = ".build/test-times.json"
# Suites share a process, since its start takes a sixth of a second. The tests of a process take at least this many seconds.
SMALL = 3.0
SLOWEST = 20
MEMORY = "/dev/shm"
PYTHON = "/usr/bin/python3"

ENDED = re.compile(r'^[✔✘] Test (?!run with)(.*?)(?: with (\d+) test cases?)? (?:passed|failed) after ([\d.]+) seconds')
VERDICT = re.compile(r'^[✔✘] Test run with (\d+) tests? in (\d+) suites? (?:passed|failed) after [\d.]+ seconds(?: with (\d+) issues?)?')


def memory_folder():
    """A folder in memory; None if it has too little space, as in many containers."""
    try:
        volume = os.statvfs(MEMORY)
    except OSError:
        return None
    return MEMORY if volume.f_bavail * volume.f_frsize >= 3 << 30 and os.access(MEMORY, os.W_OK) else None


def suites(pattern):
    """The suites in the order of their names, each with its number of tests."""
    listed = subprocess.run([BUNDLE, "--testing-library", "swift-testing", "--list-tests"],
                            stdout=subprocess.PIPE, check=True, text=True).stdout.split("\n")
    counts = {}
    for test in filter(None, listed):
        if re.search(pattern, test):
            name = test.split("/")[0]
            counts[name] = counts.get(name, 0) + 1
    return counts


def plan(counts, times, jobs):
    """Groups of suites, with the expected seconds of each suite; the slowest suites and the longest groups come first.

    A group takes a part of the time that is left for all runners together, so that they end at about the same time.
    """
    def expected(name):
        # Without a known time, tests that start programs are expected to take longer than library tests.
        return times.get(name, (6.0 if name.startswith("EndToEnd") else 0) + counts[name] * 0.05)
    left = sum(map(expected, counts))
    groups, group, weight = [], {}, 0.0
    for name in sorted(counts, key=expected, reverse=True):
        group[name] = expected(name)
        weight += group[name]
        if weight >= max(SMALL, left / (jobs * 4)):
            groups.append(group)
            left -= weight
            group, weight = {}, 0.0
    return groups + ([group] if group else [])


class Run:
    def __init__(self, groups, trees):
        self.groups = groups
        # Tests start python3 hundreds of times, so the system's python3 is preferred, which starts fastest.
        programs = os.path.join(trees, "bin")
        os.mkdir(programs)
        python = PYTHON if os.access(PYTHON, os.X_OK) else os.path.realpath(sys.executable)
        os.symlink(python, os.path.join(programs, "python3"))
        self.environment = {**os.environ, "NO_COLOR": "1", "BATCHPROC_TEST_TREES": trees,
                            "PATH": f"{programs}:{os.environ['PATH']}"}
        self.lock = threading.Lock()
        self.tests = []
        self.suites = {}
        self.counts = [0, 0, 0]
        self.failures = []

    def work(self):
        while True:
            with self.lock:
                if not self.groups:
                    return
                group = self.groups.pop(0)
            names = "|".join(re.escape(name) for name in group)
            started = time.monotonic()
            runner = subprocess.run(
                [BUNDLE, "--testing-library", "swift-testing", "--no-parallel", "--filter", f"^({names})/"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                env=self.environment)
            seconds = time.monotonic() - started
            with self.lock:
                self.record(group, seconds, runner.returncode, runner.stdout.decode("utf-8", "replace"))

    def record(self, group, seconds, status, output):
        verdict = None
        for line in output.split("\n"):
            if found := VERDICT.match(line):
                verdict = [int(number or 0) for number in found.groups()]
                continue
            # The start of a test is printed only if the test did not end.
            if line and (status != 0 or not line.startswith(("◇", "↳ Testing Library", "↳ Target Platform"))):
                print(line)
            if found := ENDED.match(line):
                self.tests.append((float(found[3]), int(found[2] or 1), found[1]))
        for name, expected in group.items():
            self.suites[name] = seconds * expected / sum(group.values())
        if verdict:
            self.counts = [a + b for a, b in zip(self.counts, verdict)]
        if status != 0 or not verdict:
            self.failures.append(f"{' '.join(group)}: the runner ended with {status}")
        sys.stdout.flush()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--filter", default="")
    options.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)) + 2)
    options = options.parse_args()
    try:
        with open(TIMES, encoding="utf-8") as file:
            times = json.load(file)
    except (OSError, ValueError):
        times = {}
    started = time.monotonic()
    # A folder for trees that many tests copy. See TreeFixture+Copies.swift.
    with tempfile.TemporaryDirectory(prefix="batchproc-trees-", dir=memory_folder()) as trees:
        run = Run(plan(suites(options.filter), times, options.jobs), trees)
        workers = [threading.Thread(target=run.work) for _ in range(options.jobs)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        # Some of their folders are not writable even for their owner.
        subprocess.run(["chmod", "-R", "u+rwx", trees], check=False)
    seconds = time.monotonic() - started
    with open(TIMES, "w", encoding="utf-8") as file:
        json.dump({**times, **run.suites}, file, indent=1, sort_keys=True)

    print(f"\nThe slowest {SLOWEST} of {run.counts[0]} tests, in seconds, with the number of cases:")
    for took, cases, name in sorted(run.tests, reverse=True)[:SLOWEST]:
        print(f"{took:8.1f} {cases:5d}  {name}")
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{seconds / 60:.1f} minutes; {(usage.ru_utime + usage.ru_stime) / 60:.1f} minutes of processor time.")
    for failure in run.failures:
        print(f"✘ {failure}")
    tests, suite_count, issues = run.counts
    word = "failed" if run.failures else "passed"
    issues = f" with {issues} issues" if issues else ""
    print(f"{'✘' if run.failures else '✔'} Test run with {tests} tests in {suite_count} suites "
          f"{word} after {seconds:.3f} seconds{issues}.")
    sys.exit(1 if run.failures or not tests else 0)


if __name__ == "__main__":
    main()
