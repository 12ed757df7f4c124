"""Finding adapters: built-in ones, third-party ones, broken ones."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from importlib.metadata import EntryPoint
from typing import Any, cast

import pytest

from sciml_bench.adapters import plug_in, registry
from sciml_bench.adapters.base import Adapter, ProblemTraits
from sciml_bench.errors import UsageError
from sciml_bench.host.extras import install_command

THIRD_PARTY = """
from sciml_bench.adapters.base import Adapter, Method

ADAPTER = Adapter(
    name="{name}", title="A third party's", packages={{"no_such_module_anywhere": "their-solver"}}, extra="",
    target="numpy", program="their_program:build", methods=(Method("euler", "explicit_rk", 1, False, False),),
    sensitivities=("forward",), modes=("eager",),
)
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs third-party declarations: ``installed(entry="module:attribute", module="source text")``."""
    points: list[EntryPoint] = []

    def install(name: str, value: str, **modules: str) -> None:
        for module, text in modules.items():
            (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
        points.append(EntryPoint(name, value, registry.GROUP))
        registry.refresh()

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == registry.GROUP else [])
    registry.refresh()
    yield install
    registry.refresh()


def test_the_built_in_adapters_load(installed):
    assert registry.names()[:4] == ("scipy", "torchdiffeq", "diffrax", "tensorflow")
    assert registry.load_errors() == ()


def test_declarations_import_no_framework():
    code = (
        "import sys; from sciml_bench.adapters import registry; assert len(registry.adapters()) >= 4;"
        "[registry.missing(adapter) for adapter in registry.adapters().values()];"
        "heavy = {'torch', 'torchdiffeq', 'jax', 'diffrax', 'tensorflow', 'tensorflow_probability', 'juliacall',"
        "         'scipy.integrate', 'sympy'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


FACTS = [
    ProblemTraits("any", "any", n_states, n_theta, 0, "parameters", stiff, n_weights=n_weights, stochastic=noisy)
    for n_states, n_theta, n_weights in ((3, 3, 0), (3, 300, 299), (300, 3, 0))
    for stiff in (True, False)
    for noisy in (True, False)
]


@pytest.mark.parametrize("name", sorted(registry.BUILT_IN))
def test_declarations_are_consistent(name):
    adapter = registry.adapter(name)
    assert adapter.name == name
    assert len({method.name for method in adapter.methods}) == len(adapter.methods)
    for facts in FACTS:
        recipes = adapter.recipes(facts)
        assert recipes
        assert len(set(recipes)) == len(recipes)
        assert recipes[0].role == ""
        for recipe in recipes:
            assert adapter.method(recipe.method)
            assert recipe.sensitivity in adapter.sensitivities
            assert recipe.mode in adapter.modes


def test_a_third_party_adapter_is_found(installed):
    installed("theirs", "their_adapter:ADAPTER", their_adapter=THIRD_PARTY.format(name="theirs"))
    assert "theirs" in registry.names()
    assert registry.adapter("theirs").title == "A third party's"
    assert registry.load_errors() == ()


@pytest.mark.parametrize(
    ("value", "text", "said"),
    [
        ("broken_one:ADAPTER", "raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("leaving_one:ADAPTER", "raise SystemExit(0)", "its import exits"),
        ("failing_one:ADAPTER", "raise SystemExit(3)", "its import exits with code 3"),
        ("silent_one:ADAPTER", "import os; os._exit(0)", "its import exits"),
        ("dying_one:ADAPTER", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended by signal 11"),
        ("absent_one:ADAPTER", None, "No module named 'absent_one'"),
        ("empty_one:ADAPTER", "", "has no attribute 'ADAPTER'"),
        ("wrong_one:ADAPTER", "ADAPTER = 3", "it is a int, not a sciml_bench.adapters.base.Adapter"),
        ("renamed_one:ADAPTER", THIRD_PARTY.format(name="other"), "is declared as 'theirs' but calls itself 'other'"),
    ],
)
def test_a_declaration_that_does_not_load_is_reported_and_stops_nobody(installed, value, text, said):
    module = value.partition(":")[0]
    installed("theirs", value, **({module: text} if text is not None else {}))
    assert "scipy" in registry.names()
    assert "theirs" not in registry.names()
    (error,) = registry.load_errors()
    assert error.name == "theirs"
    assert said in error.message
    with pytest.raises(UsageError, match="cannot be loaded"):
        registry.adapter("theirs")


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("methods=None", "its 'methods' is not a tuple of Method"),
        ("modes='eager'", "its 'modes' is not a tuple of texts"),
        ("packages={'a': 3}", "its 'packages' is not a dict of texts"),
        ("title=3", "its 'title' is not text"),
    ],
)
def test_a_declaration_with_a_field_of_another_type_is_reported(installed, field, said):
    text = THIRD_PARTY.format(name="theirs") + f"\nimport dataclasses\nADAPTER = dataclasses.replace(ADAPTER, {field})"
    module = f"odd_{field.partition('=')[0]}"
    installed("theirs", f"{module}:ADAPTER", **{module: text})
    (error,) = registry.load_errors()
    assert error.message == said


@pytest.mark.parametrize(
    ("function", "mistake"),
    [
        *((name, "raise SystemExit") for name in ("lacking", "refusal", "recipes", "variables", "locks", "unmet")),
        *(("recipes", mistake) for mistake in ("raise ValueError('bad')", "return 3", "return {'a': 3}")),
        ("variables", "return {'a': 3}"), ("refusal", "return 3"),
    ],
)  # fmt: skip
def test_a_function_of_a_declaration_that_fails_refuses_its_own_adapter(installed, function, mistake):
    failing = f"\nimport dataclasses\ndef fails(*_):\n    {mistake}\n"
    replaced = f"ADAPTER = dataclasses.replace(ADAPTER, {function}=fails)"
    module = f"failing_{abs(hash((function, mistake)))}"
    source = THIRD_PARTY.format(name="theirs").replace("no_such_module_anywhere", "json") + failing + replaced
    installed("theirs", f"{module}:ADAPTER", **{module: source})
    theirs, nothing = registry.adapter("theirs"), cast(Any, None)
    assert theirs.recipes(nothing) == ()
    assert (theirs.variables(), theirs.locks()) == ({}, {})
    if theirs.unmet is not None:
        theirs.unmet("older", ["json==1"])
    said = f"the adapter's own {function}() "
    reasons = [theirs.refusal(nothing, nothing), theirs.lacking(), theirs.refusal(nothing, nothing)]
    assert all(str(reason).startswith(said) for reason in reasons[1:])
    lacking = registry.missing(theirs)
    assert lacking is not None
    assert lacking.reason.startswith(said)


@pytest.mark.parametrize("mistake", ["raise SystemExit", "return 3"])
def test_an_environment_that_a_declaration_cannot_give_is_refused(installed, mistake):
    failing = f"\nimport dataclasses\ndef fails(*_):\n    {mistake}\n"
    module = f"nowhere_{abs(hash(mistake))}"
    source = THIRD_PARTY.format(name="theirs") + failing + "ADAPTER = dataclasses.replace(ADAPTER, environment=fails)"
    installed("theirs", f"{module}:ADAPTER", **{module: source})
    with pytest.raises(UsageError, match=r"the adapter's own environment\(\) "):
        registry.adapter("theirs@older")


def test_a_declaration_that_hangs_is_reported_and_stops_nobody(installed, monkeypatch):
    monkeypatch.setattr(plug_in, "LIMIT_S", 1.0)
    installed("theirs", "waiting_one:ADAPTER", waiting_one="import time\nwhile True: time.sleep(60)")
    assert "scipy" in registry.names()
    (error,) = registry.load_errors()
    assert error.message == "its import takes longer than 1 s"


def test_a_declaration_loads_once_it_was_tried(installed):
    """One that writes to the standard streams and starts a process that outlives it is no failure."""
    noise = "import os\nprint('licensed to nobody')\nos.system('sleep 2 &')\n"
    installed("theirs", "noisy_one:ADAPTER", noisy_one=noise + THIRD_PARTY.format(name="theirs"))
    assert registry.load_errors() == ()


def test_a_third_party_cannot_take_a_name_that_is_taken(installed, tmp_path):
    mark = f"open({str(tmp_path / 'imported')!r}, 'w')\n"
    installed("scipy", "thief:ADAPTER", thief=mark + THIRD_PARTY.format(name="scipy"))
    assert registry.adapter("scipy").title == "SciPy solve_ivp"
    assert registry.adapters()["scipy"].title == "SciPy solve_ivp"
    (error,) = registry.load_errors()
    assert "another adapter has this name" in error.message
    assert not (tmp_path / "imported").exists()


def test_an_unknown_adapter_gets_the_nearest_name(installed):
    with pytest.raises(UsageError, match="did you mean diffrax"):
        registry.adapter("difrax")
    with pytest.raises(UsageError, match="there are scipy, torchdiffeq"):
        registry.adapter("zzzz")


def test_missing_packages_come_with_the_exact_install_line():
    present: Adapter = registry.adapter("scipy")
    assert registry.missing(present) is None
    absent = {"no_such_module_anywhere": "their-solver", "scipy": "scipy"}
    with_extra = dataclasses.replace(present, name="theirs", packages=absent, extra="torch")
    found = registry.missing(with_extra)
    assert found is not None
    assert found.distributions == ("their-solver",)
    assert found.install == install_command("torch")
    assert found.reason == f"their-solver is not installed; run: {install_command('torch')}"
    without_extra = registry.missing(dataclasses.replace(with_extra, extra=""))
    assert without_extra is not None
    assert without_extra.install == "pip install their-solver"


def test_a_mode_may_need_a_package_of_its_own(monkeypatch):
    scipy = registry.adapter("scipy")
    found = registry.importlib.util.find_spec
    monkeypatch.setattr(registry.importlib.util, "find_spec", lambda name: None if name == "numba" else found(name))
    assert registry.missing(scipy) is None
    assert registry.missing(scipy, "eager") is None
    missing = registry.missing(scipy, "compiled")
    assert missing is not None
    assert missing.distributions == ("numba",)
    assert missing.reason == f"numba is not installed; run: {install_command('numba')}"
