"""The demo: thousands of real files as jobs, two workers, and one of them killed in the middle.

`run.py` is the play as a whole; each other file answers one question of it.
"""
