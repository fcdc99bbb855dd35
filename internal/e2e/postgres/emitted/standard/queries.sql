-- Every statement that may meet a locked row limits its wait by itself: set_config
-- sets lock_timeout for the statement's transaction alone, in a CTE that is
-- materialized and read before any row is locked. So there is no session state,
-- which a pooler would lose or hand on, and no further round trip. The same CTE
-- reads the clock: once, so that the times of a row agree. A batch does both in
-- a statement of its own, Together. Statements with which a request takes a row
-- from another wait for milliseconds at most, because they keep a connection from
-- others as long: the ledger sends them again. An owner waits for its own row for
-- a second.

-- name: Insert :one
-- Claims a key that no row holds. A row that holds it, in whatever state, makes
-- this return nothing; the caller then reads it and decides. DO NOTHING locks no
-- row and writes nothing, so a lost race costs no commit; what it may wait for is
-- another transaction that is inserting the same key. The exception is the
-- claim's own row, which an earlier send of this statement wrote although its
-- answer was lost: it gets the lease of this send. Another owner's row does not
-- match there, so it is not locked.
WITH env AS MATERIALIZED (
  SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '10ms', true) AS lock_limit
), inserted AS (
  INSERT INTO idempotency_keys AS k (
    principal, scope, key, operation, policy, fingerprint, status, generation, owner,
    claimed_at, lease_until, expires_at, gone_at, sweep_at, created_at
  )
  SELECT
    sqlc.arg(principal)::bytea, sqlc.arg(scope)::bytea, sqlc.arg(key)::bytea,
    sqlc.arg(operation)::text, sqlc.arg(policy)::text, sqlc.arg(fingerprint)::bytea,
    'pending', 1, sqlc.arg(owner)::bytea,
    env.now,
    env.now + sqlc.arg(lease_ms)::bigint,
    env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint,
    env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint + sqlc.arg(gone_ms)::bigint,
    env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint,
    env.now
  FROM env
  WHERE env.lock_limit IS NOT NULL
  ON CONFLICT (principal, scope, key) DO NOTHING
  RETURNING k.generation, k.claimed_at, k.lease_until
), own AS (
  UPDATE idempotency_keys AS k SET
    lease_until = env.now + sqlc.arg(lease_ms)::bigint,
    expires_at = env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint,
    gone_at = env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint + sqlc.arg(gone_ms)::bigint,
    sweep_at = env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint
  FROM env
  WHERE NOT EXISTS (SELECT 1 FROM inserted)
    AND k.principal = sqlc.arg(principal)::bytea AND k.scope = sqlc.arg(scope)::bytea AND k.key = sqlc.arg(key)::bytea
    AND k.owner = sqlc.arg(owner)::bytea AND k.status = 'pending'
  RETURNING k.generation, k.claimed_at, k.lease_until
)
SELECT inserted.generation, inserted.claimed_at, inserted.lease_until FROM inserted
UNION ALL
SELECT own.generation, own.claimed_at, own.lease_until FROM own;

-- name: InsertFirst :one
-- Insert for a claim that was not sent before, so that no row can be its own.
WITH env AS MATERIALIZED (
  SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '10ms', true) AS lock_limit
)
INSERT INTO idempotency_keys AS k (
  principal, scope, key, operation, policy, fingerprint, status, generation, owner,
  claimed_at, lease_until, expires_at, gone_at, sweep_at, created_at
)
SELECT
  sqlc.arg(principal)::bytea, sqlc.arg(scope)::bytea, sqlc.arg(key)::bytea,
  sqlc.arg(operation)::text, sqlc.arg(policy)::text, sqlc.arg(fingerprint)::bytea,
  'pending', 1, sqlc.arg(owner)::bytea,
  env.now,
  env.now + sqlc.arg(lease_ms)::bigint,
  env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint,
  env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint + sqlc.arg(gone_ms)::bigint,
  env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint,
  env.now
FROM env
WHERE env.lock_limit IS NOT NULL
ON CONFLICT (principal, scope, key) DO NOTHING
RETURNING k.generation, k.claimed_at, k.lease_until;

-- name: Together :one
-- Begins a batch of writes that are sent in one go and commit together. It sets
-- their lock limit, a short one: a batch that fails is repeated row by row, so
-- that a locked row holds up nobody else. And it tells the time that they will
-- all take: now() is the start of their transaction, which is no user's and no
-- longer than the batch.
SELECT set_config('lock_timeout', '50ms', true)::text AS lock_limit, floor(date_part('epoch', now()) * 1000)::bigint AS now;

-- name: InsertTogether :execrows
-- InsertFirst in a batch.
INSERT INTO idempotency_keys AS k (
  principal, scope, key, operation, policy, fingerprint, status, generation, owner,
  claimed_at, lease_until, expires_at, gone_at, sweep_at, created_at
)
VALUES (
  sqlc.arg(principal)::bytea, sqlc.arg(scope)::bytea, sqlc.arg(key)::bytea,
  sqlc.arg(operation)::text, sqlc.arg(policy)::text, sqlc.arg(fingerprint)::bytea,
  'pending', 1, sqlc.arg(owner)::bytea,
  floor(date_part('epoch', now()) * 1000)::bigint,
  floor(date_part('epoch', now()) * 1000)::bigint + sqlc.arg(lease_ms)::bigint,
  floor(date_part('epoch', now()) * 1000)::bigint + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint,
  floor(date_part('epoch', now()) * 1000)::bigint + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint + sqlc.arg(gone_ms)::bigint,
  floor(date_part('epoch', now()) * 1000)::bigint + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint,
  floor(date_part('epoch', now()) * 1000)::bigint
)
ON CONFLICT (principal, scope, key) DO NOTHING;

-- name: CompleteTogether :execrows
-- Complete in a batch.
UPDATE idempotency_keys AS k SET
  status = 'completed',
  response_status = sqlc.arg(response_status)::bigint,
  response_headers = sqlc.arg(response_headers)::bytea,
  response_body = sqlc.arg(response_body)::bytea,
  recovery_point = '',
  recovery_state = '',
  expires_at = floor(date_part('epoch', now()) * 1000)::bigint + sqlc.arg(retain_ms)::bigint,
  gone_at = floor(date_part('epoch', now()) * 1000)::bigint + sqlc.arg(retain_ms)::bigint + sqlc.arg(gone_ms)::bigint,
  sweep_at = floor(date_part('epoch', now()) * 1000)::bigint + sqlc.arg(retain_ms)::bigint
WHERE k.principal = sqlc.arg(principal)::bytea AND k.scope = sqlc.arg(scope)::bytea AND k.key = sqlc.arg(key)::bytea
  AND k.generation = sqlc.arg(generation)::bigint AND k.owner = sqlc.arg(owner)::bytea AND k.status = 'pending';

-- name: Read :one
-- Shows a row and the time at which it was read, so that no other clock judges
-- its lease. It takes no lock and waits for no writer.
SELECT
  k.operation, k.policy, k.fingerprint, k.status, k.generation, k.owner, k.claimed_at, k.lease_until, k.expires_at, k.gone_at,
  k.response_status, k.response_headers, k.response_body,
  floor(date_part('epoch', clock_timestamp()) * 1000)::bigint AS now
FROM idempotency_keys AS k
WHERE k.principal = sqlc.arg(principal)::bytea AND k.scope = sqlc.arg(scope)::bytea AND k.key = sqlc.arg(key)::bytea;

-- name: TakeOver :one
-- Gives a pending row whose lease is over to a new owner. The owner token that
-- was seen is tested, not only the generation: generations begin again after a
-- sweep, and a row that was released and claimed anew meanwhile must not be
-- taken. The row keeps its operation, policy and fingerprint: a takeover is bound
-- to the same request. claimed_at grows strictly even if the clock was set back,
-- because it is the fencing number. Who has the row's lock is a handler at work
-- more often than not: it is hardly waited for, because a request that waits keeps
-- a connection from others. After a wait PostgreSQL tests the conditions again, on
-- the row as it is then. A half-done row is not
-- taken: who does not know how to go on from its recovery point would start over.
WITH env AS MATERIALIZED (
  SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '1ms', true) AS lock_limit
)
UPDATE idempotency_keys AS k SET
  generation = k.generation + 1,
  owner = sqlc.arg(owner)::bytea,
  claimed_at = greatest(env.now, k.claimed_at + 1),
  lease_until = env.now + sqlc.arg(lease_ms)::bigint,
  expires_at = env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint,
  gone_at = env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint + sqlc.arg(gone_ms)::bigint,
  sweep_at = env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint
FROM env
WHERE env.lock_limit IS NOT NULL
  AND k.principal = sqlc.arg(principal)::bytea AND k.scope = sqlc.arg(scope)::bytea AND k.key = sqlc.arg(key)::bytea
  AND k.generation = sqlc.arg(seen_generation)::bigint AND k.owner = sqlc.arg(seen_owner)::bytea
  AND k.status = 'pending' AND k.lease_until <= env.now
  AND k.expires_at > env.now
  AND k.recovery_point = ''
RETURNING k.generation, k.claimed_at, k.lease_until;

-- name: Reuse :one
-- Gives an expired row to a new claim and resets every column; only the number
-- of the generation and the fencing number go on. Expired means that retention
-- is over and no lease is alive; past gone_at means that the key need not be
-- remembered either. A half-done row never expires.
WITH env AS MATERIALIZED (
  SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '10ms', true) AS lock_limit
)
UPDATE idempotency_keys AS k SET
  operation = sqlc.arg(operation)::text,
  policy = sqlc.arg(policy)::text,
  fingerprint = sqlc.arg(fingerprint)::bytea,
  status = 'pending',
  generation = k.generation + 1,
  owner = sqlc.arg(owner)::bytea,
  claimed_at = greatest(env.now, k.claimed_at + 1),
  lease_until = env.now + sqlc.arg(lease_ms)::bigint,
  expires_at = env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint,
  gone_at = env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint + sqlc.arg(gone_ms)::bigint,
  sweep_at = env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint,
  recovery_point = '',
  recovery_state = '',
  response_status = 0,
  response_headers = '',
  response_body = '',
  created_at = env.now
FROM env
WHERE env.lock_limit IS NOT NULL
  AND k.principal = sqlc.arg(principal)::bytea AND k.scope = sqlc.arg(scope)::bytea AND k.key = sqlc.arg(key)::bytea
  AND k.generation = sqlc.arg(seen_generation)::bigint AND k.owner = sqlc.arg(seen_owner)::bytea
  AND k.expires_at <= env.now
  AND (k.status = 'completed' OR k.lease_until <= env.now)
  AND k.gone_at <= env.now
  AND k.recovery_point = ''
RETURNING k.generation, k.claimed_at, k.lease_until;

-- name: Renew :one
-- Extends a lease. Only the fence is tested: a lease that is over but was not
-- taken over may be renewed by its owner.
WITH env AS MATERIALIZED (
  SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '1s', true) AS lock_limit
)
UPDATE idempotency_keys AS k SET
  lease_until = env.now + sqlc.arg(lease_ms)::bigint,
  expires_at = env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint,
  gone_at = env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint + sqlc.arg(gone_ms)::bigint,
  sweep_at = env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint
FROM env
WHERE env.lock_limit IS NOT NULL
  AND k.principal = sqlc.arg(principal)::bytea AND k.scope = sqlc.arg(scope)::bytea AND k.key = sqlc.arg(key)::bytea
  AND k.generation = sqlc.arg(generation)::bigint AND k.owner = sqlc.arg(owner)::bytea AND k.status = 'pending'
RETURNING k.generation, k.claimed_at, k.lease_until;

-- name: Complete :execrows
-- Stores the answer. The fence alone decides whether it stands: an owner whose
-- lease is over but whom nobody replaced may still complete. The owner token
-- stays, so that a completion which is repeated can recognise itself. What is
-- complete is no longer half done.
WITH env AS MATERIALIZED (
  SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '1s', true) AS lock_limit
)
UPDATE idempotency_keys AS k SET
  status = 'completed',
  response_status = sqlc.arg(response_status)::bigint,
  response_headers = sqlc.arg(response_headers)::bytea,
  response_body = sqlc.arg(response_body)::bytea,
  recovery_point = '',
  recovery_state = '',
  expires_at = env.now + sqlc.arg(retain_ms)::bigint,
  gone_at = env.now + sqlc.arg(retain_ms)::bigint + sqlc.arg(gone_ms)::bigint,
  sweep_at = env.now + sqlc.arg(retain_ms)::bigint
FROM env
WHERE env.lock_limit IS NOT NULL
  AND k.principal = sqlc.arg(principal)::bytea AND k.scope = sqlc.arg(scope)::bytea AND k.key = sqlc.arg(key)::bytea
  AND k.generation = sqlc.arg(generation)::bigint AND k.owner = sqlc.arg(owner)::bytea AND k.status = 'pending';

-- name: Lock :one
-- Tests the fence at the start of a handler's transaction and keeps the row
-- locked until its end, so that nobody takes the claim over meanwhile.
--
-- It does so as an insert that meets the row, and not as SELECT FOR UPDATE, for
-- the sake of SERIALIZABLE: that reads the primary key's index, which makes
-- PostgreSQL guard whole pages of it, so that handlers of neighbouring keys would
-- fail each other; the search of ON CONFLICT is not guarded. The row that it
-- meets is locked and then left as it is, because the condition is never true: a
-- changed row would make the inserts of duplicate requests wait for the handler.
-- That the fence holds is said by a setting of this transaction instead. Where
-- the key has no row after all, the insert puts one there, which the caller
-- rolls back.
--
-- The lock limit is the session's own again when the fence holds: the handler's
-- statements follow in the same transaction.
WITH before AS MATERIALIZED (
  SELECT current_setting('lock_timeout') AS lock_timeout
), env AS MATERIALIZED (
  SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '1s', true) AS lock_limit, before.lock_timeout AS before
  FROM before
), absent AS (
  INSERT INTO idempotency_keys AS k (
    principal, scope, key, operation, policy, fingerprint, status, generation, owner,
    claimed_at, lease_until, expires_at, gone_at, sweep_at, created_at
  )
  SELECT
    sqlc.arg(principal)::bytea, sqlc.arg(scope)::bytea, sqlc.arg(key)::bytea,
    '', '', decode(repeat('00', 32), 'hex'), 'pending', sqlc.arg(generation)::bigint, sqlc.arg(owner)::bytea,
    0, 0, 0, 0, 0, 0
  FROM env
  WHERE env.lock_limit IS NOT NULL AND sqlc.arg(generation)::bigint >= 1
  ON CONFLICT (principal, scope, key) DO UPDATE SET status = k.status
  WHERE CASE
    WHEN k.generation = excluded.generation AND k.owner = excluded.owner AND k.status = 'pending'
    THEN set_config('idemgen.held', encode(excluded.owner, 'hex'), true) IS NULL
      OR set_config('lock_timeout', (SELECT env.before FROM env), true) IS NULL
    ELSE false
  END
  RETURNING 1
)
SELECT (CASE
  WHEN (SELECT count(*) FROM absent) = 0 AND current_setting('idemgen.held', true) = encode(sqlc.arg(owner)::bytea, 'hex') THEN 1
  ELSE 0
END)::bigint AS held;

-- name: InsertOnce :one
-- Claims a key that no row holds, inside the transaction that will also carry the
-- effect and the answer. Nobody else sees the row before that commits, so a
-- second insert of the key would wait for a whole handler: a lock on the key's
-- number is tried first, and whoever does not get it is told that another is at
-- work. The lock ends with the transaction. The number of the table is mixed in,
-- so that two ledgers in one database do not meet.
--
-- The lock limit is for the inserts of other processes that claim by themselves;
-- it is the session's own again for the handler's statements.
WITH before AS MATERIALIZED (
  SELECT
    current_setting('lock_timeout') AS lock_timeout,
    pg_try_advisory_xact_lock(sqlc.arg(gate)::bigint # 'idempotency_keys'::regclass::oid::bigint) AS free
), env AS MATERIALIZED (
  SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '1s', true) AS lock_limit, before.lock_timeout AS before
  FROM before
  WHERE before.free
), inserted AS (
  INSERT INTO idempotency_keys AS k (
    principal, scope, key, operation, policy, fingerprint, status, generation, owner,
    claimed_at, lease_until, expires_at, gone_at, sweep_at, created_at
  )
  SELECT
    sqlc.arg(principal)::bytea, sqlc.arg(scope)::bytea, sqlc.arg(key)::bytea,
    sqlc.arg(operation)::text, sqlc.arg(policy)::text, sqlc.arg(fingerprint)::bytea,
    'pending', 1, sqlc.arg(owner)::bytea,
    env.now,
    env.now + sqlc.arg(lease_ms)::bigint,
    env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint,
    env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint + sqlc.arg(gone_ms)::bigint,
    env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint,
    env.now
  FROM env
  WHERE env.lock_limit IS NOT NULL
  ON CONFLICT (principal, scope, key) DO NOTHING
  RETURNING k.generation, k.claimed_at, k.lease_until, set_config('lock_timeout', (SELECT env.before FROM env), true) AS restored
)
SELECT
  before.free::boolean AS free,
  coalesce(inserted.generation, 0)::bigint AS generation,
  coalesce(inserted.claimed_at, 0)::bigint AS claimed_at,
  coalesce(inserted.lease_until, 0)::bigint AS lease_until
FROM before LEFT JOIN inserted ON inserted.restored IS NOT NULL;

-- name: CompleteIn :one
-- Stores the answer inside the handler's transaction, which Lock began. It is
-- Complete as an insert that meets the row, for the reason given at Lock; here
-- the row's claimed_at tells it from one that was put there.
WITH before AS MATERIALIZED (
  SELECT current_setting('lock_timeout') AS lock_timeout
), env AS MATERIALIZED (
  SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '1s', true) AS lock_limit, before.lock_timeout AS before
  FROM before
), completed AS (
  INSERT INTO idempotency_keys AS k (
    principal, scope, key, operation, policy, fingerprint, status, generation, owner,
    claimed_at, lease_until, expires_at, gone_at, sweep_at, created_at,
    response_status, response_headers, response_body
  )
  SELECT
    sqlc.arg(principal)::bytea, sqlc.arg(scope)::bytea, sqlc.arg(key)::bytea,
    '', '', decode(repeat('00', 32), 'hex'), 'completed', sqlc.arg(generation)::bigint, sqlc.arg(owner)::bytea,
    0, 0,
    env.now + sqlc.arg(retain_ms)::bigint,
    env.now + sqlc.arg(retain_ms)::bigint + sqlc.arg(gone_ms)::bigint,
    env.now + sqlc.arg(retain_ms)::bigint,
    0,
    sqlc.arg(response_status)::bigint, sqlc.arg(response_headers)::bytea, sqlc.arg(response_body)::bytea
  FROM env
  WHERE env.lock_limit IS NOT NULL AND sqlc.arg(generation)::bigint >= 1
  ON CONFLICT (principal, scope, key) DO UPDATE SET
    status = excluded.status,
    response_status = excluded.response_status,
    response_headers = excluded.response_headers,
    response_body = excluded.response_body,
    recovery_point = '',
    recovery_state = '',
    expires_at = excluded.expires_at,
    gone_at = excluded.gone_at,
    sweep_at = excluded.sweep_at
  WHERE k.generation = excluded.generation AND k.owner = excluded.owner AND k.status = 'pending'
  RETURNING k.claimed_at, set_config('lock_timeout', (SELECT env.before FROM env), true) AS restored
)
SELECT count(*) AS held FROM completed WHERE completed.claimed_at > 0 AND completed.restored IS NOT NULL;

-- name: Release :execrows
-- Forgets a claim, so that a retry runs again; never a half-done one, whose first
-- phases stand.
WITH env AS MATERIALIZED (
  SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '1s', true) AS lock_limit
)
DELETE FROM idempotency_keys AS k
USING env
WHERE env.lock_limit IS NOT NULL
  AND k.principal = sqlc.arg(principal)::bytea AND k.scope = sqlc.arg(scope)::bytea AND k.key = sqlc.arg(key)::bytea
  AND k.generation = sqlc.arg(generation)::bigint AND k.owner = sqlc.arg(owner)::bytea AND k.status = 'pending'
  AND k.recovery_point = '';

-- name: EndLease :execrows
-- Lets the next request take the key over at once. A lease that has ended stays
-- as it is.
WITH env AS MATERIALIZED (
  SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '1s', true) AS lock_limit
)
UPDATE idempotency_keys AS k SET
  lease_until = least(k.lease_until, env.now)
FROM env
WHERE env.lock_limit IS NOT NULL
  AND k.principal = sqlc.arg(principal)::bytea AND k.scope = sqlc.arg(scope)::bytea AND k.key = sqlc.arg(key)::bytea
  AND k.generation = sqlc.arg(generation)::bigint AND k.owner = sqlc.arg(owner)::bytea AND k.status = 'pending';

-- name: Confirm :execrows
-- Writes to the row of a claim, and changes nothing of it. A row can be seen before its
-- commit is durable, where that commit was given up while it waited for a standby:
-- when the commit of this write is acknowledged, so is every one that came before.
WITH env AS MATERIALIZED (
  SELECT set_config('lock_timeout', '1s', true) AS lock_limit
)
UPDATE idempotency_keys AS k SET
  status = k.status
FROM env
WHERE env.lock_limit IS NOT NULL
  AND k.principal = sqlc.arg(principal)::bytea AND k.scope = sqlc.arg(scope)::bytea AND k.key = sqlc.arg(key)::bytea
  AND k.generation = sqlc.arg(generation)::bigint AND k.owner = sqlc.arg(owner)::bytea;

-- name: Sweep :one
-- Drops the answers of expired rows whose key is still remembered, and puts them
-- off until they are gone; deletes expired rows that need not be remembered. Both
-- in one statement, so that each row that is locked is changed. What is due is
-- read in the order of the index of sweep_at and locked on the way, past rows
-- that somebody holds; the conditions are tested on the row as it is once locked.
-- The locked rows are then found by their place, which the lock keeps: no plan
-- for that reads the rest of the table. A place is one of a partition: without the
-- partition's number, other rows would be meant, too. Half-done rows are left alone, however old
-- they are.
WITH env AS MATERIALIZED (
  SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint AS now
), due AS MATERIALIZED (
  SELECT d.ctid::tid AS place, d.tableoid::oid AS part, d.gone_at FROM idempotency_keys AS d
  WHERE d.sweep_at <= (SELECT env.now FROM env)
    AND d.expires_at <= (SELECT env.now FROM env)
    AND (d.status = 'completed' OR d.lease_until <= (SELECT env.now FROM env))
    AND d.recovery_point = ''
  ORDER BY d.sweep_at LIMIT sqlc.arg(max_rows)::bigint
  FOR UPDATE SKIP LOCKED
), dropped AS (
  UPDATE idempotency_keys AS k SET
    response_status = 0,
    response_headers = '',
    response_body = '',
    sweep_at = k.gone_at
  WHERE k.ctid = ANY(ARRAY(SELECT due.place FROM due))
    AND (k.tableoid, k.ctid) IN (SELECT due.part, due.place FROM due WHERE due.gone_at > (SELECT env.now FROM env))
  RETURNING 1
), deleted AS (
  DELETE FROM idempotency_keys AS k
  WHERE k.ctid = ANY(ARRAY(SELECT due.place FROM due))
    AND (k.tableoid, k.ctid) IN (SELECT due.part, due.place FROM due WHERE due.gone_at <= (SELECT env.now FROM env))
  RETURNING 1
)
SELECT ((SELECT count(*) FROM dropped) + (SELECT count(*) FROM deleted))::bigint AS changed;

-- name: Counts :many
-- Counts rows by operation and by what they are at this moment. It reads the
-- whole table: it is for operators, not for requests.
WITH env AS MATERIALIZED (
  SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint AS now
)
SELECT
  k.operation,
  (CASE
    WHEN k.expires_at <= env.now AND (k.status = 'completed' OR k.lease_until <= env.now) THEN 'expired'
    WHEN k.status = 'completed' THEN 'completed'
    WHEN k.lease_until <= env.now THEN 'stale'
    ELSE 'pending'
  END)::text AS state,
  count(*) AS row_count
FROM idempotency_keys AS k, env
GROUP BY 1, 2
ORDER BY 1, 2;

-- name: Erase :execrows
-- Deletes rows of one principal, except those whose work is running: without
-- its row a running claim could neither complete nor keep others out. A row that
-- somebody holds is waited for, within the lock limit: it must not be left
-- behind unsaid. Half-done rows stay, too.
WITH env AS MATERIALIZED (
  SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '1s', true) AS lock_limit
), due AS MATERIALIZED (
  SELECT mine.ctid::tid AS place, mine.tableoid::oid AS part FROM idempotency_keys AS mine, env
  WHERE env.lock_limit IS NOT NULL
    AND mine.principal = sqlc.arg(principal)::bytea
    AND (mine.status = 'completed' OR mine.lease_until <= env.now)
    AND mine.recovery_point = ''
  LIMIT sqlc.arg(max_rows)::bigint
  FOR UPDATE OF mine
)
DELETE FROM idempotency_keys AS k
WHERE k.ctid = ANY(ARRAY(SELECT due.place FROM due))
  AND (k.tableoid, k.ctid) IN (SELECT due.part, due.place FROM due);

-- name: List :many
-- Shows a page of rows behind a primary key, in its order, without their answers.
-- It reads a range of the primary key and sorts nothing; what is wanted of the
-- rows is chosen by who reads them.
SELECT
  k.principal, k.scope, k.key, k.operation, k.policy, k.status, k.generation, k.owner, k.claimed_at, k.lease_until, k.expires_at, k.gone_at,
  k.recovery_point, k.response_status, (octet_length(k.response_headers) + octet_length(k.response_body))::bigint AS answer_bytes,
  floor(date_part('epoch', clock_timestamp()) * 1000)::bigint AS now
FROM idempotency_keys AS k
WHERE (k.principal, k.scope, k.key) > (sqlc.arg(principal)::bytea, sqlc.arg(scope)::bytea, sqlc.arg(key)::bytea)
ORDER BY k.principal, k.scope, k.key
LIMIT sqlc.arg(max_rows)::bigint;

-- name: Kept :one
-- Counts the rows of one principal, and reads no more of them than the bound.
SELECT count(*) AS kept FROM (
  SELECT 1 FROM idempotency_keys AS mine WHERE mine.principal = sqlc.arg(principal)::bytea
  LIMIT sqlc.arg(max_rows)::bigint
) AS found;

-- name: SchemaVersion :one
SELECT version FROM idempotency_keys_schema WHERE id = 1;
