"""What all parts of the configuration have in common."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


class Model(BaseModel):
    """Base of all configuration: frozen, unknown keys rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _empty_is_absent(cls, data: Any) -> Any:
        """A key without a value, for example with all its lines commented out, counts as absent. An unknown one stays:
        `{token:x}` is a key that ends with the value.
        """
        if data is None:
            return {}
        return (
            {k: v for k, v in data.items() if v is not None or k not in cls.model_fields}
            if isinstance(data, dict)
            else data
        )
