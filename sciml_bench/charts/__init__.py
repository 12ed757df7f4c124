"""The figures of a run: their content as data and words, and their drawing.

A kind of chart is one object (:mod:`~sciml_bench.charts.kind`) in one registry (:mod:`~sciml_bench.charts.catalog`). It
makes charts (:mod:`~sciml_bench.charts.chart`) from the data of a problem or of a run
(:mod:`~sciml_bench.charts.data`). A chart draws on axes (:mod:`~sciml_bench.charts.axes`,
:mod:`~sciml_bench.charts.layout`) of the one back end, which writes SVG (:mod:`~sciml_bench.charts.backend`): the
drawing in a page, in an SVG file and, through matplotlib, in PNG and PDF files (:mod:`~sciml_bench.charts.raster`).

matplotlib is not the back end because of pages: for the 286 figures of the runs in ``results/`` it takes 14 times as
long as the writer here (10.8 ms and 0.8 ms each) and twice the bytes (10.7 KiB and 5.3 KiB each). Nothing here imports
it before a PNG or PDF file is written.
"""
