-- Schema 1. Members call functions and read; no member writes a table. Instants are microseconds since 1970 (UTC),
-- starts and days are seconds since 1970 (UTC), as in the stores of the members.

-- Functions run with the rights of a role that nobody logs in as. They name pg_temp last: unnamed it comes first, and
-- members may put what they like into it.
CREATE SCHEMA robots_gateway AUTHORIZATION robots_gateway_owner;
SET LOCAL ROLE robots_gateway_owner;
REVOKE ALL ON SCHEMA robots_gateway FROM PUBLIC;

-- One row. `stamp` numbers everything that happens to versions and members, in the order in which it is committed.
CREATE TABLE robots_gateway.fleet (
    is_one    boolean PRIMARY KEY DEFAULT true CHECK (is_one),
    schema    integer NOT NULL,
    stamp     bigint NOT NULL DEFAULT 0,
    retention interval NOT NULL DEFAULT '90 days',
    kept_on   date
);
INSERT INTO robots_gateway.fleet (schema) VALUES (1);

-- The members, by the ids of their stores. `rows` says of each host what a member serves or is about to serve, and what it
-- served until how long before it `said` so; `changed` is the stamp at which that last changed; up to the stamp `applied` the member knows everything.
CREATE TABLE robots_gateway.member (
    store        text PRIMARY KEY,
    role         name DEFAULT session_user, -- nobody's after it was forgotten
    name         text NOT NULL,
    process      text NOT NULL,
    started      bigint NOT NULL,
    version      text NOT NULL,
    beats        bigint NOT NULL DEFAULT 0,
    seen         timestamptz NOT NULL,
    lease        interval NOT NULL,
    notice       interval NOT NULL DEFAULT '1 day',
    gone         timestamptz,
    gone_because text,
    ended        timestamptz, -- when it served nothing any more: one that is only silent may for as long as its notice
    generation   bigint NOT NULL DEFAULT 0,
    error        text,
    outbox       bigint NOT NULL DEFAULT 0,
    outbox_since bigint NOT NULL DEFAULT 0,
    revision     bigint NOT NULL DEFAULT 0,
    rows         jsonb NOT NULL DEFAULT '{}',
    said         timestamptz NOT NULL,
    waived       jsonb NOT NULL DEFAULT '[]', -- the operator's words against fair notice
    serving      jsonb NOT NULL DEFAULT '[]',
    changed      bigint NOT NULL DEFAULT 0,
    applied      bigint NOT NULL DEFAULT 0,
    -- It cannot note what the others serve, and accuses nobody: nobody waits for it.
    is_deaf      boolean NOT NULL DEFAULT false
) WITH (fillfactor = 40);

-- How far the batches of each store are counted: up to the piece with this number.
CREATE TABLE robots_gateway.writer (
    store    text PRIMARY KEY,
    role     name DEFAULT session_user, -- nobody's after it was forgotten
    sequence bigint NOT NULL,
    -- A digest of the last batch: a store that was copied back has another one in its place.
    piece    text NOT NULL DEFAULT '',
    taken    timestamptz NOT NULL,
    -- Pieces that were lost before they could be counted, and when that was found.
    skipped  bigint NOT NULL DEFAULT 0,
    skipped_at timestamptz
) WITH (fillfactor = 40);

-- Who and what, as JSON, as in the stores of the members.
CREATE TABLE robots_gateway.subject (
    id   uuid PRIMARY KEY,
    name jsonb NOT NULL,
    used date NOT NULL DEFAULT current_date
);
CREATE TABLE robots_gateway.decision (
    id   uuid PRIMARY KEY,
    name jsonb NOT NULL,
    used date NOT NULL DEFAULT current_date
);

-- Counts by minute, hour or day (span in seconds), of what was answered 429 for its pace by ten seconds. Members write to one of 16 slots each, so that they rarely wait for
-- one another; the sum over all slots and spans is exact. A partition is a day.
CREATE TABLE robots_gateway.rollup (
    span     integer NOT NULL,
    start    bigint NOT NULL,
    subject  uuid NOT NULL,
    decision uuid NOT NULL,
    slot     smallint NOT NULL,
    count    bigint NOT NULL,
    PRIMARY KEY (start, span, subject, decision, slot)
) PARTITION BY RANGE (start);
-- Bytes of the bodies of answers, by the same periods.
CREATE TABLE robots_gateway.sent (
    span    integer NOT NULL,
    start   bigint NOT NULL,
    subject uuid NOT NULL,
    slot    smallint NOT NULL,
    bytes   bigint NOT NULL,
    PRIMARY KEY (start, span, subject, slot)
) PARTITION BY RANGE (start);
CREATE TABLE robots_gateway.presence (
    day     bigint NOT NULL,
    subject uuid NOT NULL,
    slot    smallint NOT NULL,
    first   bigint NOT NULL,
    last    bigint NOT NULL,
    PRIMARY KEY (day, subject, slot)
) PARTITION BY RANGE (day);
CREATE TABLE robots_gateway.path (
    day        bigint NOT NULL,
    subject    uuid NOT NULL,
    target_id  uuid NOT NULL, -- of a digest of the target, which may be longer than a row of an index
    target     text NOT NULL,
    slot       smallint NOT NULL,
    allowed    bigint NOT NULL,
    violations bigint NOT NULL,
    stale      bigint NOT NULL,
    variants   bigint NOT NULL,
    spoofed    bigint NOT NULL,
    refused    bigint NOT NULL,
    PRIMARY KEY (day, subject, target_id, slot)
) PARTITION BY RANGE (day);

-- Who read which version where. `stamp` is one that had been given before the last of these reads; `noted` is the
-- transaction that last brought news of them.
CREATE TABLE robots_gateway.read (
    store    text NOT NULL,
    subject  uuid NOT NULL,
    version  text NOT NULL,
    in_force bigint NOT NULL,
    host     text NOT NULL,
    network  text NOT NULL,
    chosen   text NOT NULL,
    rules    text NOT NULL,
    first    bigint NOT NULL,
    last     bigint NOT NULL,
    count    bigint NOT NULL,
    stamp    bigint NOT NULL,
    noted    xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (store, subject, version, in_force, host, network, chosen)
);
CREATE INDEX read_noted ON robots_gateway.read (noted);

-- Files of robots.txt by their SHA-256, and when which of them was in force at a site of a member.
CREATE TABLE robots_gateway.robots (
    sha256 text PRIMARY KEY,
    bytes  text NOT NULL, -- base64
    used   date NOT NULL DEFAULT current_date
);
CREATE TABLE robots_gateway.version (
    store  text NOT NULL,
    site   text NOT NULL,
    sha256 text NOT NULL,
    since  bigint NOT NULL,
    until  bigint NOT NULL,
    PRIMARY KEY (store, site, since, sha256)
);

-- What is missing, by the stores that told of it: as in a store.
CREATE TABLE robots_gateway.missing (
    store  text NOT NULL,
    what   text NOT NULL,
    reason text NOT NULL,
    site   text NOT NULL,
    since  bigint NOT NULL,
    until  bigint NOT NULL,
    count  bigint,
    PRIMARY KEY (store, what, reason, site, since)
);

-- What was published: each generation is a whole document.
CREATE TABLE robots_gateway.generation (
    number    bigint PRIMARY KEY,
    stamp     bigint NOT NULL,
    published timestamptz NOT NULL,
    by        name NOT NULL DEFAULT session_user,
    document  text NOT NULL,
    signature text NOT NULL
);

-- Stamps of a database that was promoted or restored are later than every one that was given before.
-- These are called by functions that set the search path, and by nobody else; PL/pgSQL keeps their plans.
CREATE FUNCTION robots_gateway.stamp_floor() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint << 48;
END $$;
CREATE FUNCTION robots_gateway.stamp() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT greatest(stamp, robots_gateway.stamp_floor()) FROM robots_gateway.fleet);
END $$;
-- The row stays locked until the transaction ends, so that stamps become visible in their order.
CREATE FUNCTION robots_gateway.next_stamp() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    given bigint;
BEGIN
    UPDATE robots_gateway.fleet SET stamp = greatest(stamp, robots_gateway.stamp_floor()) + 1 RETURNING stamp INTO given;
    RETURN given;
END $$;

-- For how long what a silent member served counts: as long as it or anybody who accuses gives notice.
CREATE FUNCTION robots_gateway.held(own interval) RETURNS interval LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN greatest(own, (SELECT max(notice) FROM robots_gateway.member WHERE gone IS NULL));
END $$;

CREATE FUNCTION robots_gateway.slot(store text) RETURNS smallint
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$ SELECT (hashtext(store) & 15)::smallint $$;

-- A partition for each table and day, made when it is needed first. It is attached, which waits for nobody who reads or
-- writes the others. A minute's row is counted up with each batch of that minute: room in its page lets that touch no
-- index, which writes 0.6 of the WAL.
CREATE FUNCTION robots_gateway.need_day(start bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    low bigint := start - mod(start, 86400);
    part text;
    name text;
BEGIN
    FOREACH part IN ARRAY ARRAY['rollup', 'sent', 'presence', 'path'] LOOP
        name := part || '_' || low;
        CONTINUE WHEN to_regclass(format('robots_gateway.%I', name)) IS NOT NULL;
        PERFORM pg_advisory_xact_lock(hashtext('robots_gateway.need_day'));
        -- What to_regclass remembers is older than the lock.
        CONTINUE WHEN EXISTS (SELECT FROM pg_class
            WHERE relname = name AND relnamespace = 'robots_gateway'::regnamespace);
        EXECUTE format('CREATE TABLE robots_gateway.%I (LIKE robots_gateway.%I INCLUDING ALL) WITH (fillfactor = %s)',
            name, part, CASE part WHEN 'path' THEN 80 ELSE 50 END);
        EXECUTE format('ALTER TABLE robots_gateway.%I ATTACH PARTITION robots_gateway.%I FOR VALUES FROM (%s) TO (%s)',
            part, name, low, low + 86400);
    END LOOP;
END $$;

-- Takes a batch of a store: moves its mark from the piece before `first` to `last`, and counts the rows only if it did.
-- Gives the mark.
CREATE FUNCTION robots_gateway.take(p_store text, p_first bigint, p_last bigint, p_piece text, p_rows jsonb) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    own smallint := robots_gateway.slot(p_store);
    item jsonb;
    mark bigint;
BEGIN
    INSERT INTO robots_gateway.writer (store, sequence, taken) VALUES (p_store, 0, clock_timestamp())
    ON CONFLICT DO NOTHING;
    UPDATE robots_gateway.writer SET sequence = p_last, piece = p_piece, taken = clock_timestamp(), role = session_user
    WHERE store = p_store AND sequence = p_first - 1 AND p_last >= p_first AND coalesce(role, session_user) = session_user;
    IF NOT FOUND THEN
        SELECT sequence INTO mark FROM robots_gateway.writer
        WHERE store = p_store AND coalesce(role, session_user) = session_user;
        IF mark IS NULL THEN
            RAISE EXCEPTION 'store % belongs to another user', p_store USING ERRCODE = 'RG001';
        END IF;
        RETURN mark;
    END IF;
    PERFORM robots_gateway.need_day(days.start) FROM (
        SELECT DISTINCT (e->0->>1)::bigint / 86400 * 86400 AS start FROM jsonb_array_elements(p_rows->'rollups') e
        UNION SELECT DISTINCT (e->0->>1)::bigint / 86400 * 86400 FROM jsonb_array_elements(p_rows->'sent') e
        UNION SELECT DISTINCT (e->0->>0)::bigint FROM jsonb_array_elements(p_rows->'presence') e
        UNION SELECT DISTINCT (e->0->>0)::bigint FROM jsonb_array_elements(p_rows->'paths') e) AS days;
    INSERT INTO robots_gateway.subject (id, name)
    SELECT key::uuid, value FROM jsonb_each(p_rows->'subjects') ORDER BY key
    ON CONFLICT (id) DO UPDATE SET used = current_date WHERE subject.used < current_date;
    INSERT INTO robots_gateway.decision (id, name)
    SELECT key::uuid, value FROM jsonb_each(p_rows->'decisions') ORDER BY key
    ON CONFLICT (id) DO UPDATE SET used = current_date WHERE decision.used < current_date;
    INSERT INTO robots_gateway.rollup AS known (span, start, subject, decision, slot, count)
    SELECT (e->0->>0)::integer, (e->0->>1)::bigint, (e->0->>2)::uuid, (e->0->>3)::uuid, own, (e->>1)::bigint
    FROM jsonb_array_elements(p_rows->'rollups') e ORDER BY 2, 1, 3, 4
    ON CONFLICT (start, span, subject, decision, slot) DO UPDATE SET count = known.count + excluded.count;
    INSERT INTO robots_gateway.sent AS known (span, start, subject, slot, bytes)
    SELECT (e->0->>0)::integer, (e->0->>1)::bigint, (e->0->>2)::uuid, own, (e->>1)::bigint
    FROM jsonb_array_elements(p_rows->'sent') e ORDER BY 2, 1, 3
    ON CONFLICT (start, span, subject, slot) DO UPDATE SET bytes = known.bytes + excluded.bytes;
    INSERT INTO robots_gateway.presence AS known (day, subject, slot, first, last)
    SELECT (e->0->>0)::bigint, (e->0->>1)::uuid, own, (e->1->>0)::bigint, (e->1->>1)::bigint
    FROM jsonb_array_elements(p_rows->'presence') e ORDER BY 1, 2
    ON CONFLICT (day, subject, slot) DO UPDATE
    SET first = least(known.first, excluded.first), last = greatest(known.last, excluded.last)
    WHERE known.first > excluded.first OR known.last < excluded.last;
    INSERT INTO robots_gateway.path AS known
        (day, subject, target_id, target, slot, allowed, violations, stale, variants, spoofed, refused)
    SELECT (e->0->>0)::bigint, (e->0->>1)::uuid,
        left(encode(sha256(convert_to(e->0->>2, 'UTF8')), 'hex'), 32)::uuid, e->0->>2, own,
        (e->1->>'allowed')::bigint, (e->1->>'violations')::bigint, (e->1->>'stale')::bigint,
        (e->1->>'variants')::bigint, (e->1->>'spoofed')::bigint, (e->1->>'refused')::bigint
    FROM jsonb_array_elements(p_rows->'paths') e ORDER BY 1, 2, 3
    ON CONFLICT (day, subject, target_id, slot) DO UPDATE SET allowed = known.allowed + excluded.allowed,
        violations = known.violations + excluded.violations, stale = known.stale + excluded.stale,
        variants = known.variants + excluded.variants, spoofed = known.spoofed + excluded.spoofed,
        refused = known.refused + excluded.refused;
    INSERT INTO robots_gateway.read AS known
        (store, subject, version, in_force, host, network, chosen, rules, first, last, count, stamp)
    SELECT p_store, (e->0->>0)::uuid, e->0->1->>'version', (e->0->1->>'in_force')::bigint, e->0->1->>'host',
        coalesce(e->0->1->>'network', ''), coalesce(e->0->1->>'chosen', ''), e->1->>'rules',
        (e->1->>'first')::bigint, (e->1->>'last')::bigint, (e->1->>'count')::bigint, (e->1->>'as_of')::bigint
    FROM jsonb_array_elements(p_rows->'reads') e ORDER BY 2, 3, 4, 5, 6, 7
    ON CONFLICT (store, subject, version, in_force, host, network, chosen) DO UPDATE
    SET first = least(known.first, excluded.first), last = greatest(known.last, excluded.last),
        count = known.count + excluded.count, rules = excluded.rules, stamp = greatest(known.stamp, excluded.stamp),
        noted = CASE WHEN excluded.stamp > known.stamp THEN excluded.noted ELSE known.noted END;
    INSERT INTO robots_gateway.robots (sha256, bytes)
    SELECT key, value #>> '{}' FROM jsonb_each(p_rows->'robots') ORDER BY key
    ON CONFLICT (sha256) DO UPDATE SET used = current_date WHERE robots.used < current_date;
    FOR item IN SELECT e FROM jsonb_array_elements(p_rows->'versions') e LOOP
        UPDATE robots_gateway.version SET until = greatest(since, (item->>2)::bigint)
        WHERE store = p_store AND site = item->>0 AND until = 0;
        INSERT INTO robots_gateway.version (store, site, sha256, since, until)
        VALUES (p_store, item->>0, item->>1, (item->>2)::bigint, (item->>3)::bigint) ON CONFLICT DO NOTHING;
    END LOOP;
    INSERT INTO robots_gateway.missing AS known (store, what, reason, site, since, until, count)
    SELECT p_store, e->>'what', e->>'reason', e->>'site', (e->>'from')::bigint, (e->>'to')::bigint, (e->>'count')::bigint
    FROM jsonb_array_elements(p_rows->'missing') e
    ON CONFLICT (store, what, reason, site, since) DO UPDATE
    SET until = greatest(known.until, excluded.until), count = known.count + excluded.count;
    RETURN p_last;
END $$;

-- The mark of a store; 0 of one that was never here.
CREATE FUNCTION robots_gateway.mark(p_store text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce((SELECT sequence FROM robots_gateway.writer WHERE store = p_store), 0)
$$;

-- Pieces up to before `first` are gone for good: the mark is moved on, and that they are missing is noted.
CREATE FUNCTION robots_gateway.skip(p_store text, p_first bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO robots_gateway.writer (store, sequence, taken) VALUES (p_store, 0, clock_timestamp())
    ON CONFLICT DO NOTHING;
    UPDATE robots_gateway.writer SET skipped = skipped + (p_first - 1 - sequence), skipped_at = clock_timestamp(),
        sequence = p_first - 1, piece = ''
    WHERE store = p_store AND sequence < p_first - 1 AND coalesce(role, session_user) = session_user;
    RETURN robots_gateway.mark(p_store);
END $$;

-- A sign of life of a member, once a second: takes what it says of itself, gives what it has to know of the others.
CREATE FUNCTION robots_gateway.beat(p jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    own robots_gateway.member;
    known bigint;
    horizon xid8;
BEGIN
    SELECT * INTO own FROM robots_gateway.member WHERE store = p->>'store' FOR UPDATE;
    IF own.role <> session_user THEN
        RAISE EXCEPTION 'store % belongs to another user', p->>'store' USING ERRCODE = 'RG001';
    END IF;
    IF (own.store IS NULL OR own.gone IS NOT NULL) AND NOT (p->>'joins')::boolean THEN
        RETURN jsonb_build_object('is_member', false, 'stamp', robots_gateway.stamp());
    END IF;
    -- A process that is being replaced does not speak for the one that replaces it, while that one speaks.
    IF own.gone IS NULL AND own.started > (p->>'started')::bigint AND own.process <> p->>'process'
        AND own.seen > clock_timestamp() - interval '10 seconds' THEN
        RETURN jsonb_build_object('is_member', true, 'is_replaced', true, 'stamp', robots_gateway.stamp());
    END IF;
    IF own.store IS NULL OR own.gone IS NOT NULL OR own.revision <> (p->>'revision')::bigint AND p->'rows' <> '{}' THEN
        INSERT INTO robots_gateway.robots (sha256, bytes)
        SELECT key, value #>> '{}' FROM jsonb_each(p->'robots') ORDER BY key
        ON CONFLICT (sha256) DO UPDATE SET used = current_date WHERE robots.used < current_date;
        -- A store that was lost while its process lives is another one now: nobody waits for what it was.
        IF own.store IS NULL THEN
            PERFORM FROM robots_gateway.member
            WHERE process = p->>'process' AND coalesce(gone_because, 'silent') = 'silent' ORDER BY store FOR UPDATE;
            UPDATE robots_gateway.member SET gone = clock_timestamp(), gone_because = 'stopped', ended = clock_timestamp(),
                outbox = 0, outbox_since = 0, changed = robots_gateway.next_stamp()
            WHERE process = p->>'process' AND coalesce(gone_because, 'silent') = 'silent' AND role = session_user;
        END IF;
        known := robots_gateway.next_stamp();
        INSERT INTO robots_gateway.member AS old
            (store, name, process, started, version, seen, lease, revision, rows, said, waived, changed)
        VALUES (p->>'store', p->>'name', p->>'process', (p->>'started')::bigint, p->>'version', clock_timestamp(),
            make_interval(secs => (p->>'lease')::double precision), (p->>'revision')::bigint, p->'rows',
            clock_timestamp(), p->'waived', known)
        ON CONFLICT (store) DO UPDATE SET revision = excluded.revision, rows = excluded.rows, said = excluded.said, waived = excluded.waived, changed = excluded.changed,
            applied = CASE WHEN old.gone IS NULL THEN old.applied ELSE 0 END, gone = NULL, gone_because = NULL, ended = NULL;
    ELSE
        -- Nothing that others wait for is lost with the last moment of a database.
        SET LOCAL synchronous_commit = off;
    END IF;
    UPDATE robots_gateway.member SET role = session_user, name = p->>'name', process = p->>'process', started = (p->>'started')::bigint,
        version = p->>'version', beats = beats + 1, seen = clock_timestamp(),
        lease = make_interval(secs => (p->>'lease')::double precision),
        notice = make_interval(secs => (p->>'notice')::double precision), generation = least((p->>'generation')::bigint, 1::bigint << 53),
        error = p->>'error', outbox = (p->>'outbox')::bigint, outbox_since = (p->>'outbox_since')::bigint,
        serving = p->'serving',
        -- A database that was set back has not given the stamps that members had of it.
        applied = CASE WHEN (p->>'applied')::bigint > robots_gateway.stamp() THEN 0 ELSE (p->>'applied')::bigint END,
        is_deaf = coalesce((p->>'is_deaf')::boolean, false)
    WHERE store = p->>'store' RETURNING * INTO own;
    known := robots_gateway.stamp();
    horizon := pg_snapshot_xmin(pg_current_snapshot());
    RETURN jsonb_build_object(
        'is_member', true,
        'stamp', known,
        'beats', own.beats,
        'now', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
        'changed', own.changed,
        'revision', own.revision,
        'mark', robots_gateway.mark(own.store),
        'piece', (SELECT piece FROM robots_gateway.writer WHERE writer.store = own.store),
        'generation', (SELECT coalesce(max(number), 0) FROM robots_gateway.generation),
        'published', (SELECT jsonb_build_object('document', document, 'signature', signature)
            FROM robots_gateway.generation WHERE number > (p->>'taken')::bigint ORDER BY number DESC LIMIT 1),
        -- All transactions before this one have ended.
        'horizon', horizon::text,
        'has_reads', EXISTS (SELECT FROM robots_gateway.read
            WHERE noted >= (p->>'reads')::xid8 AND noted < horizon AND store <> own.store),
        'floor', (SELECT min(applied) FROM robots_gateway.member
            WHERE gone IS NULL AND NOT is_deaf AND store <> own.store),
        'behind', (SELECT coalesce(jsonb_agg(name ORDER BY name), '[]') FROM robots_gateway.member
            WHERE gone IS NULL AND NOT is_deaf AND store <> own.store AND applied < own.changed),
        'members', (SELECT coalesce(jsonb_agg(jsonb_build_object('store', store, 'name', name,
                'rows', rows, 'said', extract(epoch FROM clock_timestamp() - said), 'ended', extract(epoch FROM clock_timestamp() - ended),
                'notice', extract(epoch FROM notice), 'waived',
                CASE WHEN gone < clock_timestamp() - interval '1 day' THEN '[]' ELSE waived END)), '[]') FROM robots_gateway.member
            WHERE changed > own.applied AND store <> own.store),
        -- And for how long to wait by the own clock: it and that of the database have to agree.
        'silent', (SELECT coalesce(jsonb_agg(jsonb_build_array(store, beats, extract(epoch FROM
                CASE WHEN gone IS NULL THEN lease ELSE greatest(lease, robots_gateway.held(notice)) END), gone IS NOT NULL)), '[]')
            FROM robots_gateway.member
            WHERE store <> own.store AND (gone IS NULL AND seen < clock_timestamp() - interval '3 seconds'
                OR gone_because = 'silent' AND ended IS NULL)));
END $$;

-- A member stops serving: cleanly, because it was silent by the clock of another one, or by the operator's word.
-- The row of the member is always locked before that of the fleet, which `next_stamp` locks.
CREATE FUNCTION robots_gateway.leave(p_store text, p_process text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM robots_gateway.member WHERE store = p_store FOR UPDATE;
    UPDATE robots_gateway.member SET gone = clock_timestamp(), gone_because = 'stopped', ended = clock_timestamp(),
        outbox = 0, outbox_since = 0, changed = robots_gateway.next_stamp()
    WHERE store = p_store AND process = p_process AND coalesce(gone_because, 'silent') = 'silent' AND role = session_user;
END $$;
-- No member ends another one that was heard of within its lease. After that nobody waits for the silent one. It may be cut
-- off and serve what it served: that counts as served for as long as its notice, unless it is heard of.
CREATE FUNCTION robots_gateway.expire(p_store text, p_beats bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM robots_gateway.member WHERE store = p_store FOR UPDATE;
    UPDATE robots_gateway.member SET gone = clock_timestamp(), gone_because = 'silent', changed = robots_gateway.next_stamp()
    WHERE store = p_store AND beats = p_beats AND gone IS NULL AND seen < clock_timestamp() - lease;
    UPDATE robots_gateway.member SET ended = clock_timestamp(), changed = robots_gateway.next_stamp()
    WHERE store = p_store AND beats = p_beats AND gone_because = 'silent' AND ended IS NULL
        AND gone < clock_timestamp() - robots_gateway.held(notice);
END $$;
CREATE FUNCTION robots_gateway.forget(p_name text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    forgotten bigint;
BEGIN
    PERFORM FROM robots_gateway.member WHERE name = p_name ORDER BY store FOR UPDATE;
    UPDATE robots_gateway.member SET gone_because = 'forgotten',
        gone = CASE WHEN coalesce(gone_because, 'silent') = 'silent' THEN clock_timestamp() ELSE gone END,
        ended = coalesce(ended, clock_timestamp()), changed = robots_gateway.next_stamp(), role = NULL
    WHERE name = p_name AND gone_because IS DISTINCT FROM 'forgotten';
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    UPDATE robots_gateway.writer SET role = NULL
    WHERE store IN (SELECT store FROM robots_gateway.member WHERE name = p_name);
    RETURN forgotten;
END $$;

-- Minutes older than 48 hours become hours, and what is older than the retention goes: once a day, by whoever asks first.
CREATE FUNCTION robots_gateway.keep_house() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '200ms' AS $$
DECLARE
    today bigint := extract(epoch FROM date_trunc('day', now() AT TIME ZONE 'UTC'))::bigint;
    oldest bigint;
    part record;
BEGIN
    PERFORM robots_gateway.need_day(today + 86400);
    IF NOT pg_try_advisory_xact_lock(hashtext('robots_gateway.keep_house')) THEN RETURN; END IF;
    PERFORM FROM robots_gateway.fleet WHERE kept_on = current_date;
    IF FOUND THEN RETURN; END IF;
    SELECT today - extract(epoch FROM retention)::bigint INTO oldest FROM robots_gateway.fleet;
    FOR part IN
        SELECT child.relname AS name, substring(child.relname FROM '_(-?[0-9]+)$')::bigint AS start
        FROM pg_catalog.pg_inherits JOIN pg_catalog.pg_class child ON child.oid = inhrelid
        WHERE inhparent IN ('robots_gateway.rollup'::regclass, 'robots_gateway.sent'::regclass,
            'robots_gateway.presence'::regclass, 'robots_gateway.path'::regclass)
    LOOP
        IF part.start + 86400 <= oldest THEN
            BEGIN
                EXECUTE format('DROP TABLE robots_gateway.%I', part.name);
            EXCEPTION WHEN lock_not_available THEN
                NULL; -- A report reads it: it goes another day.
            END;
        END IF;
    END LOOP;
    WITH minutes AS (
        DELETE FROM robots_gateway.rollup WHERE span < 3600 AND start < today - 172800 RETURNING *)
    INSERT INTO robots_gateway.rollup AS known (span, start, subject, decision, slot, count)
    SELECT 3600, start / 3600 * 3600, subject, decision, slot, sum(count) FROM minutes GROUP BY 2, 3, 4, 5
    ON CONFLICT (start, span, subject, decision, slot) DO UPDATE SET count = known.count + excluded.count;
    WITH minutes AS (
        DELETE FROM robots_gateway.sent WHERE span < 3600 AND start < today - 172800 RETURNING *)
    INSERT INTO robots_gateway.sent AS known (span, start, subject, slot, bytes)
    SELECT 3600, start / 3600 * 3600, subject, slot, sum(bytes) FROM minutes GROUP BY 2, 3, 4
    ON CONFLICT (start, span, subject, slot) DO UPDATE SET bytes = known.bytes + excluded.bytes;
    DELETE FROM robots_gateway.read WHERE last < oldest * 1000000
        AND version NOT IN (SELECT left(sha256, 12) FROM robots_gateway.version WHERE until = 0);
    -- Nobody says any more when a version ended at a member that is gone.
    UPDATE robots_gateway.version SET until = greatest(since, oldest * 1000000 + 1)
    WHERE until = 0 AND store NOT IN (SELECT store FROM robots_gateway.member)
        AND store IN (SELECT store FROM robots_gateway.writer WHERE taken < to_timestamp(oldest));
    DELETE FROM robots_gateway.version WHERE until > 0 AND until < oldest * 1000000;
    DELETE FROM robots_gateway.missing WHERE until < oldest * 1000000;
    DELETE FROM robots_gateway.writer WHERE taken < to_timestamp(oldest)
        AND store NOT IN (SELECT store FROM robots_gateway.member)
        AND store NOT IN (SELECT store FROM robots_gateway.version);
    -- Whoever counts for one of these says it again. Those of versions in force may be old.
    DELETE FROM robots_gateway.subject WHERE id IN (SELECT id FROM robots_gateway.subject
        WHERE used < to_timestamp(oldest)::date - 1 AND id NOT IN (SELECT subject FROM robots_gateway.read)
        FOR UPDATE SKIP LOCKED);
    DELETE FROM robots_gateway.decision WHERE id IN (SELECT id FROM robots_gateway.decision
        WHERE used < to_timestamp(oldest)::date - 1 FOR UPDATE SKIP LOCKED);
    -- What a beat is about to use stays, and so does what a member serves, or was heard to serve.
    DELETE FROM robots_gateway.robots WHERE sha256 IN (SELECT sha256 FROM robots_gateway.robots
        WHERE used < current_date - 8 AND sha256 NOT IN (SELECT sha256 FROM robots_gateway.version)
            AND sha256 NOT IN (SELECT file #>> '{}'
                FROM robots_gateway.member, jsonb_path_query(member.rows, '$.*.rows[*].version.known.file ? (@ != null)') AS file)
        FOR UPDATE SKIP LOCKED);
    DELETE FROM robots_gateway.member WHERE store IN (SELECT store FROM robots_gateway.member
        WHERE gone < now() - interval '30 days' AND ended IS NOT NULL FOR UPDATE SKIP LOCKED);
    -- Last, so that members wait for this row no longer than for a stamp.
    UPDATE robots_gateway.fleet SET kept_on = current_date;
END $$;

-- Publishes a generation; false where another publisher was there first.
CREATE FUNCTION robots_gateway.publish(p_number bigint, p_document text, p_signature text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO robots_gateway.generation (number, stamp, published, document, signature)
    SELECT p_number, robots_gateway.next_stamp(), clock_timestamp(), p_document, p_signature
    WHERE p_number > (SELECT coalesce(max(number), 0) FROM robots_gateway.generation) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN RETURN false; END IF;
    RETURN true;
END $$;

-- Every function is open to everybody when it is made.
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA robots_gateway FROM PUBLIC;
GRANT USAGE ON SCHEMA robots_gateway TO robots_gateway_member, robots_gateway_publisher, robots_gateway_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA robots_gateway
    TO robots_gateway_member, robots_gateway_publisher, robots_gateway_reader;
GRANT EXECUTE ON FUNCTION robots_gateway.take(text, bigint, bigint, text, jsonb), robots_gateway.mark(text),
    robots_gateway.skip(text, bigint), robots_gateway.beat(jsonb), robots_gateway.leave(text, text),
    robots_gateway.expire(text, bigint), robots_gateway.keep_house() TO robots_gateway_member;
GRANT EXECUTE ON FUNCTION robots_gateway.forget(text), robots_gateway.publish(bigint, text, text)
    TO robots_gateway_publisher;
RESET ROLE;
