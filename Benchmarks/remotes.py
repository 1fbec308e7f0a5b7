#!/usr/bin/env python3
"""Times copies of many snapshots to a remote whose answers are late.

usage: Benchmarks/remotes.py BATCHPROC... [--snapshots N] [--delay SECONDS] [--turns N]

Makes a set of N snapshots, serves an empty folder by `rclone serve webdav` behind a proxy that holds each
answer back, and prints for each program the seconds of `copy` and of `snapshots` on the copies, in turns,
and the ratio of the medians to those of the last program. Needs rclone and a C compiler.
"""

import argparse
import asyncio
import multiprocessing
import os
import pathlib
import random
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

import clock


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
    """Passes bytes on, each piece after the delay; pieces do not wait for one another."""
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def send() -> None:
        while True:
            moment, piece = await pieces.get()
            await asyncio.sleep(max(0, moment - loop.time()))
            if not piece:
                break
            writer.write(piece)
            await writer.drain()
        writer.close()

    sender = asyncio.create_task(send())
    try:
        while True:
            piece = await reader.read(1 << 20)
            await pieces.put((loop.time() + delay, piece))
            if not piece:
                break
        await sender
    except ConnectionError:
        sender.cancel()


def serve_late(port: int, target: int, delay: float) -> None:
    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(pass_on(reader, far_writer, 0), pass_on(far_reader, writer, delay))

    async def run() -> None:
        async with await asyncio.start_server(connect, "127.0.0.1", port) as server:
            await server.serve_forever()

    asyncio.run(run())


def make_set(program: str, work: pathlib.Path, count: int) -> None:
    clock.make_library(work / "clock.so")
    numbers = random.Random(1)
    (work / "tree").mkdir()
    for file in range(50):
        (work / f"tree/f{file}").write_bytes(numbers.randbytes(3000))
    for day in range(count):
        (work / f"tree/f{day % 50}").write_bytes(numbers.randbytes(5000))
        environment = dict(os.environ, LD_PRELOAD=str(work / "clock.so"), SHIFT=str(day * 86_400))
        subprocess.run(
            [program, "backup", "-q", "--no-fsync", "--to", work / "set", work / "tree"], env=environment,
            check=True, stderr=subprocess.DEVNULL)


def seconds(*words: str | pathlib.Path) -> float:
    start = time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def measure(options: argparse.Namespace, work: pathlib.Path) -> None:
    os.environ.update(
        XDG_STATE_HOME=str(work / "state"), RCLONE_CONFIG=str(work / "rclone.conf"), TCELL_MINIMIZE="1")
    make_set(options.batchproc[-1], work, options.snapshots)
    far, port, late = work / "far", free_port(), free_port()
    far.mkdir()
    (work / "rclone.conf").write_text(f"[late]\ntype = webdav\nurl = http://127.0.0.1:{late}\nvendor = other\n")
    server = subprocess.Popen(
        ["rclone", "serve", "webdav", far, "--addr", f"127.0.0.1:{port}", "--dir-cache-time", "0s"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    proxy = multiprocessing.Process(target=serve_late, args=(late, port, options.delay))
    proxy.start()
    time.sleep(2)
    times: dict[str, list[tuple[float, float]]] = {program: [] for program in options.batchproc}
    try:
        for _ in range(options.turns):
            for program in options.batchproc:
                shutil.rmtree(far / "set", ignore_errors=True)
                copy = seconds(program, "copy", "-q", work / "set", "late:set")
                times[program].append((copy, seconds(program, "snapshots", "late:set")))
    finally:
        proxy.terminate()
        server.terminate()
    base = [statistics.median(column) for column in zip(*times[options.batchproc[-1]])]
    print("| program | copy, s | ratio | snapshots, s | ratio |")
    print("|---|---|---|---|---|")
    for program, turns in times.items():
        copy, listing = (statistics.median(column) for column in zip(*turns))
        print(f"| {program} | {copy:.1f} | {copy / base[0]:.3f} | {listing:.1f} | {listing / base[1]:.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("batchproc", nargs="+")
    parser.add_argument("--snapshots", type=int, default=200)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        measure(options, pathlib.Path(work))


if __name__ == "__main__":
    main()
