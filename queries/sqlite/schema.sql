-- The ledger of idempotency keys. One row is one key of one caller.
--
-- Times are epoch milliseconds by the database's own clock, so that neither
-- the servers' clocks nor a session's time zone matter. Each statement reads it
-- for itself: SQLite gives one statement one "now", in seconds with three
-- decimals, which rounds to the exact millisecond.
--
-- Whatever sets expires_at sets gone_at and sweep_at with it. sweep_at never
-- lies before the end of the lease, so a sweep meets no live row.
--
-- Text compares bytewise (the BINARY collation, SQLite's default), and a UTF-8
-- database keeps its bytes as they are, valid or not.
--
-- The table keeps its rowid: rows hold whole answers, and as cells of the
-- primary key's own tree (WITHOUT ROWID) answers of some hundred bytes would
-- make it three times as large and half as fast.
CREATE TABLE IF NOT EXISTS idempotency_keys (
  principal TEXT NOT NULL,
  scope TEXT NOT NULL, -- '' or the operation's name
  key TEXT NOT NULL,
  operation TEXT NOT NULL, -- who wrote the row
  policy TEXT NOT NULL, -- the rule of the fingerprint
  fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),
  status TEXT NOT NULL CHECK (status IN ('pending', 'completed')),
  generation INTEGER NOT NULL CHECK (generation >= 1), -- with owner, the fence
  owner BLOB NOT NULL CHECK (length(owner) = 16),
  claimed_at INTEGER NOT NULL,
  lease_until INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  gone_at INTEGER NOT NULL,
  sweep_at INTEGER NOT NULL,
  recovery_point TEXT NOT NULL DEFAULT '', -- for phases, which a later release brings
  recovery_state BLOB NOT NULL DEFAULT x'',
  response_status INTEGER NOT NULL DEFAULT 0,
  response_headers BLOB NOT NULL DEFAULT x'',
  response_body BLOB NOT NULL DEFAULT x'',
  created_at INTEGER NOT NULL,
  PRIMARY KEY (principal, scope, key)
) STRICT;

-- What a sweep reads, and nothing else does.
CREATE INDEX IF NOT EXISTS idempotency_keys_sweep_at ON idempotency_keys (sweep_at);

-- The version of this schema, so that a release that needs another one says so
-- at its start. Migrations between releases are plain SQL.
CREATE TABLE IF NOT EXISTS idempotency_keys_schema (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  version INTEGER NOT NULL,
  -- A UTF-16 database rewrites bytes that are not valid text: two principals
  -- that differ in them would be one. It is refused here, before it holds keys.
  CONSTRAINT text_is_utf8 CHECK (length(CAST('a' AS BLOB)) = 1)
) STRICT;

INSERT INTO idempotency_keys_schema (id, version) VALUES (1, 1) ON CONFLICT (id) DO NOTHING;
