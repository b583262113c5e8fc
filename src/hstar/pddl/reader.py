"""PDDL text to nested lists that store their positions.

A planning problem can be megabytes of flat facts "(at r1 w1)", so one regular expression matches a
whole flat list and `str.split` cuts it up; only nested lists take the slow path. Sections are
yielded one by one, so a file that is not PDDL fails at its first wrong word, however long it is.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator

from hstar.pddl.errors import InputFileError, PddlWarning, quote
from hstar.pddl.source import Source

# A recursive walk over a formula takes a few of Python's 1000 stack frames per level.
# Real files stay below 20.
MAX_DEPTH = 100

# A "?" begins a new name even without a space before it, as in "(at?x ?y)".
_FLAT_LIST_OR_TOKEN = re.compile(r"\(([^()]*)\)|[()]|\??[^()\s?]+|\?")
_NAME = re.compile(r"\??[^()\s?]+|\?")
_GLUED_VARIABLE = re.compile(r"[^\s(]\?")


class Form(list["Form | str"]):
    """A parenthesised list: names and lists inside, and the offset of its "("."""

    __slots__ = ("start",)
    start: int


def item_error(
    source: Source, form: Form, index: int, message: str, kind: type[InputFileError] | None = None
) -> InputFileError:
    """The error to raise for item `index` of `form` (or for its ")" when there is no such item)."""
    item = form[index] if index < len(form) else None
    offset = item.start if isinstance(item, Form) else source.item_offset(form.start, index)
    return source.error(offset, message, kind)


def warn_once(source: Source, form: Form, index: int, message: str) -> None:
    """Warn about item `index` of `form`, but only once per kind and file, because there may be
    thousands. The text of the message before the first quote is the kind."""
    kind = message.split("'", 1)[0]
    if kind not in source.warned:
        source.warned.add(kind)
        text = str(item_error(source, form, index, message))
        warnings.warn(text, PddlWarning, stacklevel=2)


def describe(item: Form | str) -> str:
    """An item as an error message mentions it."""
    if isinstance(item, str):
        return quote(item)
    if item and isinstance(item[0], str):
        return f"the list {quote('(' + item[0] + (' ...)' if len(item) > 1 else ')'))}"
    return "the list '(...)'" if item else "the empty list '()'"


class FileReader:
    """Reads "(define (KIND NAME) SECTION...)"; the name first, then the sections one by one."""

    def __init__(self, source: Source, kind: str) -> None:
        self._source = source
        self._kind = kind
        self._tokens = _FLAT_LIST_OR_TOKEN.finditer(source.text)
        self._define_start = 0
        glued = "?" in source.text and _GLUED_VARIABLE.search(source.text)
        self._split: Callable[[str], list[str]] = _NAME.findall if glued else str.split

    def read_name(self) -> str:
        """Read "(define (KIND NAME)" and return NAME."""
        source, kind = self._source, self._kind
        start = f"a {kind} file starts with '(define ({kind} NAME)'"
        opening = next(self._tokens, None)
        if opening is None:
            raise source.error(0, f"the file is empty; {start}")
        if opening[0] != "(":
            raise source.error(opening.start(), f"found {_shown(opening)}; {start}")
        self._define_start = opening.start()
        word = next(self._tokens, None)
        if word is None or word[0] != "define":
            offset = len(source.text) if word is None else word.start()
            found = "the end of the file" if word is None else _shown(word)
            raise source.error(offset, f"expected 'define', found {found}; {start}")
        heading = next(self._tokens, None)
        if heading is None or heading.lastindex is None:
            offset = len(source.text) if heading is None else heading.start()
            found = "the end of the file" if heading is None else _shown(heading)
            raise source.error(offset, f"expected '({kind} NAME)', found {found}; {start}")
        words = heading[1].split()
        other = "problem" if kind == "domain" else "domain"
        if words and words[0] == other:
            raise source.error(
                heading.start(),
                f"this is a {other} file where a {kind} file is expected; "
                "give the domain first and the problem second",
            )
        if len(words) != 2 or words[0] != kind:
            raise source.error(
                heading.start(), f"expected '({kind} NAME)', found {_shown(heading)}; {start}"
            )
        return words[1]

    def read_sections(self) -> Iterator[Form]:
        """Yield the lists after the name up to the ")" of "(define", and check nothing follows."""
        source = self._source
        for match in self._tokens:
            if match.lastindex:
                section = self._flat_form(match)
            elif match[0] == "(":
                section = self._read_nested(match.start())
            elif match[0] == ")":
                break
            else:
                raise source.error(
                    match.start(),
                    f"found {_shown(match)} between sections; "
                    "delete it, or check the parentheses before it",
                )
            if not section or not isinstance(section[0], str) or section[0][0] != ":":
                raise source.error(
                    section.start,
                    f"expected a section such as '(:{_EXAMPLE_SECTION[self._kind]} ...)', "
                    f"found {describe(section)}; check the parentheses before it",
                )
            yield section
        else:
            raise self._unclosed([self._define_start])
        extra = next(self._tokens, None)
        if extra is not None:
            raise source.error(
                extra.start(),
                f"found {_shown(extra)} after the ')' that closes '(define'; "
                "delete it, or check for a ')' too many before it",
            )

    def _read_nested(self, start: int) -> Form:
        """Read the rest of the list whose "(" at `start` was just read."""
        text = self._source.text
        form = Form()
        form.start = start
        parents: list[Form] = []
        for match in self._tokens:
            if match.lastindex:
                child = self._flat_form(match)
                # Nothing in PDDL puts two empty lists side by side; refusing them here means that
                # a huge file of "()" fails before it fills the memory.
                if not child and form and not form[-1]:
                    raise self._source.error(
                        child.start, "a second empty list '()' in a row; delete it"
                    )
                form.append(child)
                continue
            token = match[0]
            if token == "(":
                offset = match.start()
                if text.startswith(":", offset + 1):
                    raise self._swallowed_section(offset, start)
                if len(parents) + 3 > MAX_DEPTH:
                    raise self._source.error(
                        offset,
                        f"lists nested more than {MAX_DEPTH} deep; check for a missing ')' or "
                        "flatten the formula",
                    )
                parents.append(form)
                form = Form()
                form.start = offset
            elif token == ")":
                if not parents:
                    return form
                parent = parents.pop()
                parent.append(form)
                form = parent
            else:
                form.append(token)
        opened = [self._define_start, *(parent.start for parent in parents), form.start]
        raise self._unclosed(opened)

    def _flat_form(self, match: re.Match[str]) -> Form:
        form = Form(self._split(match[1]))
        form.start = match.start()
        return form

    def _swallowed_section(self, offset: int, section_start: int) -> InputFileError:
        word = self._source.text[offset : offset + 60].split()[0]
        line, column = self._source.place(section_start)
        return self._source.error(
            offset,
            f"{quote(word)} begins inside the section of {line}:{column}; "
            "a ')' is missing before it",
        )

    def _unclosed(self, opened: list[int]) -> InputFileError:
        return self._source.error(
            opened[-1],
            f"this '(' is never closed ({len(opened)} open at the end of the file); "
            "add the missing ')'",
        )


_EXAMPLE_SECTION = {"domain": "predicates", "problem": "objects"}


def _shown(match: re.Match[str]) -> str:
    return quote(" ".join(match[0][:100].split()))
