"""Which text somebody agreed to."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Who agreed before texts were numbered is asked again."""
    with op.batch_alter_table("case") as table:
        table.add_column(sa.Column("consent_version", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Bring the tables to the version before."""
    with op.batch_alter_table("case") as table:
        table.drop_column("consent_version")
