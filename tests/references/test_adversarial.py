"""Files that were made to fool the reference engine: what is certified is right to every digit that is claimed."""

from __future__ import annotations

from functools import cache

import pytest
from references.adversarial.attack import ILL, WELL
from references.adversarial.judge import FOLDER, TRUTHS, Verdict
from references.adversarial.judge import judge as certified_and_judged
from references.adversarial.known import DEAR, ONE_OF_EACH, REFUSED, UNDER_WAY
from references.adversarial.write import ATTACKS

ALL = {attack.name: attack for attack in ATTACKS}
QUICK = [name for name in ONE_OF_EACH if name not in DEAR and name not in UNDER_WAY]
#: Proofs that take longer are for the tests of enclosures.
PROOF_S = 10.0
LONG = [name for name in ALL if name not in UNDER_WAY]
judge = cache(certified_and_judged)


def _held(name: str, proof_s: float = 0.0) -> Verdict:
    verdict = judge(name, proof_s)
    assert verdict.wrong == ()
    if ALL[name].status == ILL:
        assert not verdict.certified
    return verdict


@pytest.mark.parametrize("name", QUICK)
def test_what_is_certified_is_right(name: str):
    _held(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_what_is_certified_at_length_is_right(name: str):
    verdict = _held(name, PROOF_S)
    assert verdict.certified or name in REFUSED or ALL[name].status != WELL, verdict.refusal


def test_most_of_what_is_well_posed_is_certified():
    well = [name for name in QUICK if ALL[name].status == WELL]
    refused = {name for name in well if not _held(name).certified}
    assert refused <= set(REFUSED)
    assert len(refused) <= 0.2 * len(well)


def test_there_is_a_file_and_a_truth_for_each():
    assert len(ALL) == len(ATTACKS) >= 170
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(ALL) == set(TRUTHS)
    assert set(UNDER_WAY) | set(DEAR) | set(REFUSED) | set(ONE_OF_EACH) <= set(ALL)
    for name, attack in ALL.items():
        assert (FOLDER / f"{name}.toml").read_text() == attack.toml()


@pytest.mark.parametrize("name", [name for name, attack in ALL.items() if attack.solution and attack.formula])
def test_truths_are_those_of_their_formulas(name: str):
    assert ALL[name].truth() == TRUTHS[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, attack in ALL.items() if not attack.formula])
def test_truths_are_those_of_their_series(name: str):
    assert ALL[name].truth() == TRUTHS[name]
