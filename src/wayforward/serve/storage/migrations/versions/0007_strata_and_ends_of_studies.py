"""Studies count by stratum, and participations of closed ones are deleted after their time."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

from wayforward.serve.storage.tables import Moment

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """For a study that is closed the days begin now."""
    with op.batch_alter_table("study") as table:
        table.add_column(sa.Column("strata", sa.JSON(), nullable=False, server_default="{}"))
        table.add_column(sa.Column("closed", Moment(), nullable=True))
        table.add_column(sa.Column("expired", sa.Integer(), nullable=False, server_default="0"))
    study = sa.table("study", sa.column("open", sa.Boolean()), sa.column("closed", Moment()))
    op.execute(study.update().where(study.c.open.is_(False)).values(closed=datetime.now(UTC)))


def downgrade() -> None:
    """Bring the tables to the version before."""
    with op.batch_alter_table("study") as table:
        for name in ("strata", "closed", "expired"):
            table.drop_column(name)
