package main

// postgresFile is the SQL of PostgreSQL as a user's module gets it through pgx:
// what the tests compile. Its text is that of queries/postgres.
const postgresFile = "internal/e2e/postgres/emitted/native/queries.sql.go"

// postgresTest is a group of the conformance suite, on a server with its
// defaults.
func postgresTest(group string) test {
	return test{module: "internal/e2e", pkg: "./postgres", name: "TestConformance/Defaults/pgx/" + group}
}

// partitionsTest is a table in partitions.
var partitionsTest = test{module: "internal/e2e", pkg: "./postgres", name: "TestPartitionsKeepTheirRows/pgx"}

// postgresMutations break one condition at a time, as those of SQLite.
var postgresMutations = []mutation{
	{
		what: "a claim that is made once more is sent as if it were the first",
		file: "runtime/internal/sqlcore/core.go",
		old:  "return alone(ctx, !w.again)",
		new:  "return alone(ctx, true)",
		test: postgresTest("Insert"),
	},
	{
		what: "a claim that is made once more shares a commit",
		file: "runtime/internal/sqlcore/core.go",
		old:  "l.Shared == nil || w.again",
		new:  "l.Shared == nil",
		test: postgresTest("Insert"),
	},
	{
		what: "CompleteTogether does not test the owner",
		file: postgresFile,
		old:  "WHERE k.principal = $6::bytea AND k.scope = $7::bytea AND k.key = $8::bytea\n  AND k.generation = $9::bigint AND k.owner = $10::bytea AND k.status = 'pending'",
		new:  "WHERE k.principal = $6::bytea AND k.scope = $7::bytea AND k.key = $8::bytea\n  AND k.generation = $9::bigint AND $10::bytea IS NOT NULL AND k.status = 'pending'",
		test: postgresTest("Crowds"),
	},
	{
		what: "CompleteTogether does not test the generation",
		file: postgresFile,
		old:  "WHERE k.principal = $6::bytea AND k.scope = $7::bytea AND k.key = $8::bytea\n  AND k.generation = $9::bigint AND k.owner = $10::bytea AND k.status = 'pending'",
		new:  "WHERE k.principal = $6::bytea AND k.scope = $7::bytea AND k.key = $8::bytea\n  AND $9::bigint > 0 AND k.owner = $10::bytea AND k.status = 'pending'",
		test: postgresTest("Crowds"),
	},
	{
		what: "CompleteTogether overwrites an answer",
		file: postgresFile,
		old:  "WHERE k.principal = $6::bytea AND k.scope = $7::bytea AND k.key = $8::bytea\n  AND k.generation = $9::bigint AND k.owner = $10::bytea AND k.status = 'pending'",
		new:  "WHERE k.principal = $6::bytea AND k.scope = $7::bytea AND k.key = $8::bytea\n  AND k.generation = $9::bigint AND k.owner = $10::bytea",
		test: postgresTest("Crowds"),
	},
	{
		what: "InsertTogether counts no retention",
		file: postgresFile,
		old:  "  floor(date_part('epoch', now()) * 1000)::bigint + $8::bigint + $9::bigint,\n  floor(date_part('epoch', now()) * 1000)::bigint + $8::bigint + $9::bigint + $10::bigint,",
		new:  "  floor(date_part('epoch', now()) * 1000)::bigint + $8::bigint,\n  floor(date_part('epoch', now()) * 1000)::bigint + $8::bigint + $9::bigint + $10::bigint,",
		test: postgresTest("Crowds"),
	},
	{
		what: "Complete does not test the owner",
		file: postgresFile,
		old:  "AND k.principal = $6::bytea AND k.scope = $7::bytea AND k.key = $8::bytea\n  AND k.generation = $9::bigint AND k.owner = $10::bytea AND k.status = 'pending'",
		new:  "AND k.principal = $6::bytea AND k.scope = $7::bytea AND k.key = $8::bytea\n  AND k.generation = $9::bigint AND $10::bytea IS NOT NULL AND k.status = 'pending'",
		test: postgresTest("Fences"),
	},
	{
		what: "Complete does not test the generation",
		file: postgresFile,
		old:  "AND k.principal = $6::bytea AND k.scope = $7::bytea AND k.key = $8::bytea\n  AND k.generation = $9::bigint AND k.owner = $10::bytea AND k.status = 'pending'",
		new:  "AND k.principal = $6::bytea AND k.scope = $7::bytea AND k.key = $8::bytea\n  AND $9::bigint > 0 AND k.owner = $10::bytea AND k.status = 'pending'",
		test: postgresTest("Fences"),
	},
	{
		what: "Complete overwrites an answer",
		file: postgresFile,
		old:  "AND k.principal = $6::bytea AND k.scope = $7::bytea AND k.key = $8::bytea\n  AND k.generation = $9::bigint AND k.owner = $10::bytea AND k.status = 'pending'",
		new:  "AND k.principal = $6::bytea AND k.scope = $7::bytea AND k.key = $8::bytea\n  AND k.generation = $9::bigint AND k.owner = $10::bytea",
		test: postgresTest("Fences"),
	},
	{
		what: "a completion inside a transaction is not fenced",
		file: postgresFile,
		old:  "  WHERE k.generation = excluded.generation AND k.owner = excluded.owner AND k.status = 'pending'\n  RETURNING k.claimed_at",
		new:  "  WHERE k.status = 'pending'\n  RETURNING k.claimed_at",
		test: postgresTest("Commit"),
	},
	{
		what: "a completion inside a transaction stands without a row",
		file: postgresFile,
		old:  "WHERE completed.claimed_at > 0 AND completed.restored IS NOT NULL",
		new:  "WHERE completed.claimed_at >= 0 AND completed.restored IS NOT NULL",
		test: test{module: "internal/e2e", pkg: "./postgres", name: "TestCompletionWithoutItsRow"},
	},
	{
		what: "Insert takes any pending row for its own",
		file: postgresFile,
		old:  "AND k.owner = $7::bytea AND k.status = 'pending'\n",
		new:  "AND k.status = 'pending'\n",
		test: postgresTest("Insert"),
	},
	{
		what: "Insert takes its own completed row for a claim",
		file: postgresFile,
		old:  "AND k.owner = $7::bytea AND k.status = 'pending'\n",
		new:  "AND k.owner = $7::bytea\n",
		test: postgresTest("Insert"),
	},
	{
		what: "a claim with its effect does not ask for the key's lock",
		file: postgresFile,
		old:  "pg_try_advisory_xact_lock($1::bigint # 'idempotency_keys'::regclass::oid::bigint) AS free",
		new:  "$1::bigint IS NOT NULL AS free",
		test: test{module: "internal/e2e", pkg: "./postgres", name: "TestOnceDuplicatesDoNotWait"},
	},
	{
		what: "Lock lets a transaction begin under a fence that does not hold",
		file: postgresFile,
		old:  "WHEN k.generation = excluded.generation AND k.owner = excluded.owner AND k.status = 'pending'\n",
		new:  "WHEN k.status = 'pending'\n",
		test: postgresTest("Begin"),
	},
	{
		what: "Lock lets a transaction begin on a completed row",
		file: postgresFile,
		old:  "WHEN k.generation = excluded.generation AND k.owner = excluded.owner AND k.status = 'pending'\n",
		new:  "WHEN k.generation = excluded.generation AND k.owner = excluded.owner\n",
		test: postgresTest("Begin"),
	},
	{
		what: "Lock lets a transaction begin without a row",
		file: postgresFile,
		old:  "WHEN (SELECT count(*) FROM absent) = 0 AND current_setting",
		new:  "WHEN (SELECT count(*) FROM absent) = 1 OR current_setting",
		test: postgresTest("Begin"),
	},
	{
		what: "Erase takes rows of other partitions",
		file: postgresFile,
		old:  "\n  AND (k.tableoid, k.ctid) IN (SELECT due.part, due.place FROM due)",
		new:  "",
		test: partitionsTest,
	},
	{
		what: "a sweep takes rows of other partitions",
		file: postgresFile,
		old:  "    AND (k.tableoid, k.ctid) IN (SELECT due.part, due.place FROM due WHERE due.gone_at <= (SELECT env.now FROM env))",
		new:  "    AND k.ctid IN (SELECT due.place FROM due WHERE due.gone_at <= (SELECT env.now FROM env))",
		test: partitionsTest,
	},
	{
		what: "Erase deletes claims that run",
		file: postgresFile,
		old:  "    AND (mine.status = 'completed' OR mine.lease_until <= env.now)\n",
		new:  "",
		test: postgresTest("Operator"),
	},
	{
		what: "Release deletes the claim of another",
		file: postgresFile,
		old:  "USING env\nWHERE env.lock_limit IS NOT NULL\n  AND k.principal = $1::bytea AND k.scope = $2::bytea AND k.key = $3::bytea\n  AND k.generation = $4::bigint AND k.owner = $5::bytea AND k.status = 'pending'",
		new:  "USING env\nWHERE env.lock_limit IS NOT NULL\n  AND k.principal = $1::bytea AND k.scope = $2::bytea AND k.key = $3::bytea\n  AND k.generation = $4::bigint AND $5::bytea IS NOT NULL AND k.status = 'pending'",
		test: postgresTest("Fences"),
	},
	{
		what: "EndLease prolongs a lease that is over",
		file: postgresFile,
		old:  "lease_until = least(k.lease_until, env.now)",
		new:  "lease_until = env.now",
		test: postgresTest("EndLease"),
	},
	{
		what: "Renew does not test the owner",
		file: postgresFile,
		old:  "AND k.generation = $7::bigint AND k.owner = $8::bytea AND k.status = 'pending'",
		new:  "AND k.generation = $7::bigint AND $8::bytea IS NOT NULL AND k.status = 'pending'",
		test: postgresTest("Fences"),
	},
	{
		what: "Reuse takes a live lease whose retention is over",
		file: postgresFile,
		old:  "  AND k.expires_at <= env.now\n  AND (k.status = 'completed' OR k.lease_until <= env.now)\n",
		new:  "  AND k.expires_at <= env.now\n",
		test: postgresTest("Reuse"),
	},
	{
		what: "Reuse forgets a key that must be remembered",
		file: postgresFile,
		old:  "  AND k.gone_at <= env.now\n  AND k.recovery_point = ''\nRETURNING",
		new:  "  AND k.recovery_point = ''\nRETURNING",
		test: postgresTest("Reuse"),
	},
	{
		what: "Reuse does not test that the row is expired",
		file: postgresFile,
		old:  "  AND k.expires_at <= env.now\n  AND (k.status = 'completed'",
		new:  "  AND (k.status = 'completed'",
		test: postgresTest("Reuse"),
	},
	{
		what: "a sweep takes rows whose lease lives",
		file: postgresFile,
		old:  "    AND (d.status = 'completed' OR d.lease_until <= (SELECT env.now FROM env))\n",
		new:  "",
		test: postgresTest("Sweep"),
	},
	{
		what: "a sweep waits for rows that somebody holds",
		file: postgresFile,
		old:  "FOR UPDATE SKIP LOCKED",
		new:  "FOR UPDATE",
		test: test{module: "internal/e2e", pkg: "./postgres", name: "TestLockedRowDoesNotStopASweep"},
	},
	{
		what: "a sweep deletes keys that must be remembered",
		file: postgresFile,
		old:  "WHERE due.gone_at > (SELECT env.now FROM env))\n  RETURNING 1\n), deleted AS (\n  DELETE FROM idempotency_keys AS k\n  WHERE k.ctid = ANY(ARRAY(SELECT due.place FROM due))\n    AND (k.tableoid, k.ctid) IN (SELECT due.part, due.place FROM due WHERE due.gone_at <= (SELECT env.now FROM env))",
		new:  "WHERE due.gone_at < 0)\n  RETURNING 1\n), deleted AS (\n  DELETE FROM idempotency_keys AS k\n  WHERE k.ctid = ANY(ARRAY(SELECT due.place FROM due))\n    AND (k.tableoid, k.ctid) IN (SELECT due.part, due.place FROM due WHERE due.gone_at >= 0)",
		test: postgresTest("Sweep"),
	},
	{
		what: "Reuse starts a half-done row over",
		file: postgresFile,
		old:  "  AND k.gone_at <= env.now\n  AND k.recovery_point = ''\nRETURNING",
		new:  "  AND k.gone_at <= env.now\nRETURNING",
		test: postgresTest("HalfDone"),
	},
	{
		what: "a sweep takes half-done rows",
		file: postgresFile,
		old:  "    AND d.recovery_point = ''\n",
		new:  "",
		test: postgresTest("HalfDone"),
	},
	{
		what: "TakeOver takes a live lease",
		file: postgresFile,
		old:  "  AND k.status = 'pending' AND k.lease_until <= env.now\n",
		new:  "  AND k.status = 'pending'\n",
		test: postgresTest("TakeOver"),
	},
	{
		what: "TakeOver takes a completed row",
		file: postgresFile,
		old:  "  AND k.status = 'pending' AND k.lease_until <= env.now\n",
		new:  "  AND k.lease_until <= env.now\n",
		test: postgresTest("TakeOver"),
	},
	{
		what: "TakeOver does not test the owner that was seen",
		file: postgresFile,
		old:  "AND k.generation = $8::bigint AND k.owner = $9::bytea",
		new:  "AND k.generation = $8::bigint AND $9::bytea IS NOT NULL",
		test: postgresTest("TakeOver"),
	},
	{
		what: "TakeOver lets the fencing number stand still",
		file: postgresFile,
		old:  "  owner = $1::bytea,\n  claimed_at = greatest(env.now, k.claimed_at + 1),",
		new:  "  owner = $1::bytea,\n  claimed_at = env.now,",
		test: postgresTest("TakeOver"),
	},
}
