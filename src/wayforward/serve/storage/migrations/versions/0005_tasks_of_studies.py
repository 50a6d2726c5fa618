"""Tasks of studies: a study has a model, and a participant a case about a made-up person."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Bring the tables to this version."""
    with op.batch_alter_table("study") as table:
        table.add_column(sa.Column("model_id", sa.String(64), nullable=True))
        table.create_foreign_key("fk_study_model", "model_version", ["model_id"], ["id"])
    with op.batch_alter_table("case") as table:
        table.add_column(sa.Column("participant_id", sa.String(22), nullable=True))
        table.create_index("ix_case_participant_id", ["participant_id"])
        table.create_foreign_key(
            "fk_case_participant", "participant", ["participant_id"], ["id"], ondelete="CASCADE"
        )


def downgrade() -> None:
    """Bring the tables to the version before."""
    with op.batch_alter_table("case") as table:
        table.drop_constraint("fk_case_participant", type_="foreignkey")
        table.drop_index("ix_case_participant_id")
        table.drop_column("participant_id")
    with op.batch_alter_table("study") as table:
        table.drop_constraint("fk_study_model", type_="foreignkey")
        table.drop_column("model_id")
