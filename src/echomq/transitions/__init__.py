"""The moves of a job: for each one a typed handle (`<name>.py`) and its Lua body beside it (`<name>.lua`).

A handle does no I/O. It turns typed arguments into a `Call` and the reply of the server into an answer.
"""
