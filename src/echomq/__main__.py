"""`python -m echomq`: the command `echomq`, for whoever has several Pythons and wants the one that is named."""

from echomq.cli.main import run

if __name__ == "__main__":
    run()
