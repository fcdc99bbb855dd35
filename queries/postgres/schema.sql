-- The ledger of idempotency keys. One row is one key of one caller.
--
-- Times are epoch milliseconds by the database's own wall clock, so that
-- neither the servers' clocks nor a session's time zone matter. Each statement
-- reads it once, in a materialized CTE: clock_timestamp() moves within a
-- statement, and now() stands still within a transaction, so that a claim made
-- late in a long one would be born expired. A batch of the ledger's own writes
-- takes now(): its transaction is no user's.
--
-- Whatever sets expires_at sets gone_at and sweep_at with it. sweep_at never
-- lies before the end of the lease, so a sweep meets no live row.
--
-- What callers choose is kept as bytes: text refuses some (NUL, and what is not
-- in the database's encoding). Other text compares bytewise (COLLATE "C").
-- convert_from(principal, 'UTF8') shows a principal to readers.
--
-- The columns have no CHECK: PostgreSQL reads the text of each one again in
-- every statement, and four of them cost a third of a claim. What reads a row
-- tests it.
CREATE TABLE IF NOT EXISTS idempotency_keys (
  principal BYTEA NOT NULL,
  scope BYTEA NOT NULL, -- '' or the operation's name
  key BYTEA NOT NULL,
  operation TEXT COLLATE "C" NOT NULL, -- who wrote the row
  policy TEXT COLLATE "C" NOT NULL, -- the rule of the fingerprint
  fingerprint BYTEA NOT NULL, -- 32 bytes
  status TEXT COLLATE "C" NOT NULL, -- 'pending' or 'completed'
  generation BIGINT NOT NULL, -- from 1; with owner, the fence
  owner BYTEA NOT NULL, -- 16 bytes
  claimed_at BIGINT NOT NULL,
  lease_until BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  gone_at BIGINT NOT NULL,
  sweep_at BIGINT NOT NULL,
  recovery_point TEXT COLLATE "C" NOT NULL DEFAULT '', -- for phases, which a later release brings
  recovery_state BYTEA NOT NULL DEFAULT '',
  response_status BIGINT NOT NULL DEFAULT 0,
  response_headers BYTEA NOT NULL DEFAULT '',
  response_body BYTEA NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  PRIMARY KEY (principal, scope, key)
);

-- What a sweep reads, and nothing else does.
CREATE INDEX IF NOT EXISTS idempotency_keys_sweep_at ON idempotency_keys (sweep_at);

-- The version of this schema, so that a release that needs another one says so
-- at its start. Migrations between releases are plain SQL.
CREATE TABLE IF NOT EXISTS idempotency_keys_schema (
  id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
  version BIGINT NOT NULL
);

INSERT INTO idempotency_keys_schema (id, version) VALUES (1, 1) ON CONFLICT (id) DO NOTHING;
