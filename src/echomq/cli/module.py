"""`echomq module path`: where the server's module of this installation is."""

from echomq.cli.exits import Exit
from echomq.cli.render import View
from echomq.embedded.module import module_path

__all__ = ["ABSENT", "show_path"]

ABSENT = (
    "echomq: this installation has no module, since no C compiler was there when it was built. Everything works through"
    " scripts; for the module install a compiler and then echomq once more, from its sources"
)


def show_path(view: View) -> int:
    """Show the path of the module, as ``--loadmodule`` takes it; the exit is NOT_SO when there is none."""
    path = module_path()
    if path is None:
        view.say(ABSENT)
        return Exit.NOT_SO
    if view.is_json:
        view.record({"path": str(path)})
    else:
        view.lines({}, "path", [str(path)])
    return Exit.DONE
