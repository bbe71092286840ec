"""The command `echomq`. Noun, then verb: one file per noun holds what its verbs do, as plain functions.

`main.py` is the entry, `_tree.py` declares the arguments, `exits.py` what the exit codes mean, `render.py` writes.
"""
