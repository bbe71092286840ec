"""`echomq doctor`: what an operator or a newcomer should know of a server, each thing a finding.

`ask.py` is the only file that sends anything; it returns a `Told`. The files of findings judge that and send nothing.
`diagnosis.py` puts them in order.
"""
