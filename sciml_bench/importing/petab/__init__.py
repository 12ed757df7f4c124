"""PEtab: problems of parameter estimation, a model in SBML with tables of conditions, observables and measurements."""
