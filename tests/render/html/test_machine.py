"""The machine of a run in one line, as a page shows it."""

from __future__ import annotations

from sciml_bench.render.html.facts import machine


def test_a_gpu_has_its_name():
    found = machine({"cpu": {"model": "Xeon", "usable_cores": 16}, "gpus": [{"model": "NVIDIA H200", "mig": 0}]})
    assert "GPU NVIDIA H200" in found
    assert "no GPU" in machine({"cpu": {"model": "Xeon"}, "gpus": []})
