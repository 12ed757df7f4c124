"""SBML files from strangers: checked before libSBML reads them; models of more than equations are refused."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any
from xml.parsers import expat

from sciml_bench.errors import ProblemError
from sciml_bench.host.extras import install_command

MOST_BYTES = 64 * 2**20
#: libSBML reads elements by recursion.
_DEEPEST = 400
#: Packages that say nothing about equations; libSBML calls each one required that it finds in a file of level 2. The
#: last are the functions that level 3 version 2 added.
_SILENT = ("layout", "render", "l3v2extendedmath")
#: The package of models within models.
_COMPOSED = "comp"
_MOST_MODELS = 1000


def libsbml() -> Any:
    """Return libSBML.

    Raises:
        ProblemError: it is not installed.
    """
    try:
        return importlib.import_module("libsbml")
    except ImportError as error:
        raise ProblemError(f"libSBML is missing; run: {install_command('sbml')}") from error


def document_of(path: Path) -> Any:
    """The document of a file, flattened, and with its local parameters among the others.

    Raises:
        ProblemError: it is not SBML of level 2 or 3, or its equations need more than its core.
    """
    sbml, content = libsbml(), _content(path)
    _checked(path, content)
    document = sbml.readSBMLFromString(content.decode("utf-8", "replace"))
    for error in (document.getError(i) for i in range(document.getNumErrors())):
        if error.getSeverity() >= sbml.LIBSBML_SEV_ERROR:
            message = " ".join(error.getMessage().split())[:200]
            raise ProblemError(f"it is not SBML: {message}", where=path, line=error.getLine() or None)
    model = document.getModel()
    if model is None:
        raise ProblemError("it holds no model.", where=path)
    if document.getLevel() < 2:
        cure = "Convert it with libSBML to level 3."
        raise ProblemError(f"it is SBML of level {document.getLevel()}.", where=path, cure=cure)
    _without_packages(path, document)
    _convert(path, document, "promoteLocalParameters")
    return document


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise ProblemError("the file is missing.", where=path)
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise ProblemError(f"it has {size} bytes; more than {MOST_BYTES} are not read.", where=path)
    return path.read_bytes()


def _checked(path: Path, content: bytes) -> None:
    """Refuse markup that hurts parsers and has no place in SBML: declared entities and elements nested without end."""
    parser, depth = expat.ParserCreate(), 0

    def refuse(message: str) -> None:
        raise ProblemError(message, where=path, line=parser.CurrentLineNumber)

    def begin(_name: str, _attributes: Any) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            refuse(f"its elements are nested more than {_DEEPEST} deep.")

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartDoctypeDeclHandler = lambda *_: refuse("it declares a document type, which SBML files do not.")
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ProblemError(f"it is not XML: {expat.ErrorString(error.code)}.", where=path, line=error.lineno) from error


def _without_packages(path: Path, document: Any) -> None:
    """Flatten models of several models, and refuse further packages that a model needs."""
    names = [document.getPlugin(i).getPackageName() for i in range(document.getNumPlugins())]
    for name in names:
        if name not in (*_SILENT, _COMPOSED) and document.getPkgRequired(name):
            raise ProblemError(f"it needs the package '{name}' of SBML, which is not read.", where=path)
    if document.getNumUnknownPackages():
        address = document.getUnknownPackageURI(0)
        if document.getPackageRequired(address):
            raise ProblemError(f"it needs the package {address} of SBML, which is not read.", where=path)
    if _COMPOSED in names:
        if document.getPlugin(_COMPOSED).getNumExternalModelDefinitions():
            cure = "Flatten it with libSBML."
            raise ProblemError("it is assembled from other files, which are not read.", where=path, cure=cure)
        _count_models(path, document)
        _convert(path, document, "flatten comp")


def _count_models(path: Path, document: Any) -> None:
    """Refuse models that hold each other so often that flattening them does not end."""
    plugin = document.getPlugin(_COMPOSED)
    definitions = (plugin.getModelDefinition(i) for i in range(plugin.getNumModelDefinitions()))
    models = {model.getId(): model for model in (document.getModel(), *definitions)}
    counts: dict[str, int] = {}

    def count(name: str, above: tuple[str, ...]) -> int:
        if name in above:
            raise ProblemError(f"model '{name}' holds itself.", where=path)
        if name not in counts:
            inner = models[name].getPlugin(_COMPOSED) if name in models else None
            parts = [] if inner is None else [inner.getSubmodel(i) for i in range(inner.getNumSubmodels())]
            counts[name] = 1 + sum(count(part.getModelRef(), (*above, name)) for part in parts)
        return counts[name]

    total = count(document.getModel().getId(), ())
    if total > _MOST_MODELS:
        raise ProblemError(f"flattened, it has {total} models; more than {_MOST_MODELS} are not read.", where=path)


def _convert(path: Path, document: Any, what: str) -> None:
    sbml = libsbml()
    options = sbml.ConversionProperties()
    options.addOption(what, True)
    if document.convert(options) != sbml.LIBSBML_OPERATION_SUCCESS:
        raise ProblemError(f"libSBML fails at '{what}'.", where=path, cure="Validate the file with libSBML.")
