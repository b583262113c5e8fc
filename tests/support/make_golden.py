"""Write the golden files anew: python tests/support/make_golden.py [SECTION ...]

Do so only after a change that is meant to change behaviour, and say in the commit what changed.
"""

from __future__ import annotations

import json
import sys

from golden_cases import FLOATING, FOLDER, SECTIONS, TRAINING_PROBLEMS, plans_of
from golden_subject import arithmetic

PLANS = "plans"  # what trainings learn from; written only when asked for by name


def lines_of(entries: dict[str, object]) -> str:
    """JSON with one record per line, so that a difference shows which records changed."""
    blocks = []
    for name, records in entries.items():
        lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in records.items()]
        blocks.append(f" {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def main(chosen: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    if PLANS in chosen:
        plans = {domain: plans_of(domain) for domain in TRAINING_PROBLEMS}
        (FOLDER / "plans.json").write_text(lines_of(plans))
    for section, (names, compute) in SECTIONS.items():
        if not chosen or section in chosen:
            entries = {name: compute(name) for name in names}
            if section in FLOATING:
                entries = {"made with": arithmetic(), **entries}
            (FOLDER / f"{section}.json").write_text(lines_of(entries))


if __name__ == "__main__":
    main(sys.argv[1:])
