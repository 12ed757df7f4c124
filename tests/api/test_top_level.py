"""The functions at the top of the package, and those for claims, references, sizes and the machine."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import sciml_bench
from sciml_bench import api
from sciml_bench.analysis.selftest.blocks import ROLES
from sciml_bench.api import StoreError, UsageError
from sciml_bench.execution import selftest
from sciml_bench.published_claims.collection import find
from sciml_bench.published_claims.ruling import Ruling

STORED = Path(__file__).parents[2] / "results" / "claims"


def test_functions_of_the_api_are_at_the_top_and_imported_late():
    code = (
        "import sys, sciml_bench as sb\n"
        "before = 'sciml_bench.api' in sys.modules\n"
        "import sciml_bench.execution.session, sciml_bench.planning.plan, sciml_bench.spec.load\n"
        "import sciml_bench.api as api, json\n"
        "print(json.dumps([before, all(getattr(sb, name) is getattr(api, name) for name in api.__all__)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [False, True]


def test_no_package_hides_a_function():
    packages = {module.name for module in pkgutil.iter_modules(sciml_bench.__path__)}
    assert packages & set(api.__all__) == set()


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'sciml_bench' has no attribute 'solve_everything'"):
        _ = sciml_bench.solve_everything
    assert {"run", "plan", "claims", "__version__"} <= set(dir(sciml_bench))


def test_a_problem_is_measured_at_several_sizes(small: Path):
    run = api.scale("decay", "tolerance", [1e-7, 1e-3, 1e-5], profile="smoke", adapters=["alpha"])
    assert run.plan["sweep"]["over"] == "tolerance"
    assert run.plan["profile"]["rtols"] == [1e-3, 1e-5, 1e-7]
    assert run.folder.name.endswith("_scale-decay-tolerance_smoke")
    assert {record.cell.problem for record in run.records} == {"decay"}


@pytest.mark.parametrize(
    ("over", "values", "match"),
    [
        ("speed", [1, 2, 3], "unknown axis 'speed'; there are batch, width"),
        ("batch", [1, 2], "takes 3 at least"),
        ("batch", [1, 2, 2.5], "'2.5' is not a whole number"),
        ("batch", [1, 2, float("inf")], "'inf' is not a whole number"),
        ("batch", [1, 2, float("nan")], "'nan' is not a whole number"),
        ("batch", [1, 4, 4], "a value stands twice"),
        ("tolerance", [1e-3, 1e-5, 0.0], "'0' is not a tolerance"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(small: Path, over: str, values: list[float], match: str):
    with pytest.raises(UsageError, match=match):
        api.scale("decay", over, values)
    assert not Path("results").exists()


@pytest.mark.skipif(not STORED.exists(), reason="stored runs are in a checkout only")
def test_stored_claims_are_judged():
    (judged,) = api.claims(STORED / "2026-11-28T06-06-32_claim-C42_standard")
    assert judged.claim.id == "C42"
    assert isinstance(judged.findings["fair"].ruling, Ruling)
    everything = api.claims(STORED / "2026-11-28T06-06-32_claim-C42_standard", untested=True)
    assert [item.claim.id for item in everything] == sorted(row["id"] for row in api.list("claims"))


def test_claims_that_cannot_be_judged_are_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="no run of a claim"):
        api.claims(out=tmp_path)
    with pytest.raises(StoreError):
        api.claims(tmp_path)
    with pytest.raises(UsageError, match="name a claim"):
        api.run_claims(out=tmp_path)


def test_a_claim_that_cannot_be_tested_here_has_its_reason(tmp_path: Path):
    (judged,) = api.run_claims("C34", out=tmp_path)
    assert judged.findings["published"].reason == find("C34").needs.missing
    assert list(tmp_path.iterdir()) == []


def test_the_reference_of_a_problem_is_computed_once_and_checked(small: Path):
    path = small.parent / "stiff" / "decay.toml"
    path = path if path.is_file() else Path(api.problem("decay").path)
    with pytest.raises(UsageError, match="no reference for 'decay'"):
        api.check_reference(path)
    found = api.reference(path)
    assert found.states == ["y", "z"]
    assert found.solution[-1][0].startswith("0.367879441171442321595523770161")
    assert api.reference("decay") == found
    assert api.check_reference(path).complaints == ()


def test_the_machine_is_examined():
    found = api.doctor(0.05)
    assert found
    assert all(item.title and item.found for item in found)


def test_a_self_test_without_time_says_so_and_keeps_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def one_block(_chosen: object, _writer: object, measured: selftest.Measured, **options: object) -> None:
        for name in ("solve", "gradient"):
            measured.times[name] = {role: {0: 1.0} for role in ROLES}

    monkeypatch.setattr(selftest, "measure", one_block)
    with pytest.raises(UsageError, match="too little to tell"):
        api.selftest(0.1, out=tmp_path)
    (folder,) = (tmp_path / "selftest").iterdir()
    assert (folder / "environment.json").is_file()
