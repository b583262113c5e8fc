"""PDDL text to nested lists that store their positions.

A planning problem can be megabytes of flat facts "(at r1 w1)", so one regular expression matches a
whole flat list and `str.split` cuts it up; only nested lists take the slow path. Sections are
yielded one by one, so a file that is not PDDL fails at its first wrong word, however long it is.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence

from hstar.pddl.errors import InputFileError, PddlWarning, UnsupportedPddlError, quote
from hstar.pddl.source import Source

# A recursive walk over a formula takes a few of Python's 1000 stack frames per level.
# Real files stay below 20.
MAX_DEPTH = 100

# A "?" begins a new name even without a space before it, as in "(at?x ?y)".
_FLAT_LIST_OR_TOKEN = re.compile(r"\(([^()]*)\)|[()]|\??[^()\s?]+|\?")
_NAME = re.compile(r"\??[^()\s?]+|\?")
_GLUED_VARIABLE = re.compile(r"[^\s(]\?")

_UNSUPPORTED_SECTIONS = {
    ":derived": "axioms (derived predicates, ':derived')",
    ":axiom": "axioms (':axiom')",
    ":durative-action": "durative actions (':durative-action')",
    ":constraints": "trajectory constraints (':constraints')",
    ":process": "processes (':process')",
    ":event": "events (':event')",
    ":task": "hierarchical tasks (':task')",
    ":method": "hierarchical methods (':method')",
    ":htn": "hierarchical task networks (':htn')",
}
_EXAMPLE_SECTION = {"domain": "predicates", "problem": "objects"}


class Form(list["Form | str"]):
    """A parenthesised list: names and lists inside, and the offset of its "("."""

    __slots__ = ("source", "start")

    def __init__(self, items: Iterable[Form | str], source: Source, start: int) -> None:
        super().__init__(items)
        self.source = source
        self.start = start

    def error(
        self, index: int | None, message: str, kind: type[InputFileError] | None = None
    ) -> InputFileError:
        """The error to raise for an item, for the ")" after the last, or (None) for the list."""
        item = self if index is None else self[index] if index < len(self) else None
        if isinstance(item, Form):
            return self.source.error(item.start, message, kind)
        return self.source.error(self.source.item_offset(self.start, index or 0), message, kind)

    def expected(self, index: int, what: str, advice: str) -> InputFileError:
        return self.error(index, f"expected {what}, found {describe(self[index])}; {advice}")

    def unsupported(self, index: int | None, feature: str, advice: str) -> InputFileError:
        return self.error(index, f"{feature}: not supported; {advice}", UnsupportedPddlError)

    def warn_once(self, index: int, message: str) -> None:
        """Warn about an item once per file and kind (the message up to its first quote)."""
        kind = message.split("'", 1)[0]
        if kind not in self.source.warned:
            self.source.warned.add(kind)
            warnings.warn(str(self.error(index, message)), PddlWarning, stacklevel=2)


def describe(item: Form | str) -> str:
    if isinstance(item, str):
        return quote(item)
    if item and isinstance(item[0], str):
        return f"the list {quote('(' + item[0] + (' ...)' if len(item) > 1 else ')'))}"
    return "the list '(...)'" if item else "the empty list '()'"


def read_file(
    source: Source, kind: str, keywords: Sequence[str]
) -> tuple[str, dict[str, list[Form]]]:
    """The name of a domain or problem, and its sections by keyword; only actions may be several."""
    reader = _FileReader(source, kind)
    name = reader.read_name()
    sections: dict[str, list[Form]] = {}
    for section in reader.read_sections():
        keyword = str(section[0])
        if keyword in _UNSUPPORTED_SECTIONS:
            feature = _UNSUPPORTED_SECTIONS[keyword]
            raise section.unsupported(None, feature, "remove them from the model")
        if keyword not in keywords:
            known = ", ".join(keywords)
            message = f"unknown section {quote(keyword)}; the sections here are {known}"
            raise section.error(0, message)
        earlier = sections.setdefault(keyword, [])
        if earlier and keyword != ":action":
            line, column = source.place(earlier[0].start)
            message = f"a second '{keyword}' section (the first is at {line}:{column})"
            raise section.error(None, f"{message}; join the two")
        earlier.append(section)
    return name, sections


class _FileReader:
    """Reads "(define (KIND NAME) SECTION...)"; the name first, then the sections one by one."""

    def __init__(self, source: Source, kind: str) -> None:
        self._source = source
        self._kind = kind
        self._tokens = _FLAT_LIST_OR_TOKEN.finditer(source.text)
        self._define_start = 0
        glued = "?" in source.text and _GLUED_VARIABLE.search(source.text)
        self._split: Callable[[str], list[str]] = _NAME.findall if glued else str.split

    def read_name(self) -> str:
        source, kind = self._source, self._kind
        start = f"a {kind} file starts with '(define ({kind} NAME)'"
        opening, word, heading = (next(self._tokens, None) for _ in range(3))
        if opening is None:
            raise source.error(0, f"the file is empty; {start}")
        if opening[0] != "(":
            raise source.error(opening.start(), f"found {_shown(opening)}; {start}")
        self._define_start = opening.start()
        if word is None or word[0] != "define":
            raise self._expected("'define'", word, start)
        words = heading[1].split() if heading and heading.lastindex else []
        other = "problem" if kind == "domain" else "domain"
        if heading and words[:1] == [other]:
            message = f"this is a {other} file where a {kind} file is expected"
            advice = "give the domain first and the problem second"
            raise source.error(heading.start(), f"{message}; {advice}")
        if len(words) != 2 or words[0] != kind:
            raise self._expected(f"'({kind} NAME)'", heading, start)
        return words[1]

    def _expected(self, what: str, found: re.Match[str] | None, advice: str) -> InputFileError:
        offset = len(self._source.text) if found is None else found.start()
        shown = "the end of the file" if found is None else _shown(found)
        return self._source.error(offset, f"expected {what}, found {shown}; {advice}")

    def read_sections(self) -> Iterator[Form]:
        """Yield the lists after the name up to the ")" of "(define", and check nothing follows."""
        source = self._source
        for match in self._tokens:
            if match.lastindex:
                section = Form(self._split(match[1]), source, match.start())
            elif match[0] == "(":
                section = self._read_nested(match.start())
            elif match[0] == ")":
                break
            else:
                advice = "delete it, or check the parentheses before it"
                message = f"found {_shown(match)} between sections; {advice}"
                raise source.error(match.start(), message)
            if not section or not isinstance(section[0], str) or section[0][0] != ":":
                example = f"a section such as '(:{_EXAMPLE_SECTION[self._kind]} ...)'"
                found = f"found {describe(section)}; check the parentheses before it"
                raise section.error(None, f"expected {example}, {found}")
            yield section
        else:
            raise self._unclosed([self._define_start])
        extra = next(self._tokens, None)
        if extra is not None:
            found = f"found {_shown(extra)} after the ')' that closes '(define'"
            advice = "delete it, or check for a ')' too many before it"
            raise source.error(extra.start(), f"{found}; {advice}")

    def _read_nested(self, start: int) -> Form:
        """Read the rest of the list whose "(" at `start` was just read."""
        source = self._source
        form = Form((), source, start)
        parents: list[Form] = []
        for match in self._tokens:
            if match.lastindex:
                child = Form(self._split(match[1]), source, match.start())
                # Nothing in PDDL puts two empty lists side by side; refusing them here means that
                # a huge file of "()" fails before it fills the memory.
                if not child and form and not form[-1]:
                    raise child.error(None, "a second empty list '()' in a row; delete it")
                form.append(child)
                continue
            token = match[0]
            if token == "(":
                offset = match.start()
                if source.text.startswith(":", offset + 1):
                    word = quote(source.text[offset : offset + 60].split()[0])
                    place = "{}:{}".format(*source.place(start))
                    message = f"{word} begins inside the section of {place}"
                    raise source.error(offset, f"{message}; a ')' is missing before it")
                if len(parents) + 3 > MAX_DEPTH:
                    advice = "check for a missing ')' or flatten the formula"
                    message = f"lists nested more than {MAX_DEPTH} deep; {advice}"
                    raise source.error(offset, message)
                parents.append(form)
                form = Form((), source, offset)
            elif token == ")":
                if not parents:
                    return form
                parents[-1].append(form)
                form = parents.pop()
            else:
                form.append(token)
        opened = [parent.start for parent in parents]
        raise self._unclosed([self._define_start, *opened, form.start])

    def _unclosed(self, opened: list[int]) -> InputFileError:
        message = f"this '(' is never closed ({len(opened)} open at the end of the file)"
        return self._source.error(opened[-1], f"{message}; add the missing ')'")


def _shown(match: re.Match[str]) -> str:
    return quote(" ".join(match[0][:100].split()))
