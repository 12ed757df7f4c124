"""Tables as data, before they are printed."""
