"""The executable specification: every transition in plain Python on plain values.

Start reading at `queue`, then `lanes` and `settling`. The words of the protocol are used as they stand: `row`, `lane`,
the ring, step L, rule R. Nothing here does I/O and no clock moves by itself.
"""
