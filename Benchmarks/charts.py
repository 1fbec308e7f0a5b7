"""Two kinds of charts as plain SVG: bars of ratios, and curves over values that grow by a factor."""

import math
from html import escape

INK, QUIET, GRID = "#1f2933", "#616e7c", "#d9dee4"
GOOD, BAD, OTHER = "#2b6cb0", "#c05621", "#a0aec0"
STYLE = 'font-family="system-ui, sans-serif" font-size="12"'


def text(x: float, y: float, words: str, fill: str = INK, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, stroke: str = GRID, more: str = "") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" {more}/>'


def page(width: int, height: int, title: str, parts: list[str]) -> str:
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" {STYLE}>\n<title>{escape(title)}</title>\n'
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>')
    return "\n".join([head, text(16, 24, title, more='font-size="15" font-weight="600"'), *parts, "</svg>\n"])


def step(span: float) -> float:
    """A round distance between grid lines, so that the span has four to eight of them."""
    raw = span / 6
    power = 10 ** math.floor(math.log10(raw))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw)


def bars(title: str, note: str, groups: list[tuple[str, list[tuple[str, float, bool]]]]) -> str:
    """Groups of (peer, our time divided by the peer's, whether it does the same work); 1 is the speed of the
    peer.
    """
    left, right, top, row = 230, 60, 58, 20
    width = 760
    most = max([1.2] + [ratio for _, rows in groups for _, ratio, _ in rows])
    height = top + sum(28 + row * len(rows) for _, rows in groups) + 34

    def at(ratio: float) -> float:
        return left + (width - left - right) * ratio / most

    parts = [text(16, 43, note, QUIET)]
    gap = step(most)
    for number in range(int(most / gap) + 1):
        x = at(number * gap)
        parts += [line(x, top, x, height - 30), text(x, height - 14, f"{number * gap:g}", QUIET, "middle")]
    y = top
    for name, rows in groups:
        parts.append(text(16, y + 18, name, more='font-weight="600"'))
        y += 28
        for peer, ratio, same in rows:
            fill = OTHER if not same else GOOD if ratio <= 1 else BAD
            parts += [
                text(left - 8, y + 12, peer, anchor="end"),
                f'<rect x="{left}" y="{y + 1}" width="{max(1, at(ratio) - left):.1f}" height="{row - 6}" '
                f'fill="{fill}"/>',
                text(at(ratio) + 5, y + 12, f"{ratio:.2f}"),
            ]
            y += row
    parts.append(line(at(1), top, at(1), height - 30, INK, 'stroke-dasharray="4 3"'))
    return page(width, height, title, parts)


def curve(title: str, axis: str, points: list[tuple[int, float]], level: tuple[str, float] | None) -> str:
    """Seconds over values that grow by powers of two; `level` is the time of a peer, drawn as a horizontal
    line.
    """
    left, right, top, bottom, width, height = 60, 30, 50, 50, 640, 340
    low, high = (math.log2(value) for value in (points[0][0], points[-1][0]))
    most = 1.1 * max([seconds for _, seconds in points] + ([level[1]] if level else []))

    def across(value: float) -> float:
        return left + (width - left - right) * (math.log2(value) - low) / max(high - low, 1)

    def up(seconds: float) -> float:
        return height - bottom - (height - bottom - top) * seconds / most

    parts = [text(left + (width - left - right) / 2, height - 12, axis, QUIET, "middle"),
             text(16, 42, "seconds, median", QUIET)]
    gap = step(most)
    for number in range(int(most / gap) + 1):
        y = up(number * gap)
        parts += [line(left, y, width - right, y), text(left - 8, y + 4, f"{number * gap:g}", QUIET, "end")]
    if level:
        y = up(level[1])
        parts += [line(left, y, width - right, y, BAD, 'stroke-dasharray="4 3"'),
                  text(width - right, y - 5, level[0], BAD, "end")]
    path = " ".join(f"{across(value):.1f},{up(seconds):.1f}" for value, seconds in points)
    parts.append(f'<polyline points="{path}" fill="none" stroke="{GOOD}" stroke-width="2"/>')
    for value, seconds in points:
        x, y = across(value), up(seconds)
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{GOOD}"/>',
                  text(x, y - 9, f"{seconds:.2f}", anchor="middle"),
                  text(x, height - bottom + 18, str(value), QUIET, "middle")]
    return page(width, height, title, parts)


def lines(title: str, unit: str, axis: str, curves: dict[str, list[tuple[int, float]]]) -> str:
    """Several named curves over values that grow by factors; the values of the first curve are printed at its
    points.
    """
    left, right, top, bottom, width, height = 60, 120, 50, 50, 640, 340
    values = sorted({value for points in curves.values() for value, _ in points})
    low, high = math.log(values[0]), math.log(values[-1])
    most = 1.1 * max(cost for points in curves.values() for _, cost in points)
    colors = (GOOD, BAD, "#2f855a", "#6b46c1", QUIET, "#b7791f")

    def across(value: float) -> float:
        return left + (width - left - right) * (math.log(value) - low) / max(high - low, 1e-9)

    def up(cost: float) -> float:
        return height - bottom - (height - bottom - top) * cost / most

    parts = [text(left + (width - left - right) / 2, height - 12, axis, QUIET, "middle"), text(16, 42, unit, QUIET)]
    gap = step(most)
    for number in range(int(most / gap) + 1):
        y = up(number * gap)
        parts += [line(left, y, width - right, y), text(left - 8, y + 4, f"{number * gap:g}", QUIET, "end")]
    parts += [text(across(value), height - bottom + 18, f"{value:,}", QUIET, "middle") for value in values]
    for (name, points), color in zip(curves.items(), colors):
        path = " ".join(f"{across(value):.1f},{up(cost):.1f}" for value, cost in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<circle cx="{across(value):.1f}" cy="{up(cost):.1f}" r="3" fill="{color}"/>' for value, cost in points]
        parts.append(text(width - right + 10, up(points[-1][1]) + 4, name, color))
    return page(width, height, title, parts)
