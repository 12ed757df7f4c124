"""What the README shows works."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

import sciml_bench
from sciml_bench.adapters import registry
from sciml_bench.cli import options as exits
from sciml_bench.cli.main import cli
from sciml_bench.plan.profiles import NAMES, profile_named
from sciml_bench.problem import load_problem

README = Path(sciml_bench.__file__).resolve().parents[1] / "README.md"

pytestmark = pytest.mark.skipif(not README.is_file(), reason="not a checkout")

TEXT = README.read_text(encoding="utf-8") if README.is_file() else ""
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", TEXT, flags=re.DOTALL)
COMMANDS = sorted(
    {
        line.partition("#")[0].strip()
        for _, block in BLOCKS
        for line in block.splitlines()
        if line.startswith("sciml-bench")
    }
)


def test_it_opens_with_the_two_commands():
    first = next(block for _, block in BLOCKS)
    assert [line.partition("#")[0].strip() for line in first.splitlines()] == ["make stiff", "make test"]


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_can_be_typed(line):
    words = shlex.split(line)[1:]
    command: click.Command = cli
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, f"there is no command {words[0]}"
        command, words = found, words[1:]
    command.make_context(command.name, words)


def test_the_example_problem_loads(tmp_path):
    text = next(block for language, block in BLOCKS if language == "toml")
    name = re.search(r'^name = "(.*)"$', text, flags=re.MULTILINE)
    assert name is not None
    path = tmp_path / f"{name[1]}.toml"
    path.write_text(text, encoding="utf-8")
    assert load_problem(path).n_states == 2


def test_the_exit_codes_are_those_of_the_help():
    table = {int(code) for code in re.findall(r"^\| (\d+) \|", TEXT, flags=re.MULTILINE)}
    assert table == {value for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)}


def test_the_profiles_are_told():
    for name in NAMES:
        assert f"| `{name}` | {profile_named(name).processes} |" in TEXT


def test_the_extras_are_told():
    assert all(f"`{registry.adapter(name).extra}`" in TEXT for name in registry.names() if registry.adapter(name).extra)
