"""Two runs, or two selections of one run, set against each other: at equal accuracy, by block, in four verdicts."""
