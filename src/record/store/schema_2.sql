-- Schema 2, on top of schema 1.

-- Reads in the order in which they came, whatever a clock said (`sequence`), the compiled rules that were read
-- (`rules`, '' where that is not known), the moment on the clock that notice runs by (`at`), and the group that was the
-- reader's (`chosen`): its token, '*', or '(none)'; '' where that is not known.
CREATE TABLE read_2 (
    subject  INTEGER NOT NULL,
    version  TEXT NOT NULL,
    in_force INTEGER NOT NULL,
    host     TEXT NOT NULL,
    network  TEXT NOT NULL,
    chosen   TEXT NOT NULL DEFAULT '',
    first    INTEGER NOT NULL,
    last     INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    sequence INTEGER NOT NULL DEFAULT 0,
    rules    TEXT NOT NULL DEFAULT '',
    at       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (subject, version, in_force, host, network, chosen)
) WITHOUT ROWID;
INSERT INTO read_2 (subject, version, in_force, host, network, first, last, count)
SELECT subject, version, in_force, host, network, first, last, count FROM read;
DROP TABLE read;
ALTER TABLE read_2 RENAME TO read;
CREATE INDEX read_version ON read (version, last);

-- 1 from a process's start to its clean end. `written` is when all that it had counted was last written.
ALTER TABLE writer ADD COLUMN is_open INTEGER NOT NULL DEFAULT 0;

-- Processes that ended without writing what they had counted last: after `since`, and before `until`.
CREATE TABLE unclean (
    since INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (since, until)
) WITHOUT ROWID;

-- What is missing, by the period it is missing of (span in seconds): 'details', 'counts' and 'reads' found no room or
-- could not be written; 'removed' and 'expired' are requests whose counts the size cap or the retention took.
CREATE TABLE loss_2 (
    start INTEGER NOT NULL,
    span  INTEGER NOT NULL,
    kind  TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (start, span, kind)
) WITHOUT ROWID;
INSERT INTO loss_2 (start, span, kind, count) SELECT start, 3600, kind, count FROM loss;
DROP TABLE loss;
ALTER TABLE loss_2 RENAME TO loss;

-- Which network an event came from (a /24 or a /48 as a number), so that one sender cannot take the places of all others;
-- 0 where it is unknown or may not be kept.
ALTER TABLE sample ADD COLUMN network INTEGER NOT NULL DEFAULT 0;

-- By which method the name was confirmed or contradicted: 'ranges', 'rdns' or 'signature'; '' where that is not known.
CREATE TABLE decision_2 (
    id       INTEGER PRIMARY KEY,
    kind     TEXT NOT NULL,
    action   TEXT NOT NULL,
    notice   TEXT NOT NULL,
    version  TEXT NOT NULL,
    tokens   TEXT NOT NULL,
    line     INTEGER NOT NULL,
    rule     TEXT NOT NULL,
    proof_by TEXT NOT NULL,
    used     INTEGER NOT NULL,
    UNIQUE (version, line, kind, action, notice, tokens, rule, proof_by)
);
INSERT INTO decision_2 (id, kind, action, notice, version, tokens, line, rule, proof_by, used)
SELECT id, kind, action, notice, version, tokens, line, rule, '', used FROM decision;
DROP TABLE decision;
ALTER TABLE decision_2 RENAME TO decision;

-- Bytes of the bodies of answers to judged requests, by periods as in `rollup`. What came before this schema has none.
CREATE TABLE sent (
    span    INTEGER NOT NULL,
    start   INTEGER NOT NULL,
    subject INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    PRIMARY KEY (span, start, subject)
) WITHOUT ROWID;

-- Times in which reads of robots.txt may have gone unseen, by site ('' for all) and what showed it. Schema 1 knew one
-- time, of all sites, and no more than that a trusted proxy stood in front. Reads that were lost it counted as details.
CREATE TABLE unseen_reads (
    site   TEXT NOT NULL,
    reason TEXT NOT NULL,
    first  INTEGER NOT NULL,
    last   INTEGER NOT NULL,
    PRIMARY KEY (site, reason, first)
) WITHOUT ROWID;
INSERT INTO unseen_reads (site, reason, first, last)
SELECT '', 'trusted-proxy', 0, value FROM meta WHERE name = 'partial_reads_until';
DELETE FROM meta WHERE name = 'partial_reads_until';
INSERT INTO unseen_reads (site, reason, first, last)
SELECT '', 'lost', start * 1000000, (start + 3600) * 1000000 FROM loss WHERE kind = 'details';

-- The last time that was plausible, in the boot of the machine and at the uptime at which it was; how far the time of
-- day is ahead of it since, and for how long (all in microseconds).
CREATE TABLE clock (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    boot     TEXT NOT NULL,
    uptime   INTEGER NOT NULL,
    time     INTEGER NOT NULL,
    ahead    INTEGER NOT NULL,
    waited   INTEGER NOT NULL
);

-- Whether what is written is meant for a fleet, too ('outbox' is the number of the last piece of it), and what tells
-- this store from every other one.
INSERT INTO meta (name, value) VALUES ('is_shared', 0), ('outbox', 0), ('store_id', abs(random() / 2));

-- What is on its way to a fleet. A batch that is written adds a piece; pieces are sealed into one some seconds later, and
-- only what is sealed is sent. It is kept for a day after the fleet has taken it.
CREATE TABLE outbox (
    last    INTEGER PRIMARY KEY,
    first   INTEGER NOT NULL,
    written INTEGER NOT NULL,
    taken   INTEGER NOT NULL, -- when the fleet had taken it; 0 while it has not
    sealed  INTEGER NOT NULL,
    body    BLOB NOT NULL
);
CREATE INDEX outbox_open ON outbox (first) WHERE sealed = 0;
