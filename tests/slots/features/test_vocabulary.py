"""The channels of a domain, other domains, and the hash that tells domains apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from case_tables import table
from rooms_domain import ROOMS, read_domain

from hstar.slots.features.vocabulary import Vocabulary, domain_hash


def test_the_vocabulary_of_a_domain(tmp_path: Path) -> None:
    domain = read_domain(tmp_path, ROOMS)
    vocabulary = Vocabulary.of(domain)
    arities = {"at": 2, "dark": 0, "door": 2, "locked": 1, "seen": 1}
    assert vocabulary.predicates == tuple(arities.items())
    assert vocabulary.omitted == ("square",)
    assert vocabulary.types == ("room", "thing", "tool")
    assert vocabulary.constants == ("hall",)
    # Twice as many channels as predicates; three types and one constant are unary.
    assert vocabulary.channels == [2, 4 + 3 + 1, 4, 0]
    assert vocabulary.channel("state", "door") == (2, 1)
    assert vocabulary.channel("goal", "door") == (2, 3)
    assert vocabulary.channel("goal", "square") is None
    assert vocabulary.channel("type", "tool") == (1, 6)
    assert vocabulary.channel("constant", "hall") == (1, 7)
    assert Vocabulary.from_dict(json.loads(json.dumps(vocabulary.to_dict()))) == vocabulary

    narrow = Vocabulary.of(domain, breadth=1, types=False)
    assert narrow.predicates == (("dark", 0), ("locked", 1), ("seen", 1))
    assert narrow.omitted == ("at", "door", "square")
    assert narrow.channels == [2, 4 + 1]


OTHER_VOCABULARIES = table("""
(dark) | (dark) (bright) | has the predicate 'bright', which the model
(dark) (locked ?r - room) | (dark ?t - tool) (locked ?r - room) | 'dark' has 1 param
(seen ?r - room) (square | (square | lacks the predicate 'seen'
(square ?a ?b ?c ?d - room) |  | lacks the predicate 'square'
tool | gadget | lacks the type 'tool'
(:constants hall - room) | (:constants hal - room) | lacks the constant 'hall'
""")


@pytest.mark.parametrize(("old", "new", "message"), OTHER_VOCABULARIES)
def test_another_vocabulary_is_noticed(old: str, new: str, message: str, tmp_path: Path) -> None:
    vocabulary = Vocabulary.of(read_domain(tmp_path, ROOMS))
    declarations = ROOMS.split("(:action")[0]
    assert old in declarations
    vocabulary.check(read_domain(tmp_path, declarations + ")"))  # actions are not its business
    other = read_domain(tmp_path, declarations.replace(old, new) + ")")
    with pytest.raises(ValueError, match=message):
        vocabulary.check(other)


def test_the_hash_of_a_domain_covers_what_heuristics_depend_on(tmp_path: Path) -> None:
    plain = domain_hash(read_domain(tmp_path, ROOMS))
    head, *actions = ROOMS.rstrip().removesuffix(")").split("(:action")
    same = [
        "(:action".join([head, *reversed(actions)]) + ")",
        ROOMS.replace("(dark) (locked ?r - room)", "(locked ?r - room)\n  (DARK) ; as before"),
        ROOMS.replace("(domain rooms)", "(domain rooms-again)"),
    ]
    changed = [
        ROOMS.replace("(not (at ?t ?a))", ""),
        ROOMS.replace("(not (locked ?b))", ""),
        ROOMS.replace("?t - tool ?r - room", "?t - thing ?r - room"),
        ROOMS.replace("(:action look", "(:action glance"),
        ROOMS.replace("tool - thing", "tool - object"),
        ROOMS.replace("(:constants hall - room)", "(:constants hall attic - room)"),
        ROOMS.replace("(dark)", "(dark) (wet)", 1),
        ROOMS.replace(":effect (seen ?r)", ":effect (when (dark) (seen ?r))"),
    ]
    assert {domain_hash(read_domain(tmp_path, text)) for text in same} == {plain}
    hashes = [domain_hash(read_domain(tmp_path, text)) for text in changed]
    assert len({plain, *hashes}) == 1 + len(changed)


@pytest.mark.parametrize("breadth", [-1, 4, 2**31])
def test_a_breadth_that_no_network_has_is_refused_at_once(breadth: int, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"breadth must be a number from 0 to 3, not {breadth}"):
        Vocabulary.of(read_domain(tmp_path, ROOMS), breadth)
