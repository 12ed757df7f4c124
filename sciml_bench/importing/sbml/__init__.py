"""Models in SBML, levels 2 and 3 core, by libSBML: read, and turned into equations."""
