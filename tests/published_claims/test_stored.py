"""Claims of stored runs: held against what the suite measures now."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from stubs.reported import cell, plan, summarise, written

from sciml_bench.errors import ProblemError
from sciml_bench.published_claims.collection import find, keep, of_run
from sciml_bench.published_claims.judging import Measurement, judged
from sciml_bench.published_claims.load import load_claim
from sciml_bench.published_claims.ruling import Ruling
from sciml_bench.render.claims import claim_row

FAIR_FAST, FAIR_SLOW = cell("fast", "julia", "p-fair"), cell("slow", "scipy", "p-fair")


def test_a_setting_that_changed_since_it_was_measured_has_no_ruling(tmp_path: Path):
    which = find("C05")
    claims = {"C05": {"fair.fast": [FAIR_FAST.label]}}
    told = plan([FAIR_FAST, FAIR_SLOW]) | {"claimed": {"claims": claims, "points": {}}}
    keep([which], tmp_path)
    assert [item.changed for item in of_run(tmp_path, written(told))] == [frozenset()]
    kept = tmp_path / "claims" / "C05.toml"
    text = kept.read_text(encoding="utf-8")
    kept.write_text(text.replace("notes = [", 'notes = ["other words",', 1).replace("53x", "54x"), encoding="utf-8")
    assert [item.changed for item in of_run(tmp_path, written(told))] == [frozenset()], "words change no measurement"
    kept.write_text(text.replace("rtol = 1e-3\n", "rtol = 1e-4\n", 1), encoding="utf-8")
    (tested,) = of_run(tmp_path, written(told))
    assert tested.changed == {"published"}
    assert tested.claim.figure == which.figure, "what is known of the source is that of today"
    (found,) = judged([Measurement(tested.claim, summarise(told, []), tmp_path, tested.changed)])
    assert found.findings["published"].ruling is Ruling.OUTDATED
    assert claim_row(found)[3] == "out of date"
    kept.write_text("claim = 1\n", encoding="utf-8")
    assert of_run(tmp_path, written(told))[0].changed == {"published", "fair"}


def test_a_claim_of_ones_own_is_read_from_its_run_whatever_is_installed_now(tmp_path: Path):
    """Its adapter was there when it was measured."""
    mine = dataclasses.replace(find("C05"), id="MINE")
    claims = {"MINE": {"fair.fast": FAIR_FAST.label}}
    told = plan([FAIR_FAST, FAIR_SLOW]) | {"claimed": {"claims": claims, "points": {}}}
    keep([mine], tmp_path)
    kept = tmp_path / "claims" / "MINE.toml"
    text = kept.read_text(encoding="utf-8").replace('id = "C05"', 'id = "MINE"')
    kept.write_text(re.sub(r'adapter = "[a-z]+"', 'adapter = "gone"', text, count=1), encoding="utf-8")
    with pytest.raises(ProblemError, match="unknown adapter 'gone'"):
        load_claim(kept)
    (tested,) = of_run(tmp_path, written(told))
    assert "gone" in {
        side.adapter
        for setting in (tested.claim.published, tested.claim.fair)
        if setting
        for side in setting.sides.values()
    }
