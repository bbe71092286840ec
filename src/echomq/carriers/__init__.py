"""Ways to put a `Call` on the wire. Nothing here does I/O.

A driver makes one `Carrier` for each connection and asks it how to carry a call there.
"""
