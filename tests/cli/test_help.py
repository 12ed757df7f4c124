"""Help: fast, complete, and with an example for every command."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from sciml_bench.cli.main import COMMANDS
from sciml_bench.cli.main import cli as root

HEAVY = {
    "numpy", "scipy", "sympy", "flint", "rich", "psutil", "torch", "jax", "tensorflow", "diffrax", "juliacall",
    "matplotlib", "duckdb", "pyarrow",
}  # fmt: skip


def commands(group: click.Group = root, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


ALL = list(commands())


@pytest.mark.parametrize(("path", "command"), ALL, ids=[" ".join(path) for path, _ in ALL])
def test_every_command_has_help_with_an_example(cli, path, command):
    done = cli(*path, "--help")
    assert done.code == 0
    assert command.help, "the command has no help"
    assert "Example" in done.out
    assert "sciml-bench" in done.out.partition("Example")[2]
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{parameter.name} has no help"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_the_commands_say(name):
    """The list is printed from a table, so that no command is imported for it."""
    target, line = COMMANDS[name]
    module, _, attribute = target.partition(":")
    command = getattr(importlib.import_module(module), attribute)
    assert command.name == name
    assert " ".join((command.help or "").split()).startswith(line.rstrip("."))


def test_help_tells_the_exit_codes(cli):
    for words in ([], ["stiff"], ["run"], ["plan"]):
        out = cli(*words, "--help").out
        assert all(f"{code}  " in out for code in (0, 1, 2, 3, 4, 130))


READING = {"list", "plan", "show", "describe", "compare", "verify", "doctor", "selftest", "plot", "query"}
LISTINGS = [path for path, command in ALL if path[0] in READING and path != ("list",)]


@pytest.mark.parametrize("path", LISTINGS, ids=" ".join)
def test_every_listing_command_has_json(path):
    command = dict(ALL)[path]
    assert any("--json" in parameter.opts for parameter in command.params)


def imported_by(*words: str) -> set[str]:
    """The top-level modules that a command imports, in a fresh interpreter."""
    code = (
        "import sys, json; from sciml_bench.cli.main import main; main(sys.argv[1:]);"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["--version"], ["list", "problems"]], ids=" ".join)
def test_nothing_heavy_is_imported_for_it(words):
    assert not imported_by(*words) & HEAVY


def test_version(cli):
    assert cli("--version").out.startswith("sciml-bench, version ")


def test_no_command_prints_the_help(cli):
    done = cli()
    assert done.code == 2
    assert "Commands:" in done.err
