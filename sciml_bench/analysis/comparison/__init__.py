"""Two runs, or two selections of one run, compared with each other: at equal accuracy, by block, in four verdicts."""
