"""Tables as data: what stands in them, before they are printed."""
