package sqlcore

// Class is what an error of a database means, for the next attempt and for the
// transaction that met it. The tables of codes (postgres_codes.go,
// mysql_codes.go, sqlite_codes.go) are the only place that decides it.
type Class int

const (
	// Unknown is what no table names. It may pass: only what is known to be
	// for good is taken for that.
	Unknown Class = iota
	// Down says that the database, its settings or the way to it are the reason,
	// and not what was sent. It may pass, but not at once.
	Down
	// Denied is Down for want of a grant.
	Denied
	// Retry says that the statement may succeed at once; it may have succeeded.
	Retry
	// Conflict is Retry after the database rolled the transaction back for the
	// sake of another one.
	Conflict
	// Locked says that another transaction holds the row.
	Locked
	// Unprepared says that a prepared statement is not there, not what it was, or
	// another one of its name. Nothing was run; the statement may be sent as text
	// at once.
	Unprepared
	// Refused says that the values which were to be stored are what the
	// database does not take: these very bytes can never be stored.
	Refused
	// Failed says that a statement before this one has failed, and that the
	// transaction can only be rolled back.
	Failed
	// Ended says that the transaction, or its savepoint, is not there.
	Ended
)

// again reports whether a statement of a class may well succeed at once.
func (c Class) again() bool { return c == Retry || c == Conflict || c == Unprepared }
