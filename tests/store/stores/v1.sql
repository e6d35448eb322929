BEGIN TRANSACTION;
CREATE TABLE blob (
    hash TEXT PRIMARY KEY,                  -- SHA-256
    data BLOB NOT NULL
) STRICT;
INSERT INTO "blob" VALUES('efd4258ad1e4f874150cef97aff393b412ee5ae078a4b33e627c2423178e0096',X'7B22637075223A20226370752D31227D');
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
INSERT INTO "candidate" VALUES('gray-brace',1,'97ddd769bd39c1f38f461b25c7daf9335514567c0d9441d24658aecac63dda62','start','split m by 5','{"moves":[{"move":"split","loop":"m.0","size":5}]}','ok','',1.79613764243760943412e+09);
INSERT INTO "candidate" VALUES('gray-brace',2,'a973aa3cae6c1b4a7bb6ea8e0d63aed0646aaa856906534a73fa0ffa7e00c1a2','start','split m by 6','{"moves":[{"move":"split","loop":"m.0","size":6}]}','ok','',1.79613764243760943412e+09);
INSERT INTO "candidate" VALUES('hale-teak',1,'97ddd769bd39c1f38f461b25c7daf9335514567c0d9441d24658aecac63dda62','start','split m by 5','{"moves":[{"move":"split","loop":"m.0","size":5}]}','ok','',1.79613764243666553495e+09);
INSERT INTO "candidate" VALUES('hale-teak',2,'a973aa3cae6c1b4a7bb6ea8e0d63aed0646aaa856906534a73fa0ffa7e00c1a2','start','split m by 6','{"moves":[{"move":"split","loop":"m.0","size":6}]}','ok','',1.79613764243666553495e+09);
INSERT INTO "candidate" VALUES('hale-teak',3,'34d991d29b157ec782f8341c3f78ae7fb4c3c8087aedbb2b3a98b2231b4a558b','start','split m by 7','{"moves":[{"move":"split","loop":"m.0","size":7}]}','crash','signal 11',1.79613764243666553495e+09);
CREATE TABLE measurement (
    run   TEXT NOT NULL,
    seq   INTEGER NOT NULL,
    kind  TEXT NOT NULL CHECK (kind IN ('quick', 'final')),
    value TEXT NOT NULL,                    -- JSON: unit, samples, protocol, machine
    PRIMARY KEY (run, seq, kind),
    FOREIGN KEY (run, seq) REFERENCES candidate (run, seq) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "measurement" VALUES('gray-brace',1,'quick','{"unit":"s","samples":[4.9999999999999996e-06,5.050000000000001e-06],"protocol":"warm/1","machine":"cpu-1"}');
INSERT INTO "measurement" VALUES('gray-brace',2,'quick','{"unit":"s","samples":[6e-06,6.0600000000000004e-06],"protocol":"warm/1","machine":"cpu-1"}');
INSERT INTO "measurement" VALUES('hale-teak',1,'final','{"unit":"s","samples":[5e-06,5.1e-06],"protocol":"final/1","machine":"cpu-1"}');
INSERT INTO "measurement" VALUES('hale-teak',1,'quick','{"unit":"s","samples":[4.9999999999999996e-06,5.050000000000001e-06],"protocol":"warm/1","machine":"cpu-1"}');
INSERT INTO "measurement" VALUES('hale-teak',2,'quick','{"unit":"s","samples":[6e-06,6.0600000000000004e-06],"protocol":"warm/1","machine":"cpu-1"}');
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
INSERT INTO "run" VALUES('hale-teak','tune','mk,kn->mn m=64 n=80 k=96','8f95bba743697b02b12c0ccb9d5afd17294a48eea53dfe37e0fec9b501e7d1a3','0f276ded9043d347ef884b27f2329146ee0753f85150ec411a85ee4e6bac1d7e','standard',1,'{"run":{"id":"ad87c7916d3febd97e87b5642c617492461477af3a2879175557924f6dbc486e","verb":"tune","problem":{"contraction":"mk,kn->mn","sizes":"m=64 n=80 k=96"},"target":{"isa":"avx2","threads":1},"search":"local","budget":{"seconds_s":1.0,"evaluations":null,"tokens":null,"usd":null},"seed":0,"options":{"space":"full"}},"title":"mk,kn->mn m=64 n=80 k=96","effort":"standard","explicit":[]}','finished','{"sentence":"77 µs"}','{"told":3}',3,'0.1.0',3,5.025e-06,'s',5.11271000050328439101e-04,1.79613764243616795537e+09,1.79613764243709087367e+09,1.79613764243708324435e+09,'cpu-1','0.1.0',NULL);
INSERT INTO "run" VALUES('gray-brace','tune','mk,kn->mn m=7 n=8 k=9','2a7220aca5e000cd44d13b933f0f07f2e20aa6bcdcb01cbdb71db6f3244629c8','133f21c9f6eb908d9e8596698c9b3506d02666c0e74636c6206cfd8b5c96b5ed','standard',1,'{"run":{"id":"85f2effab10eae3d3eabab38e83c2168d380d10b9e505def3099c55e26cfb844","verb":"tune","problem":{"contraction":"mk,kn->mn","sizes":"m=7 n=8 k=9"},"target":{"isa":"avx2","threads":1},"search":"local","budget":{"seconds_s":1.0,"evaluations":null,"tokens":null,"usd":null},"seed":0,"options":{"space":"full"}},"title":"mk,kn->mn m=7 n=8 k=9","effort":"standard","explicit":[]}','interrupted',NULL,'{"told":2}',2,'0.1.0',2,5.025e-06,'s',1.4385400027094874531e-04,1.79613764243736863139e+09,1.79613764243771862989e+09,NULL,'cpu-1','0.1.0',NULL);
CREATE TABLE run_blob (
    run  TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    hash TEXT NOT NULL REFERENCES blob (hash),
    PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;
INSERT INTO "run_blob" VALUES('hale-teak','machine','efd4258ad1e4f874150cef97aff393b412ee5ae078a4b33e627c2423178e0096');
CREATE INDEX run_by_problem ON run (problem_key, status);
CREATE INDEX run_by_key ON run (key, status);
CREATE INDEX run_blob_by_hash ON run_blob (hash);
COMMIT;
