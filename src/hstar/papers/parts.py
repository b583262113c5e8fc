"""Finished pieces of an experiment, a JSON file each: whole or absent, so that what is there is
done and a run that was stopped goes on with the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hstar.runtime.atomic import write_atomically


def write_part(path: Path, content: Any) -> None:
    """Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(content) + "\n")


def read_part(path: Path) -> Any:
    """None if the piece is not finished yet."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
