"""Counts that stay when cases are deleted; cases that people made themselves."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """The cases that are there are counted as made."""
    with op.batch_alter_table("case") as table:
        table.add_column(sa.Column("own", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_table(
        "tally",
        sa.Column(
            "model_id", sa.String(64), sa.ForeignKey("model_version.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("what", sa.String(30), primary_key=True),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("count", sa.Integer(), nullable=False),
    )
    op.execute(
        "INSERT INTO tally (model_id, what, day, count) "
        "SELECT model_id, 'made', '', count(*) FROM \"case\" GROUP BY model_id"
    )


def downgrade() -> None:
    """Bring the tables to the version before."""
    op.drop_table("tally")
    with op.batch_alter_table("case") as table:
        table.drop_column("own")
