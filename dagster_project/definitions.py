"""The code location: everything below `defs/`."""

from pathlib import Path

from dagster import Definitions, definitions, load_from_defs_folder


@definitions
def defs() -> Definitions:
    """All definitions. Loading them opens no database and needs no environment variable."""
    return load_from_defs_folder(path_within_project=Path(__file__).parent)
