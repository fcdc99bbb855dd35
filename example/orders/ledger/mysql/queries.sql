-- The statements with which a request takes a row from another lock it first, in a
-- derived table, and never wait for the lock: a transaction that has it is a handler
-- at work, and the ledger asks again for as long as its own limit allows. So nobody
-- queues for the row, a handler's shared lock can become an exclusive one when its
-- transaction completes, and no setting of the session says how long a request
-- waits. The derived table's LIMIT keeps it from being merged into the statement,
-- which would lose its locking clause; the straight join keeps a small ledger from
-- being read from the other end, which would lock all of it.
--
-- The statements of a row's owner find it by its primary key alone: whoever else has
-- the lock is about to let go of it.
--
-- There is no RETURNING: the ledger reads what a statement wrote by the owner token
-- that it put there.

-- name: Insert :execlastid
-- Claims a key that no row holds. A row that holds it, in whatever state, makes
-- this fail with error 1062; the caller then reads it and decides. The error costs
-- a shared lock on that row for as long as this statement runs, which the shared
-- lock of a handler's transaction lets pass. Its result is the time of the claim.
INSERT INTO idempotency_keys (
  principal, scope, `key`, operation, policy, fingerprint, status, generation, owner,
  claimed_at, lease_until, expires_at, gone_at, sweep_at,
  recovery_state, response_headers, response_body, created_at
) VALUES (
  sqlc.arg(principal), sqlc.arg(scope), sqlc.arg(k), sqlc.arg(operation), sqlc.arg(policy), sqlc.arg(fingerprint),
  'pending', 1, sqlc.arg(owner),
  LAST_INSERT_ID(UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000),
  UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(lease_ms) AS SIGNED),
  UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(lease_ms) AS SIGNED) + CAST(sqlc.arg(retain_ms) AS SIGNED),
  UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(lease_ms) AS SIGNED) + CAST(sqlc.arg(retain_ms) AS SIGNED) + CAST(sqlc.arg(gone_ms) AS SIGNED),
  UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(lease_ms) AS SIGNED) + CAST(sqlc.arg(retain_ms) AS SIGNED),
  '', '', '',
  UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000
);

-- name: Recognise :one
-- Shows the claim that a row carries, if it is this owner's. It takes no lock
-- and waits for no writer.
SELECT generation, claimed_at, lease_until
FROM idempotency_keys
WHERE principal = sqlc.arg(principal) AND scope = sqlc.arg(scope) AND `key` = sqlc.arg(k)
  AND owner = sqlc.arg(owner) AND status = 'pending';

-- name: Read :one
-- Shows a row and the time at which it was read, so that no other clock judges
-- its lease. It takes no lock and waits for no writer.
SELECT
  operation, policy, fingerprint, status, generation, owner, claimed_at, lease_until, expires_at, gone_at,
  response_status, response_headers, response_body,
  CAST(UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 AS SIGNED) AS now
FROM idempotency_keys
WHERE principal = sqlc.arg(principal) AND scope = sqlc.arg(scope) AND `key` = sqlc.arg(k);

-- name: TakeOver :execrows
-- Gives a pending row whose lease is over to a new owner. The owner token that
-- was seen is tested, not only the generation: generations begin again after a
-- sweep, and a row that was released and claimed anew meanwhile must not be
-- taken. The row keeps its operation, policy and fingerprint: a takeover is bound
-- to the same request. claimed_at grows strictly even if the clock was set back,
-- because it is the fencing number. A half-done row is not taken: who does not know
-- how to go on from its recovery point would start over.
UPDATE (
  SELECT held.principal, held.scope, held.`key` FROM idempotency_keys AS held
  WHERE held.principal = sqlc.arg(principal) AND held.scope = sqlc.arg(scope) AND held.`key` = sqlc.arg(k)
  LIMIT 1 FOR UPDATE NOWAIT
) AS free STRAIGHT_JOIN idempotency_keys AS k FORCE INDEX (PRIMARY)
  ON k.principal = free.principal AND k.scope = free.scope AND k.`key` = free.`key`
SET
  k.generation = k.generation + 1,
  k.owner = sqlc.arg(owner),
  k.claimed_at = GREATEST(UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000, k.claimed_at + 1),
  k.lease_until = UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(lease_ms) AS SIGNED),
  k.expires_at = UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(lease_ms) AS SIGNED) + CAST(sqlc.arg(retain_ms) AS SIGNED),
  k.gone_at = UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(lease_ms) AS SIGNED) + CAST(sqlc.arg(retain_ms) AS SIGNED) + CAST(sqlc.arg(gone_ms) AS SIGNED),
  k.sweep_at = UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(lease_ms) AS SIGNED) + CAST(sqlc.arg(retain_ms) AS SIGNED)
WHERE k.generation = sqlc.arg(seen_generation) AND k.owner = sqlc.arg(seen_owner)
  AND k.status = 'pending' AND k.lease_until <= UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000
  AND k.expires_at > UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000
  AND k.recovery_point = '';

-- name: Reuse :execrows
-- Gives an expired row to a new claim and resets every column; only the number
-- of the generation and the fencing number go on. Expired means that retention
-- is over and no lease is alive; past gone_at means that the key need not be
-- remembered either. A half-done row never expires.
UPDATE (
  SELECT held.principal, held.scope, held.`key` FROM idempotency_keys AS held
  WHERE held.principal = sqlc.arg(principal) AND held.scope = sqlc.arg(scope) AND held.`key` = sqlc.arg(k)
  LIMIT 1 FOR UPDATE NOWAIT
) AS free STRAIGHT_JOIN idempotency_keys AS k FORCE INDEX (PRIMARY)
  ON k.principal = free.principal AND k.scope = free.scope AND k.`key` = free.`key`
SET
  k.operation = sqlc.arg(operation),
  k.policy = sqlc.arg(policy),
  k.fingerprint = sqlc.arg(fingerprint),
  k.status = 'pending',
  k.generation = k.generation + 1,
  k.owner = sqlc.arg(owner),
  k.claimed_at = GREATEST(UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000, k.claimed_at + 1),
  k.lease_until = UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(lease_ms) AS SIGNED),
  k.expires_at = UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(lease_ms) AS SIGNED) + CAST(sqlc.arg(retain_ms) AS SIGNED),
  k.gone_at = UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(lease_ms) AS SIGNED) + CAST(sqlc.arg(retain_ms) AS SIGNED) + CAST(sqlc.arg(gone_ms) AS SIGNED),
  k.sweep_at = UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(lease_ms) AS SIGNED) + CAST(sqlc.arg(retain_ms) AS SIGNED),
  k.recovery_point = '',
  k.recovery_state = '',
  k.response_status = 0,
  k.response_headers = '',
  k.response_body = '',
  k.created_at = UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000
WHERE k.generation = sqlc.arg(seen_generation) AND k.owner = sqlc.arg(seen_owner)
  AND k.expires_at <= UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000
  AND (k.status = 'completed' OR k.lease_until <= UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000)
  AND k.gone_at <= UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000
  AND k.recovery_point = '';

-- name: Renew :execrows
-- Extends a lease. Only the fence is tested: a lease that is over but was not
-- taken over may be renewed by its owner.
UPDATE idempotency_keys AS k
SET
  k.lease_until = UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(lease_ms) AS SIGNED),
  k.expires_at = UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(lease_ms) AS SIGNED) + CAST(sqlc.arg(retain_ms) AS SIGNED),
  k.gone_at = UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(lease_ms) AS SIGNED) + CAST(sqlc.arg(retain_ms) AS SIGNED) + CAST(sqlc.arg(gone_ms) AS SIGNED),
  k.sweep_at = UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(lease_ms) AS SIGNED) + CAST(sqlc.arg(retain_ms) AS SIGNED)
WHERE k.principal = sqlc.arg(principal) AND k.scope = sqlc.arg(scope) AND k.`key` = sqlc.arg(k)
  AND k.generation = sqlc.arg(generation) AND k.owner = sqlc.arg(owner) AND k.status = 'pending';

-- name: Complete :execrows
-- Stores the answer. The fence alone decides whether it stands: an owner whose
-- lease is over but whom nobody replaced may still complete. The owner token
-- stays, so that a completion which is repeated can recognise itself. In a
-- handler's transaction the shared lock becomes an exclusive one. What is complete
-- is no longer half done.
UPDATE idempotency_keys AS k
SET
  k.status = 'completed',
  k.response_status = sqlc.arg(response_status),
  k.response_headers = sqlc.arg(response_headers),
  k.response_body = sqlc.arg(response_body),
  k.recovery_point = '',
  k.recovery_state = '',
  k.expires_at = UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(retain_ms) AS SIGNED),
  k.gone_at = UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(retain_ms) AS SIGNED) + CAST(sqlc.arg(gone_ms) AS SIGNED),
  k.sweep_at = UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 + CAST(sqlc.arg(retain_ms) AS SIGNED)
WHERE k.principal = sqlc.arg(principal) AND k.scope = sqlc.arg(scope) AND k.`key` = sqlc.arg(k)
  AND k.generation = sqlc.arg(generation) AND k.owner = sqlc.arg(owner) AND k.status = 'pending';

-- name: Lock :one
-- Tests the fence at the start of a handler's transaction and keeps every other
-- writer off the row until it ends. The lock is a shared one, so that the insert
-- of a duplicate request finds the row at once instead of waiting for the handler.
SELECT CAST(1 AS SIGNED) AS held
FROM idempotency_keys
WHERE principal = sqlc.arg(principal) AND scope = sqlc.arg(scope) AND `key` = sqlc.arg(k)
  AND generation = sqlc.arg(generation) AND owner = sqlc.arg(owner) AND status = 'pending'
LOCK IN SHARE MODE;

-- name: Release :execrows
-- Forgets a claim, so that a retry runs again; never a half-done one, whose first
-- phases stand.
DELETE FROM idempotency_keys
WHERE principal = sqlc.arg(principal) AND scope = sqlc.arg(scope) AND `key` = sqlc.arg(k)
  AND generation = sqlc.arg(generation) AND owner = sqlc.arg(owner) AND status = 'pending'
  AND recovery_point = '';

-- name: EndLease :execrows
-- Lets the next request take the key over at once. A lease that has ended stays
-- as it is.
UPDATE idempotency_keys AS k
SET
  k.lease_until = LEAST(k.lease_until, UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000)
WHERE k.principal = sqlc.arg(principal) AND k.scope = sqlc.arg(scope) AND k.`key` = sqlc.arg(k)
  AND k.generation = sqlc.arg(generation) AND k.owner = sqlc.arg(owner) AND k.status = 'pending';

-- name: Confirm :execrows
-- Writes to the row of a claim. A row can be seen before its commit is durable:
-- when the commit of this write is acknowledged, so is every one that came before
-- it. A write that changes nothing would have no commit, so
-- that the row is swept a millisecond later.
UPDATE idempotency_keys AS k
SET
  k.sweep_at = k.sweep_at + 1
WHERE k.principal = sqlc.arg(principal) AND k.scope = sqlc.arg(scope) AND k.`key` = sqlc.arg(k)
  AND k.generation = sqlc.arg(generation) AND k.owner = sqlc.arg(owner);

-- name: SweepDue :one
-- Says, without a write, whether a sweep would find anything. Half-done rows are
-- left alone by every sweep, however old they are, and do not stand in the way of
-- those behind them.
SELECT CAST(COUNT(*) AS SIGNED) AS due FROM (
  SELECT 1 FROM idempotency_keys AS k FORCE INDEX (sweep_at) WHERE k.sweep_at <= UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 AND k.recovery_point = '' LIMIT 1
) AS found;

-- name: SweepDrop :execrows
-- Drops the answers of expired rows whose key is still remembered, and puts
-- them off until they are gone. The derived table reads the index of sweep_at and
-- locks what it returns, and passes over what others have locked; the conditions
-- are tested again on the row itself. A sub-select with a limit in its place would
-- make the statement read, and lock, the whole table.
UPDATE (
  SELECT found.principal, found.scope, found.`key` FROM idempotency_keys AS found FORCE INDEX (sweep_at)
  WHERE found.sweep_at <= UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000
    AND found.recovery_point = ''
  ORDER BY found.sweep_at LIMIT ? FOR UPDATE SKIP LOCKED
) AS due STRAIGHT_JOIN idempotency_keys AS k FORCE INDEX (PRIMARY)
  ON k.principal = due.principal AND k.scope = due.scope AND k.`key` = due.`key`
SET
  k.response_status = 0,
  k.response_headers = '',
  k.response_body = '',
  k.sweep_at = k.gone_at
WHERE k.expires_at <= UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000
  AND (k.status = 'completed' OR k.lease_until <= UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000)
  AND k.gone_at > UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000
  AND k.recovery_point = '';

-- name: SweepDelete :execrows
-- Deletes expired rows that need not be remembered.
DELETE k FROM (
  SELECT found.principal, found.scope, found.`key` FROM idempotency_keys AS found FORCE INDEX (sweep_at)
  WHERE found.sweep_at <= UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000
    AND found.recovery_point = ''
  ORDER BY found.sweep_at LIMIT ? FOR UPDATE SKIP LOCKED
) AS due STRAIGHT_JOIN idempotency_keys AS k FORCE INDEX (PRIMARY)
  ON k.principal = due.principal AND k.scope = due.scope AND k.`key` = due.`key`
WHERE k.expires_at <= UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000
  AND (k.status = 'completed' OR k.lease_until <= UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000)
  AND k.gone_at <= UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000
  AND k.recovery_point = '';

-- name: Counts :many
-- Counts rows by operation and by what they are at this moment. It reads the
-- whole table: it is for operators, not for requests.
SELECT
  operation,
  CASE
    WHEN expires_at <= UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000
      AND (status = 'completed' OR lease_until <= UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000) THEN 'expired'
    WHEN status = 'completed' THEN 'completed'
    WHEN lease_until <= UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 THEN 'stale'
    ELSE 'pending'
  END AS state,
  COUNT(*) AS row_count
FROM idempotency_keys
GROUP BY 1, 2
ORDER BY 1, 2;

-- name: Erase :execrows
-- Deletes rows of one principal, except those whose work is running: without
-- its row a running claim could neither complete nor keep others out. Half-done
-- rows stay, too.
DELETE k FROM (
  SELECT mine.principal, mine.scope, mine.`key` FROM idempotency_keys AS mine FORCE INDEX (PRIMARY)
  WHERE mine.principal = sqlc.arg(principal)
    AND (mine.status = 'completed' OR mine.lease_until <= UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000)
    AND mine.recovery_point = ''
  LIMIT ? FOR UPDATE SKIP LOCKED
) AS gone STRAIGHT_JOIN idempotency_keys AS k FORCE INDEX (PRIMARY)
  ON k.principal = gone.principal AND k.scope = gone.scope AND k.`key` = gone.`key`;

-- name: List :many
-- Shows a page of rows behind a primary key, in its order, without their answers.
-- It reads a range of the primary key and sorts nothing; what is wanted of the
-- rows is chosen by who reads them.
-- The comparison of whole keys is written out: as rows, it would not be a range.
SELECT
  k.principal, k.scope, k.`key`, k.operation, k.policy, k.status, k.generation, k.owner, k.claimed_at, k.lease_until, k.expires_at, k.gone_at,
  k.recovery_point, k.response_status, CAST(LENGTH(k.response_headers) + LENGTH(k.response_body) AS SIGNED) AS answer_bytes,
  CAST(UNIX_TIMESTAMP() * 1000 + MICROSECOND(NOW(3)) DIV 1000 AS SIGNED) AS now
FROM idempotency_keys AS k FORCE INDEX (PRIMARY)
WHERE k.principal > sqlc.arg(principal)
  OR (k.principal = sqlc.arg(principal) AND k.scope > sqlc.arg(scope))
  OR (k.principal = sqlc.arg(principal) AND k.scope = sqlc.arg(scope) AND k.`key` > sqlc.arg(k))
ORDER BY k.principal, k.scope, k.`key`
LIMIT ?;

-- name: Kept :one
-- Counts the rows of one principal, and reads no more of them than the bound.
SELECT COUNT(*) AS kept FROM (
  SELECT 1 AS one FROM idempotency_keys AS mine FORCE INDEX (PRIMARY) WHERE mine.principal = sqlc.arg(principal)
  LIMIT ?
) AS found;

-- name: SchemaVersion :one
SELECT version FROM idempotency_keys_schema WHERE id = 1;
