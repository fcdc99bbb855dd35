package sqlcore

// MySQL is MySQL 8 or MariaDB through a driver whose error numbers number
// tells, 0 where an error has none.
func MySQL(number func(error) uint16) Engine {
	return Engine{
		Class:    func(err error) Class { return mysqlClass(number(err)) },
		NoWait:   true,
		Prepared: true,
		// The server has as many prepared statements as it will.
		Unprepared: func(err error) bool { return number(err) == 1461 },
		// Deadlocks, and writes that another node certified first.
		Aborted: func(err error) bool { n := number(err); return n == 1213 || n == 3101 },
	}
}

// MySQLDuplicate is the number of the error of an insert whose key exists.
const MySQLDuplicate = 1062

// mysqlClass goes by the error numbers of both servers and of Galera. Numbers
// from 2000 are those of clients.
func mysqlClass(number uint16) Class {
	switch number {
	case 1213, // deadlock, or a write that another node of Galera certified first
		1020,       // the row has changed since this transaction read it (snapshot isolation)
		1180, 3101, // the commit failed, or was rolled back by certification
		1412, 1615, // the table's definition changed meanwhile
		1206, 1637, // too many locks, too many transactions
		1040, 1203, // too many connections
		1927, 3169, 4031, // the connection was killed, or had been idle for too long
		1053,                   // the server shuts down
		1158, 1159, 1160, 1161, // the connection broke while a packet was read or written
		2006, 2013: // the client lost its connection
		return Retry
	case 1205, // the lock did not come in time, or (MariaDB) was not free
		3572: // the lock was not free (MySQL)
		return Locked
	case 1047, // Galera: this node has no quorum, or is not in step yet
		3100,       // group replication refuses transactions
		1317, 1028, // interrupted
		1969, 3024, // took longer than the server allows
		1290, 1792, 1836, // read-only
		1021, 1114, 1037, 1038, 1041, 1135, 1226, // no disk, memory, threads or quota
		1129, 1130: // this host is blocked
		return Down
	}
	return Final
}
