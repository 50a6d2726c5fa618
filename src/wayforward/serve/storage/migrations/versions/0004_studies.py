"""Studies, their participants, and completion codes apart from both."""

import sqlalchemy as sa
from alembic import op

from wayforward.serve.storage.tables import Moment

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Bring the tables to this version."""
    op.create_table(
        "study",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("protocol", sa.Text(), nullable=False),
        sa.Column("link", sa.String(22), nullable=False, unique=True),
        sa.Column("open", sa.Boolean(), nullable=False),
        sa.Column("admitted", sa.Integer(), nullable=False),
        sa.Column("withdrawn", sa.Integer(), nullable=False),
        sa.Column("made", Moment(), nullable=False),
    )
    op.create_table(
        "participant",
        sa.Column("id", sa.String(22), primary_key=True),
        sa.Column("study_id", sa.String(64), sa.ForeignKey("study.id"), nullable=False, index=True),
        sa.Column("code", sa.String(64), nullable=False, unique=True),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("standing", sa.String(10), nullable=False),
        sa.Column("cell", sa.String(32), nullable=False),
    )
    op.create_table(
        "completion",
        sa.Column("code", sa.String(20), primary_key=True),
        sa.Column("study_id", sa.String(64), sa.ForeignKey("study.id"), nullable=False),
    )
    with op.batch_alter_table("login") as table:
        table.add_column(sa.Column("participant_id", sa.String(22), nullable=True))
        table.create_foreign_key(
            "fk_login_participant", "participant", ["participant_id"], ["id"], ondelete="CASCADE"
        )


def downgrade() -> None:
    """Bring the tables to the version before."""
    with op.batch_alter_table("login") as table:
        table.drop_constraint("fk_login_participant", type_="foreignkey")
        table.drop_column("participant_id")
    for name in ("completion", "participant", "study"):
        op.drop_table(name)
