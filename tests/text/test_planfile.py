"""Plan files are read and written as Fast Downward writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hstar.pddl.planfile import PlanFileError, format_plan, read_plan


def plan_file(folder: Path, content: str | bytes) -> Path:
    path = folder / "sas_plan"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_written_as_fast_downward_does() -> None:
    steps = [("pick-up", "a"), ("stack", "a", "b"), ("noop",)]
    text = "(pick-up a)\n(stack a b)\n(noop )\n"
    assert format_plan(steps, 3, True) == text + "; cost = 3 (unit cost)\n"
    assert format_plan(steps, 17, False) == text + "; cost = 17 (general cost)\n"
    assert format_plan([], 0, True) == "; cost = 0 (unit cost)\n"
    assert format_plan([("a",)], 0.5, False) == "(a )\n; cost = 0.5 (general cost)\n"


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    steps = [("pick-up", "a"), ("stack", "a", "b"), ("noop",)]
    assert read_plan(plan_file(tmp_path, format_plan(steps, 3, True))) == steps


@pytest.mark.parametrize("content", ["", "\n\n", "; cost = 0 (unit cost)\n"])
def test_the_empty_plan(tmp_path: Path, content: str) -> None:
    assert read_plan(plan_file(tmp_path, content)) == []


def test_case_comments_spaces_and_line_ends_do_not_matter(tmp_path: Path) -> None:
    text = "; a plan (\r\n  ( Stack A\r\n B) (noop); done)\r\n(x)"
    assert read_plan(plan_file(tmp_path, text)) == [("stack", "a", "b"), ("noop",), ("x",)]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("(a)\nb c\n", "2:1: found 'b' outside of a step; steps are written"),
        ("(a)\n  ()\n", "2:3: a step without an action name"),
        ("(a)\n(b (c))\n", "2:4: '(' inside a step"),
        ("(a))\n", "1:4: ')' without a '(' before it"),
        ("(a)\n(b c\n", "2:1: this '(' is never closed"),
        ("(a)\n(b\0)", "2:3: a NUL byte"),
        (b"(a)\n(b \xff)", "2:4: byte 0xff is not valid UTF-8"),
        ("0: (a) [1]", "1:1: found '0:' outside of a step"),
    ],
)
def test_rubbish(tmp_path: Path, content: str | bytes, says: str) -> None:
    path = plan_file(tmp_path, content)
    with pytest.raises(PlanFileError) as caught:
        read_plan(path)
    assert str(caught.value).startswith(f"{path}:{says}")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(PlanFileError, match="there is no such file"):
        read_plan(tmp_path / "nowhere")
