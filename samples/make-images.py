#!/usr/bin/env python3
"""Draws the images of samples/photos: a gradient and a board as PNG, rings as PPM."""

import math
import pathlib
import struct
import zlib

FOLDER = pathlib.Path(__file__).parent / "photos"


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int, height: int, pixel) -> bytes:
    """Returns a PNG with 8-bit RGB and filter 0 in each row."""
    rows = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(width)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
            + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def rings(x: int, y: int) -> tuple[int, int, int]:
    light = int(127.5 + 127.5 * math.sin(math.hypot(x - 40, y - 30) / 2))
    return light, light, 255 - light


(FOLDER / "dusk.png").write_bytes(png(256, 160, lambda x, y: (min(255, y + x // 4), y // 2 + 40, 160 - y)))
(FOLDER / "board.png").write_bytes(
    png(128, 128, lambda x, y: (240, 217, 181) if (x // 16 + y // 16) % 2 else (181, 136, 99)))
(FOLDER / "rings.ppm").write_bytes(
    b"P6\n80 60\n255\n" + b"".join(bytes(rings(x, y)) for y in range(60) for x in range(80)))
