package sqlcore

// sqlstate decides for a SQLSTATE, or for all that begin so; the longest one
// that fits counts.
type sqlstate struct {
	prefix string
	class  Class
	why    string
}

// sqlstates are the classes of PostgreSQL's appendix A, each with the codes that
// are decided apart from it. Poolers report in the same codes.
var sqlstates = []sqlstate{
	{"00", Unknown, "success is no error"},
	{"01", Unknown, "a warning is no error"},
	{"02", Unknown, "no data is no error of a statement"},
	{"03", Down, "a statement was cut short on its way"},
	{"08", Retry, "the connection broke; whether the statement stands is not known"},
	{"08001", Down, "no connection could be made"},
	{"08004", Down, "the server takes no connection"},
	{"08P01", Down, "how poolers say that they have no server, or that a wait for one was too long"},
	{"09", Refused, "a trigger of the table failed on the row"},
	{"0A", Unprepared, "a column changed under a prepared statement; what is never supported fails until it is mended"},
	{"0B", Down, "no transaction could be begun"},
	{"0F", Down, "about large objects, which the ledger does not use"},
	{"0L", Down, "about grants, which an operator mends"},
	{"0P", Down, "the role is not there, which an operator mends"},
	{"0Z", Down, "about diagnostics, which the ledger does not use"},
	{"10", Down, "about XQuery, which the ledger does not use"},
	{"20", Refused, "a trigger of the table has no case for the row"},
	{"21", Refused, "a trigger of the table read more rows than one"},
	{"22", Refused, "a value does not fit its type: bytes outside the encoding, a number outside its range, a text too long"},
	{"23", Refused, "the row breaks a constraint of the table"},
	{"24", Down, "about cursors, which the ledger does not use"},
	{"25", Down, "the transaction is in a state in which it does not write"},
	{"25006", Down, "the server, or the transaction, is read-only: a standby, or a server before its failover"},
	{"25P01", Ended, "no transaction is open"},
	{"25P02", Failed, "a statement of the transaction failed before"},
	{"25P03", Retry, "the transaction sat idle for too long, and its connection was ended"},
	{"25P04", Retry, "the transaction took too long, and its connection was ended"},
	{"26", Unprepared, "the prepared statement is gone: a pooler gave the connection another session, or somebody discarded it"},
	{"27", Refused, "a trigger of the table has changed the row already"},
	{"28", Down, "the role may not log in, or its password is wrong, which an operator mends"},
	{"2B", Down, "about grants, which an operator mends"},
	{"2D", Down, "a transaction was ended where none may be"},
	{"2F", Refused, "a function of a trigger failed on the row"},
	{"34", Down, "about cursors, which the ledger does not use"},
	{"38", Refused, "a function of a trigger failed on the row"},
	{"39", Refused, "a function of a trigger was called with what it does not take"},
	{"3B", Ended, "the savepoint is not there"},
	{"3D", Down, "the database is not there: dropped, renamed, or not created yet"},
	{"3F", Down, "the schema is not there: dropped, renamed, or not in the search path"},
	{"40", Retry, "the transaction was rolled back"},
	{"40001", Conflict, "a serialization failure"},
	{"40002", Refused, "the row breaks a deferred constraint of the table"},
	{"40003", Retry, "whether the statement stands is not known"},
	{"40P01", Conflict, "a deadlock"},
	{"42", Down, "the table is not as the statements expect it: a migration under way or one that is missing"},
	{"42501", Denied, "a grant is missing, which an operator mends"},
	{"42P05", Unprepared, "another statement has the name: a pooler gave the connection another session"},
	{"44", Refused, "the row is outside of the view that stands for the table"},
	{"53", Down, "the server has no disk, memory or room left"},
	{"53300", Retry, "the server has as many connections as it takes"},
	{"54", Refused, "the row is larger than the server takes"},
	{"55", Down, "something is not in the state for it: the database takes no connections, an object is in use"},
	{"55P03", Locked, "the row's lock did not come"},
	{"57", Down, "an operator is at work on the server"},
	{"57014", Down, "the statement was cancelled, or took longer than the server allows"},
	{"57P01", Retry, "the server shuts down, or an operator ended the connection"},
	{"57P02", Retry, "the server crashed"},
	{"57P03", Retry, "the server starts"},
	{"57P04", Down, "the database was dropped"},
	{"57P05", Retry, "the session sat idle for too long, and its connection was ended"},
	{"58", Down, "the server's system failed"},
	{"72", Retry, "the snapshot is too old; the next one is not"},
	{"F0", Down, "the server's configuration is wrong"},
	{"HV", Down, "a foreign server that stands behind the table failed"},
	{"P0", Refused, "a trigger of the table raised an error on the row"},
	{"XX", Down, "the server, or a pooler before it, found itself broken"},
}

// decideState finds what is decided for a SQLSTATE.
func decideState(state string) (decided sqlstate) {
	for _, s := range sqlstates {
		if len(s.prefix) > len(decided.prefix) && len(s.prefix) <= len(state) && state[:len(s.prefix)] == s.prefix {
			decided = s
		}
	}
	return decided
}
