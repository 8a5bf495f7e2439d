"""The base class of all parts of the configuration."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


class Model(BaseModel):
    """Base of all configuration: frozen, unknown keys rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _empty_is_absent(cls, data: Any) -> Any:
        """A key without a value, for example with all its lines commented out, counts as absent. Unknown keys are kept
        so that they are reported: in `{token:x}`, YAML reads all of `token:x` as the key.
        """
        if data is None:
            return {}
        return (
            {k: v for k, v in data.items() if v is not None or k not in cls.model_fields}
            if isinstance(data, dict)
            else data
        )
