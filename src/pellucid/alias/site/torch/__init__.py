"""torch is Pellucid here: ``python -m pellucid.alias status`` says so, too."""

try:
    from pellucid.alias.finder import become_torch
except ModuleNotFoundError as error:
    if error.name != "pellucid":
        raise
    raise ImportError(
        "torch is an alias of Pellucid in this environment, and Pellucid is not "
        "installed\nInstall it (pip install pellucid), or remove the alias (pip "
        "uninstall torch).",
        name="torch",
    ) from None

become_torch()
