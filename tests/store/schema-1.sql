-- A store as robots-gateway 0.1 left it: the dump of one that a gateway in enforce mode wrote over seven seconds, with
-- two versions of one site's robots.txt, three reads, and twelve requests of five clients. By hand: what was lost.
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA user_version = 1;
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE writer (
    process  TEXT PRIMARY KEY,
    sequence INTEGER NOT NULL,
    written  INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO writer VALUES('18378-1795391401908569-54aca8da54be4e7a',5,1795391406931136);
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
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
INSERT INTO subject VALUES(1,'example.org','crawler','GPTBot','ai-train','unchecked',1795305600);
INSERT INTO subject VALUES(2,'default','crawler','GPTBot','ai-train','unchecked',1795305600);
INSERT INTO subject VALUES(3,'example.org','tool','curl','tool','unchecked',1795305600);
INSERT INTO subject VALUES(4,'example.org','crawler','Fixturebot','','unchecked',1795305600);
INSERT INTO subject VALUES(5,'example.org','crawler','CCBot','ai-train','unchecked',1795305600);
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
INSERT INTO decision VALUES(1,'violation','refused','lapsed','efc4db540834','*',2,'Disallow: /private/',1795305600);
INSERT INTO decision VALUES(2,'violation','refused','lapsed','28193bdd9825','GPTBot',2,'Disallow: /',1795305600);
INSERT INTO decision VALUES(3,'violation','forwarded','lapsed','efc4db540834','*',2,'Disallow: /private/',1795305600);
INSERT INTO decision VALUES(4,'allowed','forwarded','','efc4db540834','*',0,'',1795305600);
INSERT INTO decision VALUES(5,'variant','refused','','c2c18fd3256c','*',2,'Disallow: /private/',1795305600);
INSERT INTO decision VALUES(6,'stale','forwarded','pending','c2c18fd3256c','*',3,'Disallow: /new/',1795305600);
CREATE TABLE rollup (
    span     INTEGER NOT NULL,
    start    INTEGER NOT NULL,
    subject  INTEGER NOT NULL,
    decision INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    PRIMARY KEY (span, start, subject, decision)
) WITHOUT ROWID;
INSERT INTO rollup VALUES(60,1795391400,1,1,3);
INSERT INTO rollup VALUES(60,1795391400,1,4,1);
INSERT INTO rollup VALUES(60,1795391400,1,5,1);
INSERT INTO rollup VALUES(60,1795391400,1,6,1);
INSERT INTO rollup VALUES(60,1795391400,2,2,2);
INSERT INTO rollup VALUES(60,1795391400,3,3,1);
INSERT INTO rollup VALUES(60,1795391400,4,1,1);
INSERT INTO rollup VALUES(60,1795391400,5,1,1);
INSERT INTO rollup VALUES(60,1795391400,5,6,1);
CREATE TABLE presence (
    day     INTEGER NOT NULL,
    subject INTEGER NOT NULL,
    first   INTEGER NOT NULL,
    last    INTEGER NOT NULL,
    PRIMARY KEY (day, subject)
) WITHOUT ROWID;
INSERT INTO presence VALUES(1795305600,1,1795391403618475,1795391406892668);
INSERT INTO presence VALUES(1795305600,2,1795391403753717,1795391403770355);
INSERT INTO presence VALUES(1795305600,3,1795391403802527,1795391403802527);
INSERT INTO presence VALUES(1795305600,4,1795391403786664,1795391403786664);
INSERT INTO presence VALUES(1795305600,5,1795391403688579,1795391406871632);
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
INSERT INTO path VALUES(1,1795305600,'/',1,0,0,0,0,0);
INSERT INTO path VALUES(1,1795305600,'/new/1',0,0,1,0,0,0);
INSERT INTO path VALUES(1,1795305600,'/private%2F1',0,0,0,1,0,1);
INSERT INTO path VALUES(1,1795305600,'/private/1',0,1,0,0,0,1);
INSERT INTO path VALUES(1,1795305600,'/private/2',0,1,0,0,0,1);
INSERT INTO path VALUES(1,1795305600,'/private/3',0,1,0,0,0,1);
INSERT INTO path VALUES(2,1795305600,'/x1',0,1,0,0,0,1);
INSERT INTO path VALUES(2,1795305600,'/x2',0,1,0,0,0,1);
INSERT INTO path VALUES(3,1795305600,'/private/z',0,1,0,0,0,0);
INSERT INTO path VALUES(4,1795305600,'/private/z',0,1,0,0,0,1);
INSERT INTO path VALUES(5,1795305600,'/new/1',0,0,1,0,0,0);
INSERT INTO path VALUES(5,1795305600,'/private/a?b=c',0,1,0,0,0,1);
CREATE TABLE path_day (
    day     INTEGER NOT NULL,
    subject INTEGER NOT NULL,
    targets INTEGER NOT NULL,
    PRIMARY KEY (day, subject)
) WITHOUT ROWID;
INSERT INTO path_day VALUES(1795305600,1,6);
INSERT INTO path_day VALUES(1795305600,2,2);
INSERT INTO path_day VALUES(1795305600,3,1);
INSERT INTO path_day VALUES(1795305600,4,1);
INSERT INTO path_day VALUES(1795305600,5,2);
CREATE TABLE stranger (
    day  INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (day, name)
) WITHOUT ROWID;
INSERT INTO stranger VALUES(1795305600,'Fixturebot');
CREATE TABLE gap (
    day     INTEGER NOT NULL,
    subject INTEGER NOT NULL,
    bucket  INTEGER NOT NULL,
    count   INTEGER NOT NULL,
    PRIMARY KEY (day, subject, bucket)
) WITHOUT ROWID;
INSERT INTO gap VALUES(1795305600,1,14,1);
INSERT INTO gap VALUES(1795305600,1,16,1);
INSERT INTO gap VALUES(1795305600,1,37,1);
INSERT INTO gap VALUES(1795305600,1,50,1);
INSERT INTO gap VALUES(1795305600,1,136,1);
INSERT INTO gap VALUES(1795305600,2,16,1);
INSERT INTO gap VALUES(1795305600,5,136,1);
CREATE TABLE sample (
    id       INTEGER PRIMARY KEY,
    subject  INTEGER NOT NULL,
    decision INTEGER NOT NULL,
    time     INTEGER NOT NULL,
    event    TEXT NOT NULL
);
INSERT INTO sample VALUES(1,1,1,1795391403618475,'{"v":1,"time":"2026-11-22T23:50:03.618Z","event":"violation","site":"example.org","mode":"enforce","action":"refused","status":403,"client":"crawler","crawler":"GPTBot","purpose":"ai-train","token":"*","proof":"unchecked","address":"127.0.0.1","scheme":"http","method":"GET","host":"example.org","target":"/private/1","user_agent":"GPTBot/1.2","group":["*"],"line":2,"rule":"Disallow: /private/","reason":"rule","robots_version":"efc4db540834","notice":"lapsed","request_id":"47cc60e622d871cb-0"}');
INSERT INTO sample VALUES(2,1,1,1795391403634891,'{"v":1,"time":"2026-11-22T23:50:03.634Z","event":"violation","site":"example.org","mode":"enforce","action":"refused","status":403,"client":"crawler","crawler":"GPTBot","purpose":"ai-train","token":"*","proof":"unchecked","address":"127.0.0.1","scheme":"http","method":"GET","host":"example.org","target":"/private/2","user_agent":"GPTBot/1.2","group":["*"],"line":2,"rule":"Disallow: /private/","reason":"rule","robots_version":"efc4db540834","notice":"lapsed","request_id":"47cc60e622d871cb-1000"}');
INSERT INTO sample VALUES(3,1,1,1795391403649698,'{"v":1,"time":"2026-11-22T23:50:03.649Z","event":"violation","site":"example.org","mode":"enforce","action":"refused","status":403,"client":"crawler","crawler":"GPTBot","purpose":"ai-train","token":"*","proof":"unchecked","address":"127.0.0.1","scheme":"http","method":"GET","host":"example.org","target":"/private/3","user_agent":"GPTBot/1.2","group":["*"],"line":2,"rule":"Disallow: /private/","reason":"rule","robots_version":"efc4db540834","notice":"lapsed","request_id":"47cc60e622d871cb-1"}');
INSERT INTO sample VALUES(4,2,2,1795391403753717,'{"v":1,"time":"2026-11-22T23:50:03.753Z","event":"violation","site":"default","mode":"enforce","action":"refused","status":403,"client":"crawler","crawler":"GPTBot","purpose":"ai-train","token":"GPTBot","proof":"unchecked","address":"127.0.0.1","scheme":"http","method":"GET","host":"shop.example","target":"/x1","user_agent":"GPTBot/1.2","group":["GPTBot"],"line":2,"rule":"Disallow: /","reason":"rule","robots_version":"28193bdd9825","notice":"lapsed","request_id":"47cc60e622d871cb-1003"}');
INSERT INTO sample VALUES(5,2,2,1795391403770355,'{"v":1,"time":"2026-11-22T23:50:03.770Z","event":"violation","site":"default","mode":"enforce","action":"refused","status":403,"client":"crawler","crawler":"GPTBot","purpose":"ai-train","token":"GPTBot","proof":"unchecked","address":"127.0.0.1","scheme":"http","method":"GET","host":"shop.example","target":"/x2","user_agent":"GPTBot/1.2","group":["GPTBot"],"line":2,"rule":"Disallow: /","reason":"rule","robots_version":"28193bdd9825","notice":"lapsed","request_id":"47cc60e622d871cb-4"}');
INSERT INTO sample VALUES(6,3,3,1795391403802527,'{"v":1,"time":"2026-11-22T23:50:03.802Z","event":"violation","site":"example.org","mode":"audit","action":"forwarded","status":404,"client":"tool","crawler":"curl","purpose":"tool","token":"*","proof":"unchecked","address":"127.0.0.1","scheme":"http","method":"GET","host":"example.org","target":"/private/z","user_agent":"curl/8.5.0","group":["*"],"line":2,"rule":"Disallow: /private/","reason":"rule","robots_version":"efc4db540834","notice":"lapsed","request_id":"47cc60e622d871cb-5"}');
INSERT INTO sample VALUES(7,4,1,1795391403786664,'{"v":1,"time":"2026-11-22T23:50:03.786Z","event":"violation","site":"example.org","mode":"enforce","action":"refused","status":403,"client":"crawler","crawler":"Fixturebot","purpose":null,"token":"*","proof":"unchecked","address":"127.0.0.1","scheme":"http","method":"GET","host":"example.org","target":"/private/z","user_agent":"Mozilla/5.0 (compatible; Fixturebot/1.0; +https://crawler.example/bot)","group":["*"],"line":2,"rule":"Disallow: /private/","reason":"rule","robots_version":"efc4db540834","notice":"lapsed","request_id":"47cc60e622d871cb-1004"}');
INSERT INTO sample VALUES(8,5,1,1795391403705836,'{"v":1,"time":"2026-11-22T23:50:03.705Z","event":"violation","site":"example.org","mode":"enforce","action":"refused","status":403,"client":"crawler","crawler":"CCBot","purpose":"ai-train","token":"*","proof":"unchecked","address":"127.0.0.1","scheme":"http","method":"GET","host":"example.org","target":"/private/a?b=c","user_agent":"CCBot/2.0 (https://commoncrawl.org/faq/)","group":["*"],"line":2,"rule":"Disallow: /private/","reason":"rule","robots_version":"efc4db540834","notice":"lapsed","request_id":"47cc60e622d871cb-1002"}');
INSERT INTO sample VALUES(9,1,6,1795391406850568,'{"v":1,"time":"2026-11-22T23:50:06.850Z","event":"stale","site":"example.org","mode":"enforce","action":"forwarded","status":404,"client":"crawler","crawler":"GPTBot","purpose":"ai-train","token":"*","proof":"unchecked","address":"127.0.0.1","scheme":"http","method":"GET","host":"example.org","target":"/new/1","user_agent":"GPTBot/1.2","group":["*"],"line":3,"rule":"Disallow: /new/","reason":"rule","robots_version":"c2c18fd3256c","notice":"pending","request_id":"47cc60e622d871cb-6"}');
INSERT INTO sample VALUES(10,1,5,1795391406892668,'{"v":1,"time":"2026-11-22T23:50:06.892Z","event":"variant","site":"example.org","mode":"enforce","action":"refused","status":403,"client":"crawler","crawler":"GPTBot","purpose":"ai-train","token":"*","proof":"unchecked","address":"127.0.0.1","scheme":"http","method":"GET","host":"example.org","target":"/private%2F1","user_agent":"GPTBot/1.2","group":["*"],"line":2,"rule":"Disallow: /private/","reason":"variant","robots_version":"c2c18fd3256c","notice":null,"request_id":"47cc60e622d871cb-7"}');
INSERT INTO sample VALUES(11,5,6,1795391406871632,'{"v":1,"time":"2026-11-22T23:50:06.871Z","event":"stale","site":"example.org","mode":"enforce","action":"forwarded","status":404,"client":"crawler","crawler":"CCBot","purpose":"ai-train","token":"*","proof":"unchecked","address":"127.0.0.1","scheme":"http","method":"GET","host":"example.org","target":"/new/1","user_agent":"CCBot/2.0 (https://commoncrawl.org/faq/)","group":["*"],"line":3,"rule":"Disallow: /new/","reason":"rule","robots_version":"c2c18fd3256c","notice":"pending","request_id":"47cc60e622d871cb-1006"}');
CREATE TABLE robots (
    sha256 BLOB PRIMARY KEY,
    bytes  BLOB NOT NULL
) WITHOUT ROWID;
INSERT INTO robots VALUES(X'28193bdd982586677464a248a320aeffeb73097c7666d21b553cbb34d4a707b3',X'557365722d6167656e743a20475054426f740a446973616c6c6f773a202f0a');
INSERT INTO robots VALUES(X'c2c18fd3256cef1f93a6a22684acc9f473365d0eb432517173e21022404960e5',X'557365722d6167656e743a202a0a446973616c6c6f773a202f707269766174652f0a446973616c6c6f773a202f6e65772f0a');
INSERT INTO robots VALUES(X'efc4db5408347a17597d7618522f084512d5d8d9ff46135129e293e4dee3355a',X'557365722d6167656e743a202a0a446973616c6c6f773a202f707269766174652f0a');
CREATE TABLE version (
    id     INTEGER PRIMARY KEY,
    site   TEXT NOT NULL,
    sha256 BLOB NOT NULL,
    since  INTEGER NOT NULL,
    until  INTEGER NOT NULL
);
INSERT INTO version VALUES(1,'example.org',X'efc4db5408347a17597d7618522f084512d5d8d9ff46135129e293e4dee3355a',1795391401587132,1795391404817534);
INSERT INTO version VALUES(2,'default',X'28193bdd982586677464a248a320aeffeb73097c7666d21b553cbb34d4a707b3',1795391401587132,0);
INSERT INTO version VALUES(3,'example.org',X'c2c18fd3256cef1f93a6a22684acc9f473365d0eb432517173e21022404960e5',1795391404817534,0);
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
INSERT INTO read VALUES(1,'c2c18fd3256c',1795391404817534,'example.org','127.0.0.0/24',1795391406826773,1795391406826773,1);
INSERT INTO read VALUES(1,'efc4db540834',1795391401587132,'example.org','127.0.0.0/24',1795391403667560,1795391403667560,1);
INSERT INTO read VALUES(5,'efc4db540834',1795391401587132,'example.org','127.0.0.0/24',1795391403688579,1795391403688579,1);
CREATE TABLE loss (
    start INTEGER NOT NULL,
    kind  TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (start, kind)
) WITHOUT ROWID;
INSERT INTO loss VALUES(1795388400,'counts',40);
INSERT INTO loss VALUES(1795388400,'details',2);
CREATE INDEX sample_of ON sample (subject, decision, time);
CREATE INDEX sample_time ON sample (time);
CREATE INDEX version_of ON version (site, since);
CREATE INDEX read_version ON read (version, last);
COMMIT;
