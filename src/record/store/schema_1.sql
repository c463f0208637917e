-- Schema 1. Instants are microseconds since 1970 (UTC), starts and days are seconds since 1970 (UTC).
-- What is unknown or does not apply is '' or 0, never NULL, where it is part of a key.

-- Writers, and the last batch of each: a batch that is written again is skipped. `written` is when all that the writer
-- had counted was last written.
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

-- Who: a crawler as a site knows it, as JSON: site, crawler, client, purpose, proof.
CREATE TABLE subject (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    used INTEGER NOT NULL -- the last day on which something was counted for it
);

-- What, as JSON: kind of event, action, notice, the group and the rule of which version it rests on, and by which method
-- the name was confirmed or contradicted.
CREATE TABLE decision (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    used INTEGER NOT NULL -- as above
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

-- Bytes of the bodies of answers to judged requests, by periods as in `rollup`.
CREATE TABLE sent (
    span    INTEGER NOT NULL,
    start   INTEGER NOT NULL,
    subject INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    PRIMARY KEY (span, start, subject)
) WITHOUT ROWID;

-- Events in full, as their lines of the journal: for each subject and decision the first ten, and the last ten.
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

-- Who read which version since it came into force. What the policy of the read was built from (`as_of`), the compiled
-- rules that were read (`rules`), the moment of the read (`at`), both on the clock that notice runs by, and the
-- group that was the reader's (`chosen`): its token, '*', or '(none)'; '' where that is not known.
CREATE TABLE read (
    subject  INTEGER NOT NULL,
    version  TEXT NOT NULL,
    in_force INTEGER NOT NULL,
    host     TEXT NOT NULL,
    network  TEXT NOT NULL,
    chosen   TEXT NOT NULL,
    first    INTEGER NOT NULL,
    last     INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    as_of    INTEGER NOT NULL,
    rules    TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (subject, version, in_force, host, network, chosen)
) WITHOUT ROWID;
CREATE INDEX read_version ON read (version, last);

-- What is missing: requests, details or reads, why, at which site ('' for all), and of which time. How much, or NULL where
-- nobody knows. Of reads it is also what shows that they may have gone unseen.
CREATE TABLE missing (
    what   TEXT NOT NULL,
    reason TEXT NOT NULL,
    site   TEXT NOT NULL,
    since  INTEGER NOT NULL,
    until  INTEGER NOT NULL,
    count  INTEGER,
    PRIMARY KEY (what, reason, site, since)
) WITHOUT ROWID;

-- The time that what is old is removed by, with the boot of the machine and the uptime at which it was that.
CREATE TABLE clock (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    boot     TEXT NOT NULL,
    uptime   INTEGER NOT NULL,
    time     INTEGER NOT NULL
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
