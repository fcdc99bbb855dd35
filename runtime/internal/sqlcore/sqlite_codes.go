package sqlcore

import "strings"

// sqliteResult decides for a result code of SQLite. SQLite has one text per code
// (sqlite3_errstr), which its Go drivers all pass on, while they expose the
// code itself in different ways.
type sqliteResult struct {
	code  int // of the library's list; extended codes have the text of theirs
	class Class
	texts []string
	why   string
}

// sqliteResults are the codes in the order in which their texts are looked for:
// a constraint's text names what the user called it.
var sqliteResults = []sqliteResult{
	{19, Refused, []string{"constraint failed"}, "the row breaks a constraint of the table"},
	{18, Refused, []string{"string or blob too big"}, "the row is larger than the file takes"},
	{20, Refused, []string{"datatype mismatch"}, "a value does not fit its column"},
	{5, Retry, []string{"database is locked"}, "another connection writes"},
	{6, Retry, []string{"database table is locked", "database schema is locked"}, "another connection of a shared cache writes"},
	{15, Retry, []string{"locking protocol"}, "the locks of the file were taken in a race"},
	{17, Retry, []string{"database schema has changed"}, "the table changed under a prepared statement; the next attempt prepares anew"},
	{10, Down, []string{"disk I/O error"}, "the disk failed"},
	{13, Down, []string{"database or disk is full"}, "the disk is full"},
	{14, Down, []string{"unable to open database file"}, "the file is not there, or no files can be opened"},
	{7, Down, []string{"out of memory"}, "the process has no memory left"},
	{9, Down, []string{"interrupted"}, "the statement was interrupted"},
	{4, Down, []string{"abort due to ROLLBACK", "query aborted", "callback requested query abort"}, "the statement was aborted"},
	{8, Down, []string{"attempt to write a readonly database"}, "the file, its folder or the connection is read-only"},
	{3, Down, []string{"access permission denied"}, "the file may not be used"},
	{11, Down, []string{"database disk image is malformed"}, "the file is damaged"},
	{26, Down, []string{"file is not a database"}, "the file is another one, or damaged"},
	{22, Down, []string{"large file support is disabled"}, "the file is larger than the system takes"},
	{23, Down, []string{"authorization denied", "not authorized"}, "an authorizer of the connection refuses the statement"},
	{21, Down, []string{"bad parameter or other API misuse", "library routine called out of sequence"}, "the connection was closed meanwhile"},
	{1, Ended, []string{"no such savepoint", "cannot commit - no transaction is active", "cannot rollback - no transaction is active"}, "the transaction, or its savepoint, is not there"},
	{1, Down, []string{"no such table", "no such column", "has no column named"}, "the table is not as the statements expect it: a migration under way or one that is missing"},
	{0, Down, []string{"database is closed"}, "the pool was closed (database/sql)"},
	// 1 with any other text is Unknown; the others never come of statements:
	// 2 internal, 12 not found, 16 empty, 24 format, 25 range, 27 notice,
	// 28 warning, 100 row, 101 done.
}

func sqliteClass(err error) Class {
	message := err.Error()
	for _, r := range sqliteResults {
		for _, text := range r.texts {
			if strings.Contains(message, text) {
				return r.class
			}
		}
	}
	return Unknown
}
