package sqlcore

import "slices"

// MySQLDuplicate is the number of the error of an insert whose key exists.
const MySQLDuplicate = 1062

// mysqlErrors decides for errors of MySQL, MariaDB and Galera, and of clients,
// whose numbers go from 2000 to 2999.
type mysqlErrors struct {
	numbers []uint16
	class   Class
	why     string
}

// mysqlCodes has what is decided apart. Any other number is Unknown: the two
// servers have some thousand, of syntax, routines, replication and storage
// engines, none of which says of an answer that it can never be stored.
var mysqlCodes = []mysqlErrors{
	{[]uint16{1213}, Conflict, "a deadlock, or a write that another node of Galera certified first"},
	{[]uint16{1020}, Conflict, "the row has changed since this transaction read it (snapshot isolation)"},
	{[]uint16{3101}, Conflict, "the commit was rolled back by certification (group replication)"},
	{[]uint16{1205}, Locked, "the row's lock did not come in time, or (MariaDB) was not free"},
	{[]uint16{3572}, Locked, "the row's lock was not free (MySQL)"},

	{[]uint16{1180}, Retry, "the commit failed; whether it stands is not known"},
	{[]uint16{1412, 1615}, Retry, "the table's definition changed meanwhile; the next attempt sees the new one"},
	{[]uint16{1206, 1637}, Retry, "the server has as many locks or transactions as it takes"},
	{[]uint16{1040, 1203}, Retry, "the server, or the user, has as many connections as it takes"},
	{[]uint16{1927, 3169, 4031}, Retry, "the connection was killed, or had been idle for too long"},
	{[]uint16{1053, 1077, 1079, 1080}, Retry, "the server shuts down"},
	{[]uint16{1152, 1158, 1159, 1160, 1161, 1184}, Retry, "the connection broke while a packet was read or written"},
	{[]uint16{2006, 2013, 2055}, Retry, "the client lost its connection"},

	{[]uint16{1461}, Unprepared, "the server has as many prepared statements as it takes (max_prepared_stmt_count)"},
	{[]uint16{1243}, Unprepared, "the prepared statement is gone: a proxy gave the connection another session"},

	{[]uint16{1044, 1045, 1698, 1251, 2049, 2059}, Down, "the account may not log in or not use the database, or its password is wrong, which an operator mends"},
	{[]uint16{4151, 3118, 3955, 1820, 1862, 1226}, Down, "the account is locked, its password has expired, or its quota is used up"},
	{[]uint16{1142, 1143, 1227, 1370, 1131, 1132, 1133}, Denied, "a grant is missing, which an operator mends"},
	{[]uint16{1129, 1130, 1042, 1043}, Down, "this host is blocked, or not known to the server"},
	{[]uint16{2001, 2002, 2003, 2004, 2005, 2012, 2026, 2047}, Down, "the client cannot reach the server"},
	{[]uint16{1046, 1049}, Down, "the database is not there: dropped, renamed, or not created yet"},
	{[]uint16{1146, 1054, 1051, 1109, 1136, 1176}, Down, "the table is not as the statements expect it: a migration under way or one that is missing"},
	{[]uint16{1047, 3100}, Down, "the node has no quorum or is not in step yet (Galera), or group replication refuses transactions"},
	{[]uint16{1317, 1028}, Down, "the statement was interrupted"},
	{[]uint16{1969, 3024}, Down, "the statement took longer than the server allows"},
	{[]uint16{1290, 1792, 1836, 3032}, Down, "the server, or the transaction, is read-only, or the server is offline: before its failover, or in maintenance"},
	{[]uint16{1021, 1114, 1037, 1038, 1041, 1135, 1003, 1015}, Down, "the server has no disk, memory, threads or room left"},
	{[]uint16{1016, 1026, 1030, 1033, 1034, 1035, 1036, 1194, 1195, 1296, 1297, 1877}, Down, "the server's storage failed"},
	{[]uint16{1099, 1100, 1192, 1223}, Down, "somebody has locked tables or the server (LOCK TABLES, FLUSH TABLES WITH READ LOCK)"},

	{[]uint16{1048, 1364}, Refused, "a column is empty that must not be"},
	{[]uint16{1062, 1169, 1586}, Refused, "the row breaks a key of the table; of an insert it says that a row holds the key"},
	{[]uint16{1216, 1217, 1451, 1452}, Refused, "the row breaks a foreign key of the table"},
	{[]uint16{3819, 4025}, Refused, "the row breaks a CHECK of the table (MySQL, MariaDB)"},
	{[]uint16{1644, 1645, 1442}, Refused, "a trigger of the table raised an error on the row"},
	{[]uint16{1369}, Refused, "the row is outside of the view that stands for the table"},
	{[]uint16{1264, 1265, 1292, 1300, 1366, 1367, 1406, 1690, 3140}, Refused, "a value does not fit its column: too long, outside its range, or not of its character set"},
	{[]uint16{1526, 1748}, Refused, "the table has no partition for the row"},
	{[]uint16{1118, 1153, 1162, 1301, 2020}, Refused, "the row or the packet is larger than the server takes (max_allowed_packet)"},

	{[]uint16{1305}, Ended, "the savepoint is not there"},
}

// mysqlClass goes by the numbers of errors, 0 where one has none.
func mysqlClass(number uint16) Class {
	for _, c := range mysqlCodes {
		if slices.Contains(c.numbers, number) {
			return c.class
		}
	}
	return Unknown
}

// MySQLRollsBack reports whether a server may have rolled a whole transaction
// back with an error of this number: a conflict, and a lock that did not come
// where innodb_rollback_on_timeout is set. An error that left the transaction
// as it was is no matter: then its savepoint is there.
func MySQLRollsBack(number uint16) bool {
	class := mysqlClass(number)
	return class == Conflict || class == Locked
}
