"""Tables of earlier versions become those of today with everything that is in them."""

from __future__ import annotations

from sqlalchemy import inspect, text

from wayforward.serve.storage.database import Database
from wayforward.serve.storage.tables import Base, now

ROWS = (
    "insert into model_version (id, title, question, open_to_all, made) values ('m', 't', '{}', false, :at)",
    "insert into study (id, protocol, link, open, admitted, withdrawn, made) values ('s', 'p', 'l', false, 1, 0, :at)",
    "insert into participant (id, study_id, code, key, state, revision, standing, cell) "
    "values ('p', 's', 'c', :sealed, :sealed, 0, 'active', '')",
    'insert into "case" (id, code, model_id, key, state, revision, queries, own, made, seen) '
    "values ('c', 'd', 'm', :sealed, :sealed, 0, 0, false, :at, :at)",
    "insert into login (id, case_id, made, until) values ('1', 'c', :at, :at)",
    "insert into login (id, participant_id, made, until) values ('2', 'p', :at, :at)",
)  # fmt: skip


def test_what_was_stored_before_is_there_after(database):
    before = Database(database, migrate=False)
    before.migrate("0004")
    with before.engine.begin() as connection:
        for row in ROWS:
            connection.execute(text(row), {"at": now().replace(tzinfo=None), "sealed": b"x"})
    before.close()
    after = Database(database)
    with after.engine.begin() as connection:
        for table, count in (("study", 1), ("participant", 1), ('"case"', 1), ("login", 2)):
            assert connection.execute(text(f"select count(*) from {table}")).scalar() == count
        assert connection.execute(text("select closed is not null, strata from study")).one()[0]
        connection.execute(text("delete from participant"))  # a session goes with it again
        assert connection.execute(text("select count(*) from login")).scalar() == 1
        there = inspect(connection)
        for table in Base.metadata.tables.values():
            assert {column["name"] for column in there.get_columns(table.name)} == {
                c.name for c in table.columns
            }
    after.close()
