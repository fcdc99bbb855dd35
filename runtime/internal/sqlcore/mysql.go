package sqlcore

// MySQL is MySQL 8 or MariaDB through a driver whose error numbers number
// tells, 0 where an error has none.
func MySQL(number func(error) uint16) Engine {
	return Engine{
		Name:      "mysql",
		Class:     func(err error) Class { return mysqlClass(number(err)) },
		NoWait:    true,
		Prepared:  true,
		EndByText: true,
		SeenEarly: true,
	}
}
