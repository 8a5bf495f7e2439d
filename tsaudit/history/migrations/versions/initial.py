"""The first version of the history. There is nothing before it to migrate: new histories are created from
`history.schema`.
"""

from __future__ import annotations

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change nothing."""
