"""The demo: thousands of real files as jobs, a lane for each folder, two workers, and one of them killed in the middle.

`play.py` is the play as a whole; each other file answers one question of it.
"""
