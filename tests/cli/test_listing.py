"""Listings, descriptions and plans. Their whole outputs are transcripts."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
from stubs import compared
from stubs.suite import problem_text, stub_adapter, stub_adapters

from sciml_bench.adapters import registry
from sciml_bench.host.extras import install_command

SMOKE = ("--profile", "smoke")


def test_adapters(cli, monkeypatch):
    away = stub_adapter("away", packages={"no_such_framework": "no-such-framework"}, extra="away")
    broken = registry.LoadError("broken", "some-package", "ImportError: nothing there")
    monkeypatch.setattr(registry, "_all", lambda: {**stub_adapters(), "away": away, "broken": broken})
    rows = {row["adapter"]: row for row in cli("list", "adapters", "--json").json}
    assert rows["alpha"]["here"] == "yes"
    assert rows["away"]["here"] == "no"
    assert install_command("away") in rows["away"]["note"]
    assert "ImportError: nothing there" in rows["broken"]["note"]
    assert cli("list", "adapters").out.endswith(
        "away: Stub away\n"
        "  methods: fine, finer, stuck, wrong, dies, hangs, limited\n"
        "  sensitivities: discrete, backsolve\n"
        "  modes: eager, compiled\n"
        f"  no-such-framework is not installed; run: {install_command('away')}\n"
        "broken: not loaded\n"
        "  cannot be loaded from some-package: ImportError: nothing there\n"
    )


def test_runs(cli):
    assert cli("list", "runs").err == "no run in results\n"
    cli("stiff", *SMOKE)
    (row,) = cli("list", "runs", "--json").json
    assert row["profile"] == "smoke"
    assert (row["cells"], row["recorded"]) == (2, 2)
    assert row["command"] == "sciml-bench stiff --profile smoke"
    assert row["run"] in cli("list", "runs").out


def test_show_finds_the_newest_run_a_name_and_a_folder(cli):
    cli("stiff", *SMOKE)
    (folder,) = Path("results").iterdir()
    newest = cli("show").out
    assert newest == cli("show", folder.name).out == cli("show", str(folder)).out
    assert "2 cells measured, 0 failed; 110 others are not part of this run" in newest
    assert cli("show", "--json").json["account"]["measured"] == 2


def test_a_run_that_was_kept_under_a_name_is_not_the_newest(cli):
    cli("stiff", *SMOKE)
    (first,) = Path("results").iterdir()
    first.rename("results/worth-keeping")
    cli("nonstiff", *SMOKE)
    assert [row["run"] for row in cli("list", "runs", "--json").json][-1] == "worth-keeping"
    assert "calm: Decay of calm" in cli("show").out


def test_show_tells_of_damaged_lines(cli):
    cli("stiff", *SMOKE)
    (folder,) = Path("results").iterdir()
    records = folder / "records.jsonl"
    records.write_text(records.read_text() + '{"schema": 1, "cut')
    done = cli("show")
    assert done.code == 0
    assert "left out: " in done.err
    assert "2 cells measured" in done.out


def test_the_spread_of_an_earlier_run_says_what_a_plan_can_see(cli):
    compared.run(Path("results"), "earlier", spread=0.2)
    done = cli("plan", "--suite", "nonstiff", "--json")
    told = done.json["spread"]
    assert told["source"] == "from 2 pairs of cells in 2026-01-01T12-00-00Z_earlier"
    assert told["sd_log"] > 0.1
    standard = next(item for item in done.json["smallest_change"] if item["profile"] == "standard")
    assert standard["change"] > 0.1
    assert done.json["smallest_change"][0]["change"] is None


def test_plan_as_json(cli):
    first, second = (cli("plan", "--suite", "stiff", "--json").json for _ in range(2))
    assert first == second, "the same command gives the same plan"
    assert len(first["order"]) == 3 * len(first["cells"])
    assert json.dumps(first["skipped"])
    assert not Path("results").exists()


def test_describe(cli):
    out = cli("describe", "decay").out
    for part in ("decay: Decay of decay", "dy/dt = -a*y", "time: 0 to 2, saved at 3 times", "a = 1/2", "Any textbook"):
        assert part in out
    told = cli("describe", "decay", "--json").json
    assert told["initial"] == {"y": "1", "z": "1"}
    assert told["gradient_with_respect_to"] == "parameters"


def test_describe_tells_of_networks_batches_and_the_loss(cli):
    folder = Path(__file__).resolve().parents[2] / "problems" / "neural"
    out = cli("describe", str(folder / "ffjord-2d.toml")).out
    assert "weight1" not in out
    told = cli("describe", str(folder / "lynx-hare-ude.toml"), "--json").json
    assert told["networks"][0]["layers"][0] == {"width": 5, "activation": "rbf"}
    assert told["loss"]["data"][0] == [47.2, 6.1]
    assert len(told["parameters"]) == told["n_parameters"] == 89


def test_describe_tells_what_stands_around_the_solve(cli):
    folder = Path(__file__).parents[2] / "problems" / "neural"
    told = cli("describe", str(folder / "digits-node.toml"), "--json").json
    assert told["initial"] == {"z": "encode(x/16)"}
    assert told["data"][0] == {"name": "x", "shape": [64], "trajectories": 32}
    assert (told["loss"]["kind"], told["loss"]["of"], told["loss"]["label"]) == ("cross_entropy", "head(z)", "label")


def test_describe_tells_what_motion_drives_an_equation(cli):
    path = str(Path(__file__).parents[2] / "problems" / "neural" / "neural-sde.toml")
    out = cli("describe", path).out
    assert "W_values" not in out
    (told,) = cli("describe", path, "--json").json["control"]
    assert told["brownian"] == {"channels": 2, "steps": 64, "seed": 63}


def test_describe_tells_how_a_problem_is_trained(cli, tmp_path):
    path = tmp_path / "trained.toml"
    table = '[training]\noptimiser = "sgd"\nlearning_rate = 0.1\nsteps = 7\nrtol = 1e-6\natol = 1e-8\n'
    path.write_text(problem_text("trained") + table, encoding="utf-8")
    line = "trained by 7 steps of sgd: learning_rate 0.1, rtol 1e-06, atol 1e-08\n"
    assert line in cli("describe", str(path)).out
    assert cli("describe", str(path), "--json").json["training"]["steps"] == 7
    assert "trained by" not in cli("describe", "decay").out


def test_describe_prints_the_code_that_is_run(cli):
    done = cli("describe", "decay", "--code", "alpha")
    scope: dict[str, object] = {}
    exec(compile(done.out, "described", "exec"), scope)
    assert callable(scope["rhs"])


def test_describe_a_file(cli, tmp_path):
    assert cli("describe", str(tmp_path / "catalog" / "stiff" / "fade.toml")).out.startswith("fade: Decay of fade")


def test_schema(cli):
    jsonschema.Draft202012Validator.check_schema(cli("schema").json)


def test_schemas_of_models_and_of_claims(cli):
    for option in ("--models", "--claims"):
        jsonschema.Draft202012Validator.check_schema(cli("schema", option).json)
    assert cli("schema", "--models", "--claims").code == 2
