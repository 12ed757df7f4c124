"""The contents of a page."""

from __future__ import annotations

import datetime
import re

import pytest
from stubs import compared

from sciml_bench.render.html import facts
from sciml_bench.render.html.page import report

NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)


@pytest.mark.parametrize(("n_runs", "folded"), [(6, False), (7, True)])
def test_the_contents_of_many_runs_are_folded(tmp_path, n_runs, folded):
    runs = [compared.run(tmp_path, f"run-{number}", blocks=1) for number in range(n_runs)]
    text = report(runs, NOW)
    contents = text[text.index("<nav") : text.index("</nav>")]
    assert (f'<details class="runs"><summary>{n_runs} runs</summary>' in contents) is folded
    assert {f"r{number}" for number in range(1, n_runs + 1)} < set(re.findall('href="#([^"]+)"', contents))


def test_every_machine_of_a_run_is_named():
    one, other = ({"cpu": {"model": f"Processor {name}", "usable_cores": 2}} for name in "AB")
    assert facts.machines(one, ()) == facts.machine(one)
    told = facts.machines(one, [other, other])
    assert told.startswith("3 environments, each block in one of them: Processor A")
    assert "Processor B, 2 cores usable" in told
    assert told.endswith("(2 environments)")
