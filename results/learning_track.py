"""Draws docs/learning_track.svg: solved problems by domain, learned and default planner.

python results/learning_track.py
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
NAMES = {"learned": "learned", "default": "default planner"}
COLOURS = {"learned": "#2166ac", "default": "#b8b8b8"}
LEFT, TOP, ALL, BAR, ROW = (
    96,
    64,
    540,
    12,
    32,
)  # pixels; ALL is the length of all problems of a domain


def counts() -> tuple[Counter[tuple[str, str]], Counter[str]]:
    """Solved problems of each (domain, planner), and all problems of each domain."""
    solved: Counter[tuple[str, str]] = Counter()
    tests: Counter[str] = Counter()
    with (HERE / "learning_track.csv").open() as file:
        for row in csv.DictReader(file):
            solved[row["domain"], row["planner"]] += row["error"] == "solved"
            tests[row["domain"]] += row["planner"] == "default"
    return solved, tests


def picture() -> str:
    solved, tests = counts()
    total = {name: sum(solved[domain, name] for domain in tests) for name in NAMES}
    width, height = LEFT + ALL + 64, TOP + ROW * len(tests) + 8
    said = f"{tests.total()} test problems, 60 s each"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        ' font-family="sans-serif" font-size="13" fill="#222">',
        f"<title>{said}: learned {total['learned']}, default planner {total['default']}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        '<text x="12" y="22" font-size="15" font-weight="bold">'
        f"IPC 2023 learning track: {said}</text>",
    ]
    for i, (name, title) in enumerate(NAMES.items()):
        x = LEFT + 200 * i
        parts.append(f'<rect x="{x}" y="36" width="12" height="12" fill="{COLOURS[name]}"/>')
        parts.append(f'<text x="{x + 18}" y="47">{title}: {total[name]} solved</text>')
    for i, domain in enumerate(sorted(tests)):
        y = TOP + ROW * i
        parts.append(f'<text x="{LEFT - 8}" y="{y + 16}" text-anchor="end">{domain}</text>')
        for j, name in enumerate(NAMES):
            found, top = solved[domain, name], y + j * BAR
            length = round(ALL * found / tests[domain])
            size = f'width="{length}" height="{BAR - 1}" fill="{COLOURS[name]}"'
            parts.append(f'<rect x="{LEFT}" y="{top}" {size}/>')
            label = f'x="{LEFT + length + 5}" y="{top + 10}" font-size="11"'
            parts.append(f"<text {label}>{found} of {tests[domain]}</text>")
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    (HERE.parent / "docs" / "learning_track.svg").write_text(picture())
