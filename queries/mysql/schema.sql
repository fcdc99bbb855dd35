-- The ledger of idempotency keys. One row is one key of one caller.
--
-- Times are epoch milliseconds by the database's own clock, so that neither
-- the servers' clocks nor a session's time zone matter. UNIX_TIMESTAMP() and
-- NOW(3) both say when the statement began; of NOW(3), which is local time, only
-- the fraction is used: UNIX_TIMESTAMP(NOW(3)) would be an hour off when the
-- clocks of the session's time zone are set back.
--
-- Whatever sets expires_at sets gone_at and sweep_at with it. sweep_at never
-- lies before the end of the lease, so a sweep meets no live row.
--
-- Text is kept in binary columns, which compare bytewise: "k", "K" and "k " are
-- three keys, whatever the collation of the database. Where the server is not
-- strict, it would cut what is too long for its column; the ledger refuses that
-- before it writes.
CREATE TABLE IF NOT EXISTS idempotency_keys (
  principal VARBINARY(255) NOT NULL,
  scope VARBINARY(255) NOT NULL, -- '' or the operation's name
  `key` VARBINARY(255) NOT NULL,
  operation VARBINARY(255) NOT NULL, -- who wrote the row
  policy BLOB NOT NULL, -- the rule of the fingerprint
  fingerprint VARBINARY(32) NOT NULL CHECK (LENGTH(fingerprint) = 32),
  status VARCHAR(9) CHARACTER SET ascii COLLATE ascii_bin NOT NULL CHECK (status IN ('pending', 'completed')),
  generation BIGINT NOT NULL CHECK (generation >= 1), -- with owner, the fence
  owner VARBINARY(16) NOT NULL CHECK (LENGTH(owner) = 16),
  claimed_at BIGINT NOT NULL,
  lease_until BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  gone_at BIGINT NOT NULL,
  sweep_at BIGINT NOT NULL,
  recovery_point VARBINARY(255) NOT NULL DEFAULT '', -- for phases, which a later release brings
  recovery_state LONGBLOB NOT NULL,
  response_status BIGINT NOT NULL DEFAULT 0,
  response_headers LONGBLOB NOT NULL,
  response_body LONGBLOB NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (principal, scope, `key`),
  INDEX sweep_at (sweep_at) -- what a sweep reads, and nothing else does
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- The version of this schema, so that a release that needs another one says so
-- at its start. Migrations between releases are plain SQL.
CREATE TABLE IF NOT EXISTS idempotency_keys_schema (
  id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
  version BIGINT NOT NULL
) ENGINE = InnoDB;

INSERT INTO idempotency_keys_schema (id, version) VALUES (1, 1) ON DUPLICATE KEY UPDATE id = 1;
