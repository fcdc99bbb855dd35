package main

// coreTest is a test of the ledgers' own package.
func coreTest(name string) test { return test{module: ".", pkg: "./runtime/sqlledger", name: name} }

// coreMutations break what ledgers add to their statements: retries, and the
// recognition of their own writes.
var coreMutations = []mutation{
	{
		what: "a takeover whose answer was lost counts as lost",
		file: "runtime/internal/sqlcore/core.go",
		old:  "if err != nil || !found || row.Completed || row.Owner != c.Owner {",
		new:  "if err != nil || !found || row.Completed || row.Owner == c.Owner {",
		test: coreTest("TestOwnTakeOverIsRecognised"),
	},
	{
		what: "a completed row is taken for a claim of its owner",
		file: "runtime/internal/sqlcore/core.go",
		old:  "if err != nil || !found || row.Completed || row.Owner != c.Owner {",
		new:  "if err != nil || !found || row.Owner != c.Owner {",
		test: coreTest("TestOwnTakeOverIsRecognised"),
	},
	{
		what: "a completion is recognised without its generation",
		file: "runtime/internal/sqlcore/confirm.go",
		old:  "!row.Completed || row.Generation != f.Generation || row.Owner != f.Owner",
		new:  "!row.Completed || row.Owner != f.Owner",
		test: coreTest("TestOwnCompletionIsRecognised"),
	},
	{
		what: "the completion of another is taken for our own",
		file: "runtime/internal/sqlcore/confirm.go",
		old:  "!row.Completed || row.Generation != f.Generation || row.Owner != f.Owner",
		new:  "!row.Completed || row.Generation != f.Generation",
		test: coreTest("TestOwnCompletionIsRecognised"),
	},
	{
		what: "a release whose answer was lost counts as lost",
		file: "runtime/internal/sqlcore/core.go",
		old:  "held = err == nil && !found",
		new:  "held = err == nil && found",
		test: coreTest("TestOwnReleaseIsRecognised"),
	},
	{
		what: "a completion in a transaction stands whatever the fence",
		file: "runtime/internal/sqlcore/core.go",
		old:  "return n > 0 && err == nil, l.Engine.Classify(err)",
		new:  "return n >= 0 && err == nil, l.Engine.Classify(err)",
		test: sqliteTest("Tx/Commit"),
	},
	{
		what: "what was dropped does not count against what is deleted",
		file: "runtime/internal/sqlcore/core.go",
		old:  "\t\tswept += int(dropped)\n",
		new:  "\t\tdefer func() { swept += int(dropped) }()\n",
		test: coreTest("TestSweepStatements"),
	},
	{
		what: "a sweep without a limit has none",
		file: "runtime/internal/sqlcore/core.go",
		old:  "if limit <= 0 {",
		new:  "if limit == 0 {",
		test: coreTest("TestSweepStatements"),
	},
	{
		what: "statements are not limited in time",
		file: "runtime/internal/sqlcore/retry.go",
		old:  "ctx, cancel := context.WithTimeout(ctx, l.Limit)",
		new:  "ctx, cancel := context.WithCancel(ctx)",
		test: coreTest("TestReadThatHangs"),
	},
	{
		what: "claims and completions are not limited in time",
		file: "runtime/internal/sqlcore/core.go",
		old:  "ctx, cancel := context.WithTimeout(ctx, l.Limit)",
		new:  "ctx, cancel := context.WithCancel(ctx)",
		test: coreTest("TestStatementThatHangs"),
	},
	{
		what: "errors that pass are not retried",
		file: "runtime/internal/sqlcore/retry.go",
		old:  "(l.Engine.Passing(err) || l.waits",
		new:  "(!l.Engine.Passing(err) && l.waits",
		test: coreTest("TestPassingErrorsAreRetried"),
	},
	{
		what: "a row that is corrupt is read",
		file: "runtime/internal/sqlcore/core.go",
		old:  "if copy(row.Fingerprint[:], r.Fingerprint) != len(row.Fingerprint) || ",
		new:  "if copy(row.Fingerprint[:], r.Fingerprint) < 0 || ",
		test: coreTest("TestCorruptRow"),
	},
	{
		what: "a transaction that is gone counts as a failed statement",
		file: "runtime/internal/sqlcore/engine.go",
		old:  "return fmt.Errorf(\"%w: %w\", runtime.ErrTxEnded, err)",
		new:  "return fmt.Errorf(\"%w: %w\", runtime.ErrTxFailed, err)",
		test: sqliteTest("Tx/Ended"),
	},
	{
		what: "a write whose batch failed counts as made",
		file: "runtime/internal/sqlcore/share.go",
		old:  "\tif w.err != nil {\n",
		new:  "\tif w.err != nil && w.id.Key == \"\" {\n",
		test: shareTest("TestSharingRepeatsWhatFailed"),
	},
	{
		what: "a caller that leaves takes its batch's leader with it",
		file: "runtime/internal/sqlcore/share.go",
		old:  "return w.state != leading",
		new:  "return true",
		test: shareTest("TestLeaveOfEveryState"),
	},
	{
		what: "a batch ends with its leader's request",
		file: "runtime/internal/sqlcore/share.go",
		old:  "err := s.Commit(context.WithoutCancel(ctx), batch)",
		new:  "err := s.Commit(ctx, batch)",
		test: shareTest("TestSharingWithCallersThatLeave"),
	},
	{
		what: "two commits run beside each other where there is one writer",
		file: "runtime/internal/sqlcore/share.go",
		old:  "if s.running < s.Writers {",
		new:  "if s.running <= s.Writers {",
		test: shareTest("TestSharingFormsBatches"),
	},
	{
		what: "a write that waits for a lock keeps its place",
		file: "runtime/internal/sqlcore/share.go",
		old:  "patience - time.Since(s.since)",
		new:  "time.Hour - time.Since(s.since)",
		test: shareTest("TestSharingPastAWriteThatWaits"),
	},
	{
		what: "batches are not in the order of their keys",
		file: "runtime/internal/sqlcore/share.go",
		old:  "cmp.Compare(a.id.Key, b.id.Key))",
		new:  "cmp.Compare(b.id.Key, a.id.Key))",
		test: shareTest("TestSharingFormsBatches"),
	},
	{
		what: "a shared commit's first statement waits for the file's lock without a limit",
		file: "runtime/sqlledger/share.go",
		old:  "batch[0].Run(limited, on)",
		new:  "batch[0].Run(ctx, on)",
		test: coreTest("TestStatementsArePreparedOnce"),
	},
	{
		what: "a batch that could not be committed counts as committed",
		file: "runtime/sqlledger/share.go",
		old:  "\tcase err := <-committed:\n\t\treturn err\n",
		new:  "\tcase <-committed:\n\t\treturn nil\n",
		test: coreTest("TestSharedCommitThatFails"),
	},
}

// shareTest is a test of commits that are shared.
func shareTest(name string) test {
	return test{module: ".", pkg: "./runtime/internal/sqlcore", name: name}
}
