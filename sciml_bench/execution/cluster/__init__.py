"""Units carried out by the scheduler of a cluster; the run's folder, which all machines see, is the truth."""
