-- Runs, what they tried, what was measured, and blobs by content hash. Times are seconds since 1970, UTC.

CREATE TABLE run (
    id          TEXT PRIMARY KEY,
    verb        TEXT NOT NULL,
    title       TEXT NOT NULL,
    problem_key TEXT NOT NULL,              -- results are exchangeable where this is equal
    key         TEXT NOT NULL,              -- runs are equal where this is equal
    effort      TEXT NOT NULL,
    by_effort   INTEGER NOT NULL,           -- 0 where search or budget was the user's choice
    request     TEXT NOT NULL,              -- JSON
    status      TEXT NOT NULL CHECK (status IN ('running', 'finished', 'interrupted')),
    result      TEXT,                       -- JSON
    state       TEXT,                       -- JSON of the search after `state_seq` trials
    state_seq   INTEGER NOT NULL DEFAULT 0,
    state_by    TEXT,                       -- the version of strop that wrote it
    trials      INTEGER NOT NULL DEFAULT 0,
    best        REAL,                       -- the least median so far, of the final measurement once there is one
    unit        TEXT,
    spent_s     REAL NOT NULL DEFAULT 0,    -- time under an owner, without the pauses
    created     REAL NOT NULL,
    updated     REAL NOT NULL,              -- also the owner's heartbeat
    finished    REAL,
    machine     TEXT NOT NULL,
    version     TEXT NOT NULL,              -- of strop
    owner       TEXT                        -- mark of the process that works on it
) STRICT;

CREATE INDEX run_by_problem ON run (problem_key, status);
CREATE INDEX run_by_key ON run (key, status);

CREATE TABLE candidate (
    run     TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    seq     INTEGER NOT NULL,               -- from 1, in the order in which trials ended
    hash    TEXT NOT NULL,                  -- content hash of the payload
    parent  TEXT,
    plan    TEXT NOT NULL,
    payload TEXT NOT NULL,                  -- JSON
    verdict TEXT NOT NULL,
    detail  TEXT NOT NULL,                  -- why, in a sentence
    created REAL NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE measurement (
    run   TEXT NOT NULL,
    seq   INTEGER NOT NULL,
    kind  TEXT NOT NULL CHECK (kind IN ('quick', 'final')),
    value TEXT NOT NULL,                    -- JSON: unit, samples, protocol, machine
    PRIMARY KEY (run, seq, kind),
    FOREIGN KEY (run, seq) REFERENCES candidate (run, seq) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE blob (
    hash TEXT PRIMARY KEY,                  -- SHA-256
    data BLOB NOT NULL
) STRICT;

CREATE TABLE run_blob (
    run  TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    hash TEXT NOT NULL REFERENCES blob (hash),
    PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX run_blob_by_hash ON run_blob (hash);
