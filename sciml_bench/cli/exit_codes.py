"""Exit codes of the command line: a promise to scripts."""

OK = 0
CHECK_FAILED = 1
USAGE = 2
BROKEN_CELLS = 3
NOTHING_SELECTED = 4
INTERRUPTED = 130

TEXT = """\b
Exit codes:
    0  done; solvers that fail honestly (timeout, max_steps, step_underflow,
       nonfinite, inaccurate, unchecked, unsupported, slow) are results
    1  a check failed
    2  wrong usage, a wrong file, or a folder that cannot be written
    3  a cell broke (crash, out_of_memory, import_error, build_error,
       recompiled, invalid, busy_timeout), or a unit was lost on a cluster
    4  nothing is selected
  130  interrupted; all measurements are kept, and the same command resumes
"""
