"""Which texts stand for a problem: its file, and what its generator makes instead of it.

A problem that is too hard is replaced by another one of the same size. The replacement must differ
from every file of the folder, and from the replacements of the problems before it. Which one is
taken depends only on how each text ends when it is tried, never on which attempt ends first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hstar.pddl.problem import read_problem
from hstar.pddl.source import source_from_bytes
from hstar.slots.teachers.attempt import Attempt
from hstar.slots.teachers.folder import FolderProblem, ProblemFolder, content_digest
from hstar.slots.teachers.labels import SOLVED


@dataclass(slots=True)
class Candidates:
    """The texts of one problem and the attempts at them, by the number of the retry. `taken` is
    what replacements say that problems earlier in the folder have been given."""

    problem: FolderProblem
    folder: ProblemFolder
    retries: int
    reserved: frozenset[str]  # what all files of the folder say
    attempts: dict[int, Attempt] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()
    _replacements: dict[int, tuple[str, str | None]] = field(default_factory=dict)

    def text(self, retry: int) -> tuple[str, str | None]:
        """The problem as PDDL, and a digest of what it says; None if there is no such problem."""
        if retry == self.problem.retry:
            return self.problem.text, self.problem.content
        if retry not in self._replacements:
            from hstar.domains import regenerate

            assert self.folder.generator is not None
            made_with = (self.problem.parameters, self.folder.split, self.problem.seed)
            try:
                apart = self.folder.apart
                text = regenerate(self.folder.generator, *made_with, retry, apart=apart)
                source = source_from_bytes(f"{self.problem.file} (retry {retry})", text.encode())
                content = content_digest(read_problem(source, self.folder.domain))
                self._replacements[retry] = text, content
            except ValueError:  # the size has no more problems
                self._replacements[retry] = "", None
        return self._replacements[retry]

    def tried(self) -> Iterator[tuple[int, Attempt | None]]:
        """The retries in turn with their attempts, to the first that is solved or not tried yet.
        What is used elsewhere is passed over."""
        first = self.problem.retry
        seen: set[str] = set()
        for retry in range(first, first + 1 + self.retries):
            if retry > first:
                _, content = self.text(retry)
                if content is None or content in seen | self.reserved | self.taken:
                    continue
                seen.add(content)
            attempt = self.attempts.get(retry)
            yield retry, attempt
            if attempt is None or attempt.status == SOLVED:
                return

    def untried(self) -> int | None:
        """The retry to try next; None when the problem is solved or given up."""
        return next((retry for retry, attempt in self.tried() if attempt is None), None)

    def solution(self) -> tuple[int, Attempt] | None:
        """The retry whose text is labelled, and its attempt; None where there is none."""
        tried = ((retry, attempt) for retry, attempt in self.tried() if attempt is not None)
        return next((one for one in tried if one[1].status == SOLVED), None)
