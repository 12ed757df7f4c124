"""The report of runs as one HTML file that opens by double click: no server, no network, nothing from data executed."""
