package sqlcore

// SQLite is a SQLite file through any driver.
var SQLite = Engine{Name: "sqlite", OneWriter: true, Prepared: true, Once: true, Class: sqliteClass}
