"""A problem with measurements in several conditions, in files next to it."""

from __future__ import annotations

from pathlib import Path

from sciml_bench.spec import load_problem
from sciml_bench.spec.model import Problem

TEXT = """
spec = 1
name = "doses"
title = "Doses"
[time]
t1 = 4
[parameters]
k = 0.5
x0 = 2
sd = 0.2
[conditions]
file = "conditions.csv"
[states]
x = { initial = "start", scale = 1 }
y = { initial = 0, scale = 1 }
[equations]
x = "-k*x + dose"
y = "k*x - 0.1*y*x0*same"
[measurements]
file = "measurements.csv"
[[observables]]
name = "a"
of = "x + y*dose"
sigma = "sd"
[[observables]]
name = "b"
of = "y"
sigma = 0.3
"""
CONDITIONS = "condition,dose,start,same\nlow,0,x0,2\nhigh,1.5,2*x0,2\nother,0.3,1,2\n"
MEASUREMENTS = """condition,observable,time,value,sigma
low,a,0,2.1,
low,a,1,1.3,
low,b,2,0.9,0.2
high,a,1,3.3,
low,a,1,1.2,
high,b,1,,

high,b,4,2,0.1
other,a,1,1,
other,b,1,1,
"""


def made(folder: Path, text: str = TEXT, conditions: str = CONDITIONS, measurements: str = MEASUREMENTS) -> Problem:
    """The problem, with its files written into a folder."""
    (folder / "conditions.csv").write_text(conditions, encoding="utf-8")
    (folder / "measurements.csv").write_text(measurements, encoding="utf-8")
    path = folder / "doses.toml"
    path.write_text(text, encoding="utf-8")
    return load_problem(path)
