"""What helps a person at a terminal: suggestions, defaults in the help, --quiet, completion."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from bench_suite import write_suite
from program import DATA, SECONDS, hstar

from hstar.commands.arguments import HelpFormatter, _has_default
from hstar.commands.cli import build_parser
from hstar.commands.completion import walk

STRIPS = DATA / "strips"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["pln"], "did you mean 'plan'?"),
        (["plan", "p.pddl", "--heuristc", "ff"], "did you mean '--heuristic'?"),
        (["plan", "p.pddl", "--overal-time-limit=5m"], "did you mean '--overall-time-limit'?"),
        (["plan", STRIPS / "problem.pddl", "-H", "lmcutt"], "did you mean 'lmcut'?"),
        (["plan", STRIPS / "problem.pddl", "-s", "gbsf"], "did you mean 'gbfs'?"),
        (["plan", STRIPS / "problem.pddl", "--cost", "plus-one"], "did you mean 'plusone'?"),
        (["pdb", "biuld"], "did you mean 'build'?"),
        (["bench", STRIPS, "-s", "asta", "-o", "runs.parquet"], "did you mean 'astar'?"),
    ],
)
def test_misspelled_names_get_a_suggestion(
    arguments: list[str | Path], says: str, tmp_path: Path
) -> None:
    outcome = hstar(*arguments, cwd=tmp_path)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (36, "", 1)
    assert says in outcome.err


@pytest.mark.parametrize("command", ["plan", "info"])
def test_a_domain_alone_is_named_as_one(command: str) -> None:
    outcome = hstar(command, "domain.pddl", cwd=STRIPS)
    assert outcome.code == 36
    assert "domain.pddl is a domain; name the problem to solve as well" in outcome.err


def test_every_help_shows_every_default() -> None:
    for path, parser in walk(build_parser()):
        assert parser.formatter_class is HelpFormatter, path
        for action in parser._actions:
            if action.option_strings and _has_default(action):
                formatter = HelpFormatter("hstar")
                formatter.start_section("options")
                formatter.add_argument(action)
                assert "default" in formatter.format_help(), (path, action.option_strings)


def test_output_files_are_named_and_quiet_says_nothing(tmp_path: Path) -> None:
    suite = write_suite(tmp_path) / "ferry"
    commands = {
        "The plan is in sas_plan.": ["plan", suite / "p1.pddl"],
        "The rows are in runs.parquet.": ["bench", suite, "-o", "runs.parquet"],
        "The report is in page.html.": ["report", "runs.parquet", "-o", "page.html"],
    }
    for says, arguments in commands.items():
        told = hstar(*arguments, cwd=tmp_path)
        assert (told.code, told.out.endswith(f"{says}\n")) == (0, True)
        quiet = hstar(*arguments, "--quiet", cwd=tmp_path)
        assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    json = hstar("plan", suite / "p1.pddl", "--json", "-q", cwd=tmp_path)
    assert json.out.startswith('{"solved": true')
    failed = hstar("plan", "none.pddl", "-q", cwd=tmp_path)
    assert (failed.code, failed.err.count("\n")) == (31, 1)


COMPLETIONS = [
    ("hstar pl", ["plan"]),
    ("hstar completion z", ["zsh"]),
    ("hstar plan --max-e", ["--max-evaluations", "--max-expansions"]),
    ("hstar plan p.pddl -H lm", ["lmcut"]),
    ("hstar plan p.pddl --search gb", ["gbfs", "gbfls"]),
    ("hstar bench x -H def", ["default"]),
    ("hstar pdb bu", ["build"]),
    ("hstar pdb build --pat", ["--pattern"]),
]


@pytest.mark.parametrize(("line", "expected"), COMPLETIONS)
def test_bash_completes(line: str, expected: list[str], tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(hstar("completion", "bash").out)
    words = line.split(" ")
    program = f"""
        source {script}
        COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}
        _hstar
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", program], capture_output=True, text=True, timeout=SECONDS
    )
    assert (done.stdout.split(), done.stderr) == (expected, "")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_scripts_of_other_shells(shell: str, tmp_path: Path) -> None:
    done = hstar("completion", shell)
    assert done.code == 0
    assert all(word in done.out for word in ("plan", "heuristic", "lmcut", "max-evaluations"))
    if shutil.which(shell):
        (tmp_path / "script").write_text(done.out)
        checked = subprocess.run([shell, "-n", "script"], cwd=tmp_path, timeout=SECONDS)
        assert checked.returncode == 0
