"""Pools of studies that came by a file."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Bring the tables to this version."""
    with op.batch_alter_table("study") as table:
        table.add_column(sa.Column("pool", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    """Bring the tables to the version before."""
    with op.batch_alter_table("study") as table:
        table.drop_column("pool")
