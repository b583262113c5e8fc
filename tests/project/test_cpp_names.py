"""Every class of the core has a name of its own: a program with two of one name is undefined."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

CORE = Path(__file__).parents[2] / "cpp"
OPENED = re.compile(r"(?:inline )?namespace ?([\w:]*) ?\{")
DEFINED = re.compile(
    r"(?:template <.*> )?(?:struct|class|union|enum(?: class)?) ([\w:]+)[^;()=]*\{"
)


def defined_names(text: str) -> set[str]:
    """Types defined in namespaces, which are not indented; those without a name are left out."""
    names: set[str] = set()
    namespaces: list[str] = []
    for line in text.splitlines():
        if opened := OPENED.match(line):
            namespaces.append(opened[1])
        elif line.startswith("}  // namespace"):
            namespaces.pop()
        elif (defined := DEFINED.match(line)) and "" not in namespaces:
            names.add("::".join([*namespaces, defined[1]]))
    return names


def test_no_two_files_define_one_name() -> None:
    files = defaultdict(list)
    for path in sorted(CORE.rglob("*.?pp")):
        for name in defined_names(path.read_text(encoding="utf-8")):
            files[name].append(str(path.relative_to(CORE)))
    assert len(files) > 100
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}
