"""Texts of small problem files."""

from __future__ import annotations

from collections.abc import Callable

from sciml_bench.spec.model import Problem

ROBERTSON = """\
spec = 1
name = "rates"
title = "Robertson"
suite = "stiff"

[time]
t1 = 1e5
save = { times = [40, 1e5] }

[parameters]
k1 = 0.04
k2 = 3e7
k3 = 1e4

[states]
y1 = 1
y2 = { initial = 0, scale = 1e-5 }
y3 = 0

[equations]
y1 = "-k1*y1 + k3*y2*y3"
y2 = "k1*y1 - k2*y2**2 - k3*y2*y3"
y3 = "k2*y2**2"

[invariants]
mass = "y1 + y2 + y3"
"""

ORBIT = """\
spec = 1
name = "orbit"
title = "Harmonic oscillator"

[time]
t1 = 3
save = { spacing = "linear", count = 3 }

[parameters]
w = 1.7

[states]
x = 1
v = 0

[equations]
x = "w*v"
v = "-w*x"

[invariants]
energy = "x**2 + v**2"

[exact]
x = "cos(w*t)"
v = "-sin(w*t)"
"""

Load = Callable[[str], Problem]
