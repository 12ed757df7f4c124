"""What the README shows works."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import click
import pytest

import sciml_bench
from sciml_bench.adapters import registry
from sciml_bench.cli import exit_codes
from sciml_bench.cli.main import cli
from sciml_bench.importing.importer import of_source
from sciml_bench.planning.profiles import NAMES, profile_named
from sciml_bench.record.scoring_rules import SCORING_RULES
from sciml_bench.spec import load_problem

README = Path(sciml_bench.__file__).resolve().parents[1] / "README.md"

pytestmark = pytest.mark.skipif(not README.is_file(), reason="not a checkout")

TEXT = README.read_text(encoding="utf-8") if README.is_file() else ""
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted((README.parent / "docs").glob("*.md"))}
BLOCK = re.compile(r"```(\w*)\n(.*?)```", flags=re.DOTALL)
BLOCKS = BLOCK.findall(TEXT)
COMMANDS = sorted(
    {
        line.partition("#")[0].strip()
        for text in (TEXT, *PAGES.values())
        for _, block in BLOCK.findall(text)
        for line in block.splitlines()
        if line.startswith("sciml-bench")
    }
)


def test_it_opens_with_a_model_that_can_be_asked_about(tmp_path):
    language, model = BLOCKS[0]
    assert language == "python"
    (tmp_path / "model.py").write_text(model, encoding="utf-8")
    text = of_source(f"{tmp_path / 'model.py'}:rhs")
    assert 'a = "-fast*a"' in text.replace("p_", "")
    assert "sciml-bench advise model.py:rhs " in BLOCKS[1][1]


def test_it_has_the_two_commands_of_a_clone():
    block = next(block for _, block in BLOCKS if block.startswith("make"))
    assert [line.partition("#")[0].strip() for line in block.splitlines()] == ["make stiff", "make test"]


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_can_be_typed(line):
    words = shlex.split(line)[1:]
    command: click.Command = cli
    # A command keeps its option of help, whose names come from the outermost context.
    context = click.Context(cli, **cli.context_settings)
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, f"there is no command {words[0]}"
        command, words = found, words[1:]
    command.make_context(command.name, words, parent=context)


def test_it_fits_two_screens_and_a_half():
    assert len(TEXT.splitlines()) <= 150


def test_the_example_problem_loads(tmp_path):
    text = next(block for language, block in BLOCK.findall(PAGES["problem-files.md"]) if language == "toml")
    name = re.search(r'^name = "(.*)"$', text, flags=re.MULTILINE)
    assert name is not None
    path = tmp_path / f"{name[1]}.toml"
    path.write_text(text, encoding="utf-8")
    assert load_problem(path).n_states == 2


def test_the_exit_codes_are_those_of_the_help():
    table = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGES["commands.md"], flags=re.MULTILINE)}
    assert table == {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}


def test_the_profiles_are_told():
    for name in NAMES:
        assert f"| `{name}` | {profile_named(name).processes} |" in TEXT


def test_the_extras_are_told():
    assert all(f"`{registry.adapter(name).extra}`" in TEXT for name in registry.names() if registry.adapter(name).extra)


def readme() -> ModuleType:
    """The script that fills README."""
    path = README.parent / "benchmarks" / "readme.py"
    spec = importlib.util.spec_from_file_location("readme", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MEASURED = re.compile(r"\d ?(ns|µs|ms|s|min|h|[KMG]iB)\b|\d ?(%|×)|\d times as")
# Constants of the method, each from the script that the sentence names.
CONSTANTS = ("benchmarks/", "slices of 20 ms", "within ±5 %", "95 % interval", "`--timeout` seconds")


@pytest.mark.parametrize("document", readme().DOCUMENTS, ids=lambda path: path.name)
def test_figures_are_those_of_the_stored_runs(document: Path):
    text = document.read_text(encoding="utf-8")
    assert readme().filled(text) == text, "run: python benchmarks/readme.py --write"


def test_its_advice_is_the_order_of_its_table():
    rows = re.findall(r"^\| ((?:scipy|diffrax|tensorflow|torch\w+) \S+ \S+)", TEXT, flags=re.MULTILINE)
    assert rows[0] == "scipy odeint forward", "the sentence below the table names it"
    assert next(row for row in rows if row.startswith("diffrax")) == "diffrax kvaerno5-chord forward"


def test_its_runs_may_be_compared():
    from sciml_bench import api

    runs = {block["run"] for block in readme().BLOCK.finditer(TEXT)}
    assert runs
    for run in runs:
        found = api.load(README.parent / run)
        assert not found.analysis.why_not_comparable
        assert {record.scoring_rules for record in found.records} == {SCORING_RULES}, "measure it again"
        model = str(found.environment["cpu"]["model"]).replace("(R)", "").removesuffix(" Processor")
        assert f"cores of an {model}" in " ".join(TEXT.split())
        assert not any(record.noisy for record in found.records), "README says that none was disturbed"


def test_no_figure_stands_outside_a_stored_run():
    """A figure that somebody typed goes stale: every one is in a block that a run fills, or names its script."""
    text = re.sub(r"```.*?```", "", readme().BLOCK.sub("", TEXT), flags=re.DOTALL)
    sentences = re.split(r"(?<=[.:;]) (?=[A-Z*`])|\n\n|\n- |\n\\|", text)
    typed = [one for one in sentences if MEASURED.search(one) and not any(word in one for word in CONSTANTS)]
    assert typed == []
