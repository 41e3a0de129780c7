"""Tables of a PostgreSQL store, and their migrations.

`files` has run folders: plan, documents, results, logs, in pieces. The rest is the index. `tallies`
has number and time range of the points of each series; triggers update it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.core.errors import StoreError

if TYPE_CHECKING:
    import psycopg

# MIGRATIONS[n - 1] migrates version n - 1 to n. Released ones never change. Text is compared by
# bytes, as in SQLite.
MIGRATIONS = (
    """
CREATE TABLE runs (
    name text COLLATE "C" PRIMARY KEY, stamp text COLLATE "C" NOT NULL,
    made timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX runs_by_stamp ON runs (stamp, made);
CREATE INDEX runs_by_ending ON runs (reverse(name) COLLATE "C");
CREATE TABLE files (
    run text COLLATE "C" NOT NULL, path text COLLATE "C" NOT NULL, part integer NOT NULL,
    size bigint NOT NULL, data bytea, PRIMARY KEY (run, path, part));
CREATE TABLE series (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE, record text NOT NULL);
CREATE TABLE metrics (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL, unit text COLLATE "C" NOT NULL, UNIQUE (name, unit));
CREATE TABLE results (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE, run text COLLATE "C" NOT NULL,
    started text COLLATE "C" NOT NULL, status text NOT NULL, workload text NOT NULL,
    backend text NOT NULL, key text NOT NULL, label text NOT NULL, tags jsonb NOT NULL,
    host text NOT NULL, git_commit text COLLATE "C" NOT NULL, series integer NOT NULL);
CREATE INDEX results_by_start ON results (started, id);
CREATE INDEX results_by_run ON results (run);
CREATE INDEX results_by_series ON results (series);
CREATE INDEX results_by_label ON results (label) WHERE label <> '';
CREATE INDEX results_by_commit ON results (git_commit) WHERE git_commit <> '';
CREATE TABLE summaries (id text COLLATE "C" PRIMARY KEY, version integer NOT NULL,
    summary bytea NOT NULL);
CREATE TABLE points (
    series integer, metric integer, result bigint, value double precision NOT NULL,
    low double precision, high double precision, PRIMARY KEY (series, metric, result));
CREATE INDEX points_by_result ON points (result);
""",
    """
CREATE TABLE tallies (
    series integer, metric integer, count bigint NOT NULL, first text COLLATE "C" NOT NULL,
    last text COLLATE "C" NOT NULL, PRIMARY KEY (series, metric));
CREATE FUNCTION point_kept() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO tallies
        SELECT new.series, new.metric, 1, started, started FROM results WHERE number = new.result
        ON CONFLICT (series, metric) DO UPDATE SET count = tallies.count + 1,
            first = least(tallies.first, excluded.first),
            last = greatest(tallies.last, excluded.last);
    RETURN NULL;
END $$;
CREATE FUNCTION point_gone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE tallies SET count = count - 1 WHERE series = old.series AND metric = old.metric;
    RETURN NULL;
END $$;
CREATE TRIGGER point_kept AFTER INSERT ON points FOR EACH ROW EXECUTE FUNCTION point_kept();
CREATE TRIGGER point_gone AFTER DELETE ON points FOR EACH ROW EXECUTE FUNCTION point_gone();
INSERT INTO tallies
    SELECT points.series, metric, count(*), min(started), max(started)
    FROM points JOIN results ON results.number = points.result GROUP BY points.series, metric;
""",
)
VERSION = len(MIGRATIONS)
SCHEMA = "assay"  # own schema, so that a database may have other tables
_LOCK = 0x61737361  # advisory lock for migrations


def migrate(connection: psycopg.Connection[Any], upto: int = VERSION) -> None:
    """Migrate the tables to the current version; writes nothing if they are."""
    if _version(connection) == upto:
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        connection.execute("CREATE TABLE IF NOT EXISTS versions (version integer PRIMARY KEY)")
        for number in range(_version(connection) + 1, upto + 1):
            connection.execute(MIGRATIONS[number - 1])
            connection.execute("INSERT INTO versions VALUES (%s)", (number,))


def _version(connection: psycopg.Connection[Any]) -> int:
    table = connection.execute("SELECT to_regclass('versions') AS name").fetchone()
    if table is None or table["name"] is None:
        return 0
    row = connection.execute("SELECT coalesce(max(version), 0) AS version FROM versions").fetchone()
    version = int(row["version"]) if row else 0
    if version > VERSION:
        raise StoreError(
            f"The database has tables of version {version}, but this assay knows up to {VERSION}.",
            hint="Upgrade assay on this machine; the database is unchanged.",
        )
    return version
