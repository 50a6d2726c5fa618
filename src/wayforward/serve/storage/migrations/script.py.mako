"""${message}."""

import sqlalchemy as sa
from alembic import op

from wayforward.serve.storage.tables import Moment

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Bring the tables to this version."""
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """Bring the tables to the version before."""
    ${downgrades if downgrades else "pass"}
