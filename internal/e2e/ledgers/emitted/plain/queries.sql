-- name: Insert :one
-- Claims a key that no row holds. A row that holds it, in whatever state, makes
-- this return nothing; the caller then reads it and decides. Nothing is written
-- in that case, so a lost race costs no commit. The exception is the claim's own
-- row, which an earlier send of this statement wrote although its answer was
-- lost (database/sql sends again by itself): it gets the lease of this send.
INSERT INTO idempotency_keys (
  principal, scope, key, operation, policy, fingerprint, status, generation, owner,
  claimed_at, lease_until, expires_at, gone_at, sweep_at, created_at
) VALUES (
  sqlc.arg(principal), sqlc.arg(scope), sqlc.arg(key), sqlc.arg(operation), sqlc.arg(policy), sqlc.arg(fingerprint),
  'pending', 1, sqlc.arg(owner),
  CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER),
  CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(lease_ms) AS INTEGER),
  CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(lease_ms) AS INTEGER) + CAST(sqlc.arg(retain_ms) AS INTEGER),
  CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(lease_ms) AS INTEGER) + CAST(sqlc.arg(retain_ms) AS INTEGER) + CAST(sqlc.arg(gone_ms) AS INTEGER),
  CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(lease_ms) AS INTEGER) + CAST(sqlc.arg(retain_ms) AS INTEGER),
  CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)
)
ON CONFLICT (principal, scope, key) DO UPDATE SET
  lease_until = excluded.lease_until,
  expires_at = excluded.expires_at,
  gone_at = excluded.gone_at,
  sweep_at = excluded.sweep_at
WHERE owner = excluded.owner AND status = 'pending'
RETURNING generation, claimed_at, lease_until;

-- name: Read :one
-- Shows a row and the time at which it was read, so that no other clock judges
-- its lease. What is short is one text: columns cost the driver more than the
-- search for the row.
SELECT
  operation, policy, fingerprint, owner,
  CAST(status || ' ' || generation || ' ' || claimed_at || ' ' || lease_until || ' ' || expires_at || ' ' || gone_at
    || ' ' || response_status || ' ' || CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) AS TEXT) AS packed,
  response_headers, response_body
FROM idempotency_keys
WHERE principal = sqlc.arg(principal) AND scope = sqlc.arg(scope) AND key = sqlc.arg(key);

-- name: TakeOver :one
-- Gives a pending row whose lease is over to a new owner. The owner token that
-- was seen is tested, not only the generation: generations begin again after a
-- sweep, and a row that was released and claimed anew meanwhile must not be
-- taken. The row keeps its operation, policy and fingerprint: a takeover is bound
-- to the same request. claimed_at grows strictly even if the clock was set back,
-- because it is the fencing number. A half-done row is not taken: who does not know
-- how to go on from its recovery point would start over.
UPDATE idempotency_keys SET
  generation = generation + 1,
  owner = sqlc.arg(owner),
  claimed_at = max(CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER), claimed_at + 1),
  lease_until = CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(lease_ms) AS INTEGER),
  expires_at = CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(lease_ms) AS INTEGER) + CAST(sqlc.arg(retain_ms) AS INTEGER),
  gone_at = CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(lease_ms) AS INTEGER) + CAST(sqlc.arg(retain_ms) AS INTEGER) + CAST(sqlc.arg(gone_ms) AS INTEGER),
  sweep_at = CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(lease_ms) AS INTEGER) + CAST(sqlc.arg(retain_ms) AS INTEGER)
WHERE principal = sqlc.arg(principal) AND scope = sqlc.arg(scope) AND key = sqlc.arg(key)
  AND generation = sqlc.arg(seen_generation) AND owner = sqlc.arg(seen_owner)
  AND status = 'pending' AND lease_until <= CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)
  AND expires_at > CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)
  AND recovery_point = ''
RETURNING generation, claimed_at, lease_until;

-- name: Reuse :one
-- Gives an expired row to a new claim and resets every column; only the number
-- of the generation and the fencing number go on. Expired means that retention
-- is over and no lease is alive; past gone_at means that the key need not be
-- remembered either. A half-done row never expires.
UPDATE idempotency_keys SET
  operation = sqlc.arg(operation),
  policy = sqlc.arg(policy),
  fingerprint = sqlc.arg(fingerprint),
  status = 'pending',
  generation = generation + 1,
  owner = sqlc.arg(owner),
  claimed_at = max(CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER), claimed_at + 1),
  lease_until = CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(lease_ms) AS INTEGER),
  expires_at = CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(lease_ms) AS INTEGER) + CAST(sqlc.arg(retain_ms) AS INTEGER),
  gone_at = CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(lease_ms) AS INTEGER) + CAST(sqlc.arg(retain_ms) AS INTEGER) + CAST(sqlc.arg(gone_ms) AS INTEGER),
  sweep_at = CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(lease_ms) AS INTEGER) + CAST(sqlc.arg(retain_ms) AS INTEGER),
  recovery_point = '',
  recovery_state = x'',
  response_status = 0,
  response_headers = x'',
  response_body = x'',
  created_at = CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)
WHERE principal = sqlc.arg(principal) AND scope = sqlc.arg(scope) AND key = sqlc.arg(key)
  AND generation = sqlc.arg(seen_generation) AND owner = sqlc.arg(seen_owner)
  AND expires_at <= CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)
  AND (status = 'completed' OR lease_until <= CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER))
  AND gone_at <= CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)
  AND recovery_point = ''
RETURNING generation, claimed_at, lease_until;

-- name: Renew :one
-- Extends a lease. Only the fence is tested: a lease that is over but was not
-- taken over may be renewed by its owner.
UPDATE idempotency_keys SET
  lease_until = CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(lease_ms) AS INTEGER),
  expires_at = CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(lease_ms) AS INTEGER) + CAST(sqlc.arg(retain_ms) AS INTEGER),
  gone_at = CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(lease_ms) AS INTEGER) + CAST(sqlc.arg(retain_ms) AS INTEGER) + CAST(sqlc.arg(gone_ms) AS INTEGER),
  sweep_at = CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(lease_ms) AS INTEGER) + CAST(sqlc.arg(retain_ms) AS INTEGER)
WHERE principal = sqlc.arg(principal) AND scope = sqlc.arg(scope) AND key = sqlc.arg(key)
  AND generation = sqlc.arg(generation) AND owner = sqlc.arg(owner) AND status = 'pending'
RETURNING generation, claimed_at, lease_until;

-- name: Complete :execrows
-- Stores the answer. The fence alone decides whether it stands: an owner whose
-- lease is over but whom nobody replaced may still complete. The owner token
-- stays, so that a completion which is repeated can recognise itself. What is
-- complete is no longer half done.
UPDATE idempotency_keys SET
  status = 'completed',
  response_status = sqlc.arg(response_status),
  response_headers = sqlc.arg(response_headers),
  response_body = sqlc.arg(response_body),
  recovery_point = '',
  recovery_state = x'',
  expires_at = CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(retain_ms) AS INTEGER),
  gone_at = CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(retain_ms) AS INTEGER) + CAST(sqlc.arg(gone_ms) AS INTEGER),
  sweep_at = CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + CAST(sqlc.arg(retain_ms) AS INTEGER)
WHERE principal = sqlc.arg(principal) AND scope = sqlc.arg(scope) AND key = sqlc.arg(key)
  AND generation = sqlc.arg(generation) AND owner = sqlc.arg(owner) AND status = 'pending';

-- name: Lock :execrows
-- Tests the fence at the start of a handler's transaction. It changes nothing,
-- but it is a write: the transaction is the file's writer from here on, so that
-- no later statement of the handler can fail for want of the lock.
UPDATE idempotency_keys SET
  status = 'pending'
WHERE principal = sqlc.arg(principal) AND scope = sqlc.arg(scope) AND key = sqlc.arg(key)
  AND generation = sqlc.arg(generation) AND owner = sqlc.arg(owner) AND status = 'pending';

-- name: Release :execrows
-- Forgets a claim, so that a retry runs again; never a half-done one, whose first
-- phases stand.
DELETE FROM idempotency_keys
WHERE principal = sqlc.arg(principal) AND scope = sqlc.arg(scope) AND key = sqlc.arg(key)
  AND generation = sqlc.arg(generation) AND owner = sqlc.arg(owner) AND status = 'pending'
  AND recovery_point = '';

-- name: EndLease :execrows
-- Lets the next request take the key over at once. A lease that has ended stays
-- as it is.
UPDATE idempotency_keys SET
  lease_until = min(lease_until, CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER))
WHERE principal = sqlc.arg(principal) AND scope = sqlc.arg(scope) AND key = sqlc.arg(key)
  AND generation = sqlc.arg(generation) AND owner = sqlc.arg(owner) AND status = 'pending';

-- name: Confirm :execrows
-- Writes to the row of a claim, and changes nothing of it: when this write is
-- durable, so is every one that came before it.
UPDATE idempotency_keys SET
  status = status
WHERE principal = sqlc.arg(principal) AND scope = sqlc.arg(scope) AND key = sqlc.arg(key)
  AND generation = sqlc.arg(generation) AND owner = sqlc.arg(owner);

-- name: SweepDue :one
-- Says, without a write, whether a sweep would find anything. Half-done rows are
-- left alone by every sweep, however old they are, and do not stand in the way of
-- those behind them.
SELECT CAST(count(*) AS INTEGER) AS due FROM (
  SELECT 1 FROM idempotency_keys AS due WHERE due.sweep_at <= CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)
    AND due.recovery_point = ''
  LIMIT 1
) AS found;

-- name: SweepDrop :execrows
-- Drops the answers of expired rows whose key is still remembered, and puts
-- them off until they are gone. The sub-select reads the index of sweep_at; the
-- conditions are tested again on the row itself.
UPDATE idempotency_keys SET
  response_status = 0,
  response_headers = x'',
  response_body = x'',
  sweep_at = gone_at
WHERE (principal, scope, key) IN (
    SELECT due.principal, due.scope, due.key FROM idempotency_keys AS due
    WHERE due.sweep_at <= CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)
      AND due.recovery_point = ''
    ORDER BY due.sweep_at LIMIT sqlc.arg(max_rows)
  )
  AND expires_at <= CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)
  AND (status = 'completed' OR lease_until <= CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER))
  AND gone_at > CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)
  AND recovery_point = '';

-- name: SweepDelete :execrows
-- Deletes expired rows that need not be remembered.
DELETE FROM idempotency_keys
WHERE (principal, scope, key) IN (
    SELECT due.principal, due.scope, due.key FROM idempotency_keys AS due
    WHERE due.sweep_at <= CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)
      AND due.recovery_point = ''
    ORDER BY due.sweep_at LIMIT sqlc.arg(max_rows)
  )
  AND expires_at <= CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)
  AND (status = 'completed' OR lease_until <= CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER))
  AND gone_at <= CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)
  AND recovery_point = '';

-- name: Counts :many
-- Counts rows by operation and by what they are at this moment. It reads the
-- whole table: it is for operators, not for requests.
SELECT
  operation,
  CAST(CASE
    WHEN expires_at <= CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)
      AND (status = 'completed' OR lease_until <= CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)) THEN 'expired'
    WHEN status = 'completed' THEN 'completed'
    WHEN lease_until <= CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) THEN 'stale'
    ELSE 'pending'
  END AS TEXT) AS state,
  count(*) AS row_count
FROM idempotency_keys
GROUP BY 1, 2
ORDER BY 1, 2;

-- name: Erase :execrows
-- Deletes rows of one principal, except those whose work is running: without
-- its row a running claim could neither complete nor keep others out. Half-done
-- rows stay, too.
DELETE FROM idempotency_keys
WHERE (principal, scope, key) IN (
    SELECT mine.principal, mine.scope, mine.key FROM idempotency_keys AS mine
    WHERE mine.principal = sqlc.arg(principal)
      AND (mine.status = 'completed' OR mine.lease_until <= CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER))
      AND mine.recovery_point = ''
    LIMIT sqlc.arg(max_rows)
  );

-- name: List :many
-- Shows a page of rows behind a primary key, in its order, without their answers.
-- It reads a range of the primary key and sorts nothing; what is wanted of the
-- rows is chosen by who reads them.
SELECT
  principal, scope, key, operation, policy, status, generation, owner, claimed_at, lease_until, expires_at, gone_at,
  recovery_point, response_status, CAST(length(response_headers) + length(response_body) AS INTEGER) AS answer_bytes,
  CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) AS now
FROM idempotency_keys
WHERE (principal, scope, key) > (CAST(sqlc.arg(principal) AS TEXT), CAST(sqlc.arg(scope) AS TEXT), CAST(sqlc.arg(key) AS TEXT))
ORDER BY principal, scope, key
LIMIT sqlc.arg(max_rows);

-- name: Kept :one
-- Counts the rows of one principal, and reads no more of them than the bound.
SELECT CAST(count(*) AS INTEGER) AS kept FROM (
  SELECT 1 FROM idempotency_keys AS mine WHERE mine.principal = sqlc.arg(principal)
  LIMIT sqlc.arg(max_rows)
) AS found;

-- name: SchemaVersion :one
SELECT version FROM idempotency_keys_schema WHERE id = 1;
