from sciml_bench.task import *  # noqa: F403
from sciml_bench.task import Cell, Numbers, Point, Reference, Sampling, Task  # noqa: F401
