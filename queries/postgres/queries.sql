-- name: Insert :one
-- Claims a key that no row holds. A row that holds it, in whatever state, makes
-- this return nothing; the caller then reads it and decides. DO NOTHING takes no
-- lock on that row and writes nothing. The exception is the claim's own row,
-- which an earlier send of this statement wrote although its answer was lost.
--
-- The lock limit rides in the same statement, for this statement's transaction
-- alone: it bounds the wait for another transaction that is inserting the key.
WITH env AS MATERIALIZED (
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '2s', true) AS lock_limit
), claimed AS (
  INSERT INTO idempotency_keys AS k (
    principal, scope, key, operation, policy, fingerprint, status, generation, owner,
    claimed_at, lease_until, expires_at, gone_at, sweep_at, created_at
  )
  SELECT
    sqlc.arg(principal)::text, sqlc.arg(scope)::text, sqlc.arg(key)::text,
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
)
SELECT claimed.generation, claimed.claimed_at, claimed.lease_until FROM claimed
UNION ALL
SELECT k.generation, k.claimed_at, k.lease_until FROM idempotency_keys AS k
WHERE k.principal = sqlc.arg(principal)::text AND k.scope = sqlc.arg(scope)::text AND k.key = sqlc.arg(key)::text
  AND k.owner = sqlc.arg(owner)::bytea AND k.status = 'pending'
  AND NOT EXISTS (SELECT 1 FROM claimed);

-- name: Read :one
-- Shows a row and the time at which it was read, so that no other clock judges
-- its lease. It takes no lock and waits for no writer.
SELECT
  k.operation, k.policy, k.fingerprint, k.status, k.generation, k.owner, k.claimed_at, k.lease_until, k.expires_at, k.gone_at,
  k.response_status, k.response_headers, k.response_body,
  floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now
FROM idempotency_keys AS k
WHERE k.principal = sqlc.arg(principal)::text AND k.scope = sqlc.arg(scope)::text AND k.key = sqlc.arg(key)::text;

-- name: TakeOver :one
-- Gives a pending row whose lease is over to a new owner. The owner token that
-- was seen is tested, not only the generation: generations begin again after a
-- sweep, and a row that was released and claimed anew meanwhile must not be
-- taken. The row keeps its operation, policy and fingerprint: a takeover is bound
-- to the same request. claimed_at grows strictly even if the clock was set back,
-- because it is the fencing number. After a wait for the row's lock PostgreSQL
-- tests the conditions again on the row as it is then.
WITH env AS MATERIALIZED (
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '2s', true) AS lock_limit
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
  AND k.principal = sqlc.arg(principal)::text AND k.scope = sqlc.arg(scope)::text AND k.key = sqlc.arg(key)::text
  AND k.generation = sqlc.arg(seen_generation)::bigint AND k.owner = sqlc.arg(seen_owner)::bytea
  AND k.status = 'pending' AND k.lease_until <= env.now
  AND k.expires_at > env.now
RETURNING k.generation, k.claimed_at, k.lease_until;

-- name: Reuse :one
-- Gives an expired row to a new claim and resets every column; only the number
-- of the generation and the fencing number go on. Expired means that retention
-- is over and no lease is alive; past gone_at means that the key need not be
-- remembered either.
WITH env AS MATERIALIZED (
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '2s', true) AS lock_limit
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
  AND k.principal = sqlc.arg(principal)::text AND k.scope = sqlc.arg(scope)::text AND k.key = sqlc.arg(key)::text
  AND k.generation = sqlc.arg(seen_generation)::bigint AND k.owner = sqlc.arg(seen_owner)::bytea
  AND k.expires_at <= env.now
  AND (k.status = 'completed' OR k.lease_until <= env.now)
  AND k.gone_at <= env.now
RETURNING k.generation, k.claimed_at, k.lease_until;

-- name: Renew :one
-- Extends a lease. Only the fence is tested: a lease that is over but was not
-- taken over may be renewed by its owner.
WITH env AS MATERIALIZED (
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '2s', true) AS lock_limit
)
UPDATE idempotency_keys AS k SET
  lease_until = env.now + sqlc.arg(lease_ms)::bigint,
  expires_at = env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint,
  gone_at = env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint + sqlc.arg(gone_ms)::bigint,
  sweep_at = env.now + sqlc.arg(lease_ms)::bigint + sqlc.arg(retain_ms)::bigint
FROM env
WHERE env.lock_limit IS NOT NULL
  AND k.principal = sqlc.arg(principal)::text AND k.scope = sqlc.arg(scope)::text AND k.key = sqlc.arg(key)::text
  AND k.generation = sqlc.arg(generation)::bigint AND k.owner = sqlc.arg(owner)::bytea AND k.status = 'pending'
RETURNING k.generation, k.claimed_at, k.lease_until;

-- name: Complete :execrows
-- Stores the answer. The fence alone decides whether it stands: an owner whose
-- lease is over but whom nobody replaced may still complete. The owner token
-- stays, so that a completion which is repeated can recognise itself. In a
-- handler's transaction the row is locked already, and nothing is waited for.
WITH env AS MATERIALIZED (
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '2s', true) AS lock_limit
)
UPDATE idempotency_keys AS k SET
  status = 'completed',
  response_status = sqlc.arg(response_status)::bigint,
  response_headers = sqlc.arg(response_headers)::bytea,
  response_body = sqlc.arg(response_body)::bytea,
  expires_at = env.now + sqlc.arg(retain_ms)::bigint,
  gone_at = env.now + sqlc.arg(retain_ms)::bigint + sqlc.arg(gone_ms)::bigint,
  sweep_at = env.now + sqlc.arg(retain_ms)::bigint
FROM env
WHERE env.lock_limit IS NOT NULL
  AND k.principal = sqlc.arg(principal)::text AND k.scope = sqlc.arg(scope)::text AND k.key = sqlc.arg(key)::text
  AND k.generation = sqlc.arg(generation)::bigint AND k.owner = sqlc.arg(owner)::bytea AND k.status = 'pending';

-- name: Lock :execrows
-- Tests the fence at the start of a handler's transaction and keeps the row
-- locked until its end, so that nobody takes the claim over meanwhile. It
-- leaves no dead row behind. It sets no lock limit: that would stay for the
-- handler's own statements.
SELECT 1 FROM idempotency_keys AS k
WHERE k.principal = sqlc.arg(principal)::text AND k.scope = sqlc.arg(scope)::text AND k.key = sqlc.arg(key)::text
  AND k.generation = sqlc.arg(generation)::bigint AND k.owner = sqlc.arg(owner)::bytea AND k.status = 'pending'
FOR UPDATE;

-- name: Release :execrows
-- Forgets a claim, so that a retry runs again.
WITH env AS MATERIALIZED (
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '2s', true) AS lock_limit
)
DELETE FROM idempotency_keys AS k
USING env
WHERE env.lock_limit IS NOT NULL
  AND k.principal = sqlc.arg(principal)::text AND k.scope = sqlc.arg(scope)::text AND k.key = sqlc.arg(key)::text
  AND k.generation = sqlc.arg(generation)::bigint AND k.owner = sqlc.arg(owner)::bytea AND k.status = 'pending';

-- name: EndLease :execrows
-- Lets the next request take the key over at once. A lease that has ended stays
-- as it is.
WITH env AS MATERIALIZED (
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '2s', true) AS lock_limit
)
UPDATE idempotency_keys AS k SET
  lease_until = least(k.lease_until, env.now)
FROM env
WHERE env.lock_limit IS NOT NULL
  AND k.principal = sqlc.arg(principal)::text AND k.scope = sqlc.arg(scope)::text AND k.key = sqlc.arg(key)::text
  AND k.generation = sqlc.arg(generation)::bigint AND k.owner = sqlc.arg(owner)::bytea AND k.status = 'pending';

-- name: SweepDue :one
-- Says, without a write, whether a sweep would find anything.
SELECT count(*) AS due FROM (
  SELECT 1 FROM idempotency_keys AS k WHERE k.sweep_at <= (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) LIMIT 1
) AS found;

-- name: SweepDrop :execrows
-- Drops the answers of expired rows whose key is still remembered, and puts
-- them off until they are gone. The sub-select reads the index of sweep_at and
-- passes over rows that somebody holds; the conditions are tested on the row as
-- it is once locked.
WITH env AS MATERIALIZED (
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '2s', true) AS lock_limit
)
UPDATE idempotency_keys AS k SET
  response_status = 0,
  response_headers = '',
  response_body = '',
  sweep_at = k.gone_at
FROM env, (
  SELECT d.principal, d.scope, d.key FROM idempotency_keys AS d
  WHERE d.sweep_at <= (SELECT env.now FROM env)
  ORDER BY d.sweep_at LIMIT sqlc.arg(max_rows)::bigint
  FOR UPDATE SKIP LOCKED
) AS due
WHERE k.principal = due.principal AND k.scope = due.scope AND k.key = due.key
  AND k.expires_at <= env.now
  AND (k.status = 'completed' OR k.lease_until <= env.now)
  AND k.gone_at > env.now;

-- name: SweepDelete :execrows
-- Deletes expired rows that need not be remembered.
WITH env AS MATERIALIZED (
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, set_config('lock_timeout', '2s', true) AS lock_limit
)
DELETE FROM idempotency_keys AS k
USING env, (
  SELECT d.principal, d.scope, d.key FROM idempotency_keys AS d
  WHERE d.sweep_at <= (SELECT env.now FROM env)
  ORDER BY d.sweep_at LIMIT sqlc.arg(max_rows)::bigint
  FOR UPDATE SKIP LOCKED
) AS due
WHERE k.principal = due.principal AND k.scope = due.scope AND k.key = due.key
  AND k.expires_at <= env.now
  AND (k.status = 'completed' OR k.lease_until <= env.now)
  AND k.gone_at <= env.now;

-- name: Counts :many
-- Counts rows by operation and by what they are at this moment. It reads the
-- whole table: it is for operators, not for requests.
WITH env AS MATERIALIZED (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now)
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
-- its row a running claim could neither complete nor keep others out.
WITH env AS MATERIALIZED (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now)
DELETE FROM idempotency_keys AS k
USING env, (
  SELECT d.principal, d.scope, d.key FROM idempotency_keys AS d
  WHERE d.principal = sqlc.arg(principal)::text
    AND (d.status = 'completed' OR d.lease_until <= (SELECT env.now FROM env))
  LIMIT sqlc.arg(max_rows)::bigint
  FOR UPDATE SKIP LOCKED
) AS mine
WHERE k.principal = mine.principal AND k.scope = mine.scope AND k.key = mine.key
  AND (k.status = 'completed' OR k.lease_until <= env.now);

-- name: SchemaVersion :one
SELECT version FROM idempotency_keys_schema WHERE id = 1;
