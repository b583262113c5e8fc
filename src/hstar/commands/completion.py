"""`hstar completion`: a script that completes commands, options and values in a shell."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path

from hstar.commands.arguments import Options, Parser

HELP = "print a completion script for a shell"
SHELLS = ("bash", "zsh", "fish")
DESCRIPTION = """\
Print a completion script. To use it in the current shell:
  bash: source <(hstar completion bash)     zsh: source <(hstar completion zsh)
  fish: hstar completion fish | source
"""

# Completes from {table}: "COMMAND" -> its words, "COMMAND OPTION" -> values of the option.
SCRIPT = Path(__file__).with_suffix(".bash")


def add_arguments(parser: Parser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell to print it for")


def run(options: Options) -> int:
    from hstar.commands.cli import build_parser

    program = build_parser()
    print(fish(program) if options.shell == "fish" else bash(program, options.shell), end="")
    return 0


def walk(
    parser: argparse.ArgumentParser, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Every command with the words that lead to it, the program itself first."""
    yield path, parser
    for name, below in subcommands(parser).items():
        yield from walk(below, (*path, name))


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return dict(found[0].choices) if found else {}


def values_of(action: argparse.Action) -> list[str]:
    """What an argument can be, as far as that is known."""
    return [str(value) for value in getattr(action, "values", action.choices) or ()]


def words_of(parser: argparse.ArgumentParser) -> dict[tuple[str, ...], list[str]]:
    """The words that may follow those of a command, or the values of an option after it."""
    table = {}
    for path, command in walk(parser):
        words = list(subcommands(command))
        for action in command._actions:
            words += action.option_strings
            if action.option_strings:
                for option in action.option_strings if values_of(action) else ():
                    table[*path, option] = values_of(action)
            elif not isinstance(action, argparse._SubParsersAction):
                words += values_of(action)
        table[path] = words
    return table


def bash(parser: argparse.ArgumentParser, shell: str) -> str:
    table = {" ".join(path) or "hstar": words for path, words in words_of(parser).items()}
    entries = " ".join(f"[{shlex.quote(k)}]={shlex.quote(' '.join(v))}" for k, v in table.items())
    load = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return load + SCRIPT.read_text(encoding="utf-8").replace("{table}", entries)


def fish(parser: argparse.ArgumentParser) -> str:
    lines = ["complete -c hstar -f -n __fish_use_subcommand"]
    table = words_of(parser)
    for path, words in table.items():
        if path and path[-1].startswith("-"):
            continue
        where = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in path)
        start = f"complete -c hstar -n {shlex.quote(where or '__fish_use_subcommand')}"
        for word in words:
            kind = "-l" if word.startswith("--") else "-s" if word.startswith("-") else "-f -a"
            values = table.get((*path, word), []) if word.startswith("-") else []
            taken = f" -x -a {shlex.quote(' '.join(values))}" if values else ""
            lines.append(f"{start} {kind} {word.lstrip('-')}{taken}")
    return "\n".join(lines) + "\n"
