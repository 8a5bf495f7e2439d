"""All layouts, from the modules of this folder."""

from __future__ import annotations

import importlib
import pkgutil

from tests import layouts
from tests.layouts.layout import Layout


def all_layouts() -> tuple[Layout, ...]:
    """In the order of their engines and names, which are unique."""
    found: list[Layout] = []
    for module in pkgutil.iter_modules(layouts.__path__):
        found += getattr(importlib.import_module(f"tests.layouts.{module.name}"), "LAYOUTS", ())
    names = [layout.name for layout in found]
    assert len(names) == len(set(names)), sorted({name for name in names if names.count(name) > 1})
    return tuple(sorted(found, key=lambda layout: (layout.engine, layout.name)))
