-- Schema 1. Instants are microseconds since 1970 (UTC), starts and days are seconds since 1970 (UTC).
-- What is unknown or does not apply is '' or 0, never NULL, where it is part of a key.

-- Writers, and the last batch of each: a batch that is written again is skipped.
CREATE TABLE writer (
    process  TEXT PRIMARY KEY,
    sequence INTEGER NOT NULL,
    written  INTEGER NOT NULL
) WITHOUT ROWID;

-- Counters of the store itself.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

-- Who: a crawler as a site knows it.
CREATE TABLE subject (
    id      INTEGER PRIMARY KEY,
    site    TEXT NOT NULL,
    client  TEXT NOT NULL,
    crawler TEXT NOT NULL,
    purpose TEXT NOT NULL,
    proof   TEXT NOT NULL,
    used    INTEGER NOT NULL, -- the last day on which something was counted for it
    UNIQUE (site, client, crawler, purpose, proof)
);

-- What: kind of event, action, notice, and the rule of which version it rests on.
CREATE TABLE decision (
    id      INTEGER PRIMARY KEY,
    kind    TEXT NOT NULL,
    action  TEXT NOT NULL,
    notice  TEXT NOT NULL,
    version TEXT NOT NULL,
    tokens  TEXT NOT NULL,
    line    INTEGER NOT NULL,
    rule    TEXT NOT NULL,
    used    INTEGER NOT NULL, -- as above
    UNIQUE (version, line, kind, action, notice, tokens, rule)
);

-- How often: per minute, hour or day (span in seconds). The sum over all spans is exact.
CREATE TABLE rollup (
    span     INTEGER NOT NULL,
    start    INTEGER NOT NULL,
    subject  INTEGER NOT NULL,
    decision INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    PRIMARY KEY (span, start, subject, decision)
) WITHOUT ROWID;

-- When a subject was first and last seen on a day.
CREATE TABLE presence (
    day     INTEGER NOT NULL,
    subject INTEGER NOT NULL,
    first   INTEGER NOT NULL,
    last    INTEGER NOT NULL,
    PRIMARY KEY (day, subject)
) WITHOUT ROWID;

-- Which targets, by what became of them: exact for the first 1,000 of a subject and day, the rest as '(other)'.
CREATE TABLE path (
    subject    INTEGER NOT NULL,
    day        INTEGER NOT NULL,
    target     TEXT NOT NULL,
    allowed    INTEGER NOT NULL,
    violations INTEGER NOT NULL,
    stale      INTEGER NOT NULL,
    variants   INTEGER NOT NULL,
    spoofed    INTEGER NOT NULL,
    refused    INTEGER NOT NULL,
    PRIMARY KEY (subject, day, target)
) WITHOUT ROWID;
CREATE TABLE path_day (
    day     INTEGER NOT NULL,
    subject INTEGER NOT NULL,
    targets INTEGER NOT NULL,
    PRIMARY KEY (day, subject)
) WITHOUT ROWID;

-- Names that neither the catalogue nor a robots.txt knows: the first 1,000 of a day.
CREATE TABLE stranger (
    day  INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (day, name)
) WITHOUT ROWID;

-- Time between two requests of a subject, as a histogram. Version 0.1 wrote it; nothing does any more, because the
-- times between requests at two gateways do not add up.
CREATE TABLE gap (
    day     INTEGER NOT NULL,
    subject INTEGER NOT NULL,
    bucket  INTEGER NOT NULL,
    count   INTEGER NOT NULL,
    PRIMARY KEY (day, subject, bucket)
) WITHOUT ROWID;

-- Events in full, a few for each subject and decision, as their lines of the journal.
CREATE TABLE sample (
    id       INTEGER PRIMARY KEY,
    subject  INTEGER NOT NULL,
    decision INTEGER NOT NULL,
    time     INTEGER NOT NULL,
    event    TEXT NOT NULL
);
CREATE INDEX sample_of ON sample (subject, decision, time);
CREATE INDEX sample_time ON sample (time);

-- The bytes of every robots.txt, once.
CREATE TABLE robots (
    sha256 BLOB PRIMARY KEY,
    bytes  BLOB NOT NULL
) WITHOUT ROWID;

-- When which of them was in force; until 0 means still. An empty digest is a site without a file.
CREATE TABLE version (
    id     INTEGER PRIMARY KEY,
    site   TEXT NOT NULL,
    sha256 BLOB NOT NULL,
    since  INTEGER NOT NULL,
    until  INTEGER NOT NULL
);
CREATE INDEX version_of ON version (site, since);

-- Who read which version since it came into force.
CREATE TABLE read (
    subject  INTEGER NOT NULL,
    version  TEXT NOT NULL,
    in_force INTEGER NOT NULL,
    host     TEXT NOT NULL,
    network  TEXT NOT NULL,
    first    INTEGER NOT NULL,
    last     INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    PRIMARY KEY (subject, version, in_force, host, network)
) WITHOUT ROWID;
CREATE INDEX read_version ON read (version, last);

-- What is missing above, by hour: 'details' and 'counts'.
CREATE TABLE loss (
    start INTEGER NOT NULL,
    kind  TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (start, kind)
) WITHOUT ROWID;
