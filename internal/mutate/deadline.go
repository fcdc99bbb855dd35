package main

// deadlineMutations break what ends handlers and statements, and the memory
// that is a request's own.
var deadlineMutations = []mutation{
	{
		what: "a deadline that nobody waits for does not pass",
		file: "runtime/deadline.go",
		old:  "if d.err == nil && !time.Now().Before(d.at) {",
		new:  "if d.err != nil && !time.Now().Before(d.at) {",
		test: runtimeTest("TestDeadlineIsTheStandardOne"),
	},
	{
		what: "a context that was ended lives on for whoever waits afterwards",
		file: "runtime/deadline.go",
		old:  "\t} else if d.err == nil {\n\t\td.err = context.Canceled\n",
		new:  "\t} else if d.err == nil {\n",
		test: runtimeTest("TestDeadlineIsTheStandardOne"),
	},
	{
		what: "a context that was ended changes its mind at its deadline",
		file: "runtime/deadline.go",
		old:  "if d.err == context.Canceled {",
		new:  "if d.err == context.DeadlineExceeded {",
		test: runtimeTest("TestDeadlineIsTheStandardOne"),
	},
	{
		what: "whoever waits is not told of the end",
		file: "runtime/deadline.go",
		old:  "\tif d.waited != nil {\n\t\td.cancel()\n",
		new:  "\tif d.waited != nil {\n",
		test: runtimeTest("TestDeadlineIsTheStandardOne"),
	},
	{
		what: "contexts that are derived from a handler's cost a goroutine each",
		file: "runtime/deadline.go",
		old:  "\tif waited != nil {\n\t\treturn waited.Value(key)\n",
		new:  "\tif waited == nil {\n\t\treturn waited.Value(key)\n",
		test: runtimeTest("TestDeadlineCancelsItsChildrenAtOnce"),
	},
	{
		what: "a handler's context outlives the handler",
		file: "runtime/guard.go",
		old:  "\tdefer w.limit.end()\n",
		new:  "",
		test: runtimeTest("TestContextOfAHandlerThatIsOver"),
	},
	{
		what: "a deadline that is earlier than the others is not heeded",
		file: "runtime/overdue.go",
		old:  "if o.armed.IsZero() || w.limit.at.Before(o.armed) {",
		new:  "if o.armed.IsZero() {",
		test: runtimeTest("TestOverdueHandlersAreReportedAtTheirDeadlines"),
	},
	{
		what: "the timer of deadlines fires only once",
		file: "runtime/overdue.go",
		old:  "\to.armed = time.Time{}\n",
		new:  "",
		test: runtimeTest("TestOverdueHandlersAreReportedAtTheirDeadlines"),
	},
	{
		what: "a handler that has returned is reported as overdue",
		file: "runtime/guard.go",
		old:  "\t\tg.engine.overdue.forget(w)\n",
		new:  "",
		test: runtimeTest("TestOverdueHandlersAreReportedAtTheirDeadlines"),
	},
	{
		what: "two answers share the memory of a request",
		file: "runtime/exchange.go",
		old:  "\tx.taken = true\n",
		new:  "",
		test: runtimeTest("TestMemoryOfAHeaderIsGivenOnce"),
	},
	{
		what: "a request is what its decoder made of it",
		file: "runtime/call.go",
		old:  "return rule.Fingerprint(c.exchange.parts)",
		new:  "p := c.exchange.parts\n\t\tp.Body = c.exchange.request.Body\n\t\treturn rule.Fingerprint(p)",
		test: runtimeTest("TestFingerprintIsThatOfWhatWasSent"),
	},
	{
		what: "a body that is longer than promised is cut",
		file: "runtime/body.go",
		old:  "\trest := io.MultiReader(bytes.NewReader(body), from)\n",
		new:  "\trest := bytes.NewReader(body[:length])\n",
		test: runtimeTest("TestBodyBeyondItsPromise"),
	},
	{
		what: "a short body that breaks off is taken for whole",
		file: "runtime/body.go",
		old:  "\t\tif err != nil {\n\t\t\treturn nil, bodyUnreadable(err)\n\t\t}\n",
		new:  "\t\tif err != nil {\n\t\t\treturn body[:n:n], nil\n\t\t}\n",
		test: runtimeTest("TestOrder"),
	},
}
