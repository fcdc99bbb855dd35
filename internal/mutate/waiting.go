package main

var renewMutations = []mutation{
	{
		what: "a lease is not renewed",
		file: "runtime/guard.go",
		old:  "\t\tdefer g.engine.renewer.add(g, h, &w.limit)()\n",
		new:  "",
		test: runtimeTest("TestRenewKeepsTheLease"),
	},
	{
		what: "a lease is renewed after its handler has ended",
		file: "runtime/renew.go",
		old:  "\t\tn.drop(r)\n\t\tn.arm()\n\t}",
		new:  "\t\tn.arm()\n\t}",
		test: runtimeTest("TestRenewEndsWithTheHandler"),
	},
	{
		what: "a handler whose lease could not be renewed runs on past it",
		file: "runtime/renew.go",
		old:  "return r.sent.Add(lease - max(lease/10, 500*time.Millisecond))",
		new:  "return r.sent.Add(lease + max(lease/10, 500*time.Millisecond))",
		test: runtimeTest("TestHandlerIsCancelledBeforeItsLeaseRunsOut"),
	},
	{
		what: "a handler whose claim was taken over runs on",
		file: "runtime/renew.go",
		old:  "\tcase err == nil && !held:\n",
		new:  "\tcase err != nil && !held:\n",
		test: runtimeTest("TestHandlerIsCancelledWhenItsClaimIsTaken"),
	},
	{
		what: "a handler past its timeout is renewed for ever",
		file: "runtime/renew.go",
		old:  "\t\tcase !r.until.After(now):\n",
		new:  "\t\tcase r.until.IsZero():\n",
		test: runtimeTest("TestRenewingEndsWithTheTimeout"),
	},
	{
		what: "a renewed lease counts from the answer of its renewal",
		file: "runtime/renew.go",
		old:  "\t\t\tr.sent = sent\n\t\t\tr.limit.lease(r.lost())\n\t\t\tr.due = sent.Add(r.guard.policy.Lease / 3)",
		new:  "\t\t\tr.sent = time.Now()\n\t\t\tr.limit.lease(r.lost())\n\t\t\tr.due = sent.Add(r.guard.policy.Lease / 3)",
		test: runtimeTest("TestRenewedLeaseCountsFromItsSend"),
	},
}

var waitMutations = []mutation{
	{
		what: "a duplicate waits without a bound",
		file: "runtime/wait.go",
		old:  "limit := time.NewTimer(g.policy.Wait)",
		new:  "limit := time.NewTimer(10 * g.policy.Wait)",
		test: runtimeTest("TestWaitIsBounded"),
	},
	{
		what: "a duplicate that hangs up waits on",
		file: "runtime/wait.go",
		old:  "\t\tcase <-ctx.Done():\n\t\t\tpoll.Stop()\n",
		new:  "\t\tcase <-context.WithoutCancel(ctx).Done():\n\t\t\tpoll.Stop()\n",
		test: runtimeTest("TestWaiterThatHangsUpLeaves"),
	},
	{
		what: "a duplicate does not look at the rows of other processes",
		file: "runtime/wait.go",
		old:  "\t\tcase <-poll.C:\n",
		new:  "",
		test: runtimeTest("TestDuplicateWaitsForTheOwner"),
	},
	{
		what: "a duplicate whose owner released is refused",
		file: "runtime/wait.go",
		old:  "\t\tif v != answered {\n",
		new:  "\t\tif v != answered {\n\t\t\treturn nil, Result{}, refusal\n",
		test: runtimeTest("TestWaiterRunsWhenTheOwnerReleases"),
	},
	{
		what: "a duplicate that loses the claim to another waits no longer",
		file: "runtime/wait.go",
		old:  "h != nil || !waits(err) {",
		new:  "h != nil || err != nil {",
		test: runtimeTest("TestWaitersPauseWhenTheClaimIsLost"),
	},
	{
		what: "everybody who waits asks the ledger",
		file: "runtime/wait.go",
		old:  "\t\tkey.lead <- struct{}{}\n\t\tw.keys[id] = key\n",
		new:  "\t\tclose(key.lead)\n\t\tkey.lead = make(chan struct{}, maxWaiters)\n\t\tfor range maxWaiters {\n\t\t\tkey.lead <- struct{}{}\n\t\t}\n\t\tw.keys[id] = key\n",
		test: runtimeTest("TestWaitersShareTheirPoll"),
	},
	{
		what: "who asks for all keeps the answer for itself",
		file: "runtime/wait.go",
		old:  "\t\t\tkey.tell(row)\n",
		new:  "",
		test: runtimeTest("TestWaitersShareTheirPoll"),
	},
	{
		what: "who asked for all leaves and nobody asks any more",
		file: "runtime/wait.go",
		old:  "\tdefer func() { key.lead <- struct{}{} }()\n",
		new:  "",
		test: runtimeTest("TestAskingIsHandedOn"),
	},
	{
		what: "two sweeps of a process run at once",
		file: "runtime/sweep.go",
		old:  "\tif !s.busy.CompareAndSwap(false, true) {\n",
		new:  "\tif s.busy.CompareAndSwap(false, true) && s.busy.Load() == false {\n",
		test: runtimeTest("TestSweepFollowsRequests"),
	},
	{
		what: "a sweep spends what requests gave it again and again",
		file: "runtime/sweep.go",
		old:  "limit := int(min(s.credits.Swap(0), maxSweepCredits))",
		new:  "limit := int(min(s.credits.Load(), maxSweepCredits))",
		test: runtimeTest("TestSweepFollowsRequests"),
	},
}
