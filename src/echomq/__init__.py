"""echomq: a job queue for Python on Valkey."""
