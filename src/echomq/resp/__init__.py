"""RESP: one connection as a state machine, without a socket."""
