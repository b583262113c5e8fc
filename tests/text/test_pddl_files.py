"""Files on disk: what cannot be read says so, and domains are found beside their problems."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from test_bad_pddl import DOMAIN, PROBLEM

from hstar.pddl import PddlError, find_domain, parse, parse_domain


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def error_of(path: Path) -> str:
    with pytest.raises(PddlError) as caught:
        parse_domain(path)
    return str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.pddl"
    assert error_of(path) == f"{path}: there is no such file; check the path"


def test_directory(tmp_path: Path) -> None:
    assert error_of(tmp_path) == f"{tmp_path}: this is a directory; name a file inside it"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads anything")
def test_unreadable_file(tmp_path: Path) -> None:
    path = write(tmp_path / "secret.pddl", DOMAIN)
    path.chmod(0)
    assert "no permission to read the file" in error_of(path)


def test_impossible_path() -> None:
    assert "cannot read the file" in error_of(Path("a\0b.pddl"))


@pytest.mark.parametrize("content", ["", "  \n\n", "; nothing but comments"])
def test_empty_file(tmp_path: Path, content: str) -> None:
    path = write(tmp_path / "empty.pddl", content)
    assert error_of(path).startswith(f"{path}:1:1: the file is empty or has only comments; ")


def test_binary_file(tmp_path: Path) -> None:
    path = write(tmp_path / "plan.bin", b"(define\n\x7fELF\0\0\xff")
    assert error_of(path).startswith(f"{path}:2:5: a NUL byte, so this is a binary or UTF-16 file")


def test_utf16_file(tmp_path: Path) -> None:
    assert "UTF-16" in error_of(write(tmp_path / "wide.pddl", DOMAIN.encode("utf-16")))


def test_latin1_is_fine_in_comments_only(tmp_path: Path) -> None:
    write(tmp_path / "domain.pddl", b"; by Andr\xe9\n" + DOMAIN.encode())
    problem = write(tmp_path / "problem.pddl", PROBLEM)
    assert parse(tmp_path / "domain.pddl", problem).domain.name == "d"
    path = write(
        tmp_path / "names.pddl", DOMAIN.replace("(free)", "(libert\xe9)").encode("latin-1")
    )
    assert error_of(path).startswith(f"{path}:4:67: byte 0xe9 is not valid UTF-8; ")


def test_utf8_names_and_a_byte_order_mark(tmp_path: Path) -> None:
    text = "\ufeff" + DOMAIN.replace("(free)", "(liberté)")
    assert "liberté" in parse_domain(write(tmp_path / "names.pddl", text)).predicates


@pytest.mark.parametrize(
    ("problem", "domain"),
    [
        ("p01.pddl", "domain.pddl"),
        ("p01.pddl", "domain_p01.pddl"),
        ("p01.pddl", "domain-p01.pddl"),
        ("p01.pddl", "p01-domain.pddl"),
        ("p01.pddl", "p01_domain.pddl"),
        ("p01-airport.pddl", "p01-domain.pddl"),
        ("train/p01.pddl", "domain.pddl"),
        ("testing/easy/p01.pddl", "domain.pddl"),
    ],
)
def test_find_domain(tmp_path: Path, problem: str, domain: str) -> None:
    write(tmp_path / problem, PROBLEM)
    write(tmp_path / domain, DOMAIN)
    assert find_domain(tmp_path / problem).samefile(tmp_path / domain)


def test_find_domain_prefers_the_one_beside_the_problem(tmp_path: Path) -> None:
    for name in ("domain.pddl", "train/domain.pddl", "train/p01.pddl"):
        write(tmp_path / name, DOMAIN)
    assert find_domain(tmp_path / "train" / "p01.pddl") == tmp_path / "train" / "domain.pddl"


def test_no_domain_to_be_found(tmp_path: Path) -> None:
    problem = write(tmp_path / "a" / "b" / "c" / "p01.pddl", PROBLEM)
    with pytest.raises(PddlError, match="name the domain file before the problem file"):
        find_domain(problem)
