package sqlledger

import (
	"context"
	"database/sql"
	"reflect"
)

// nameless returns the argument that tells pgx, below database/sql, to send a query
// in one round trip and without a name for it, or nil for a driver that does so by
// itself where a query has no arguments, as lib/pq does. pgx does it for Exec
// alone and prepares queries, by names under which another session, behind a
// pooler, has none or another statement. The type is read off a connection, as this
// package imports no driver: the mode of pgx's configuration that calls itself
// "exec".
func nameless(ctx context.Context, db *sql.DB) (argument any, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	err = conn.Raw(func(driverConn any) error {
		config := called(called(reflect.ValueOf(driverConn), "Conn"), "Config")
		if config.Kind() != reflect.Pointer || config.IsNil() || config.Elem().Kind() != reflect.Struct {
			return nil
		}
		mode := config.Elem().FieldByName("DefaultQueryExecMode")
		if !mode.IsValid() || !mode.CanInt() {
			return nil
		}
		for n := range int64(16) {
			value := reflect.New(mode.Type()).Elem()
			value.SetInt(n)
			if named, ok := value.Interface().(interface{ String() string }); ok && named.String() == "exec" {
				argument = named
				return nil
			}
		}
		return nil
	})
	return argument, err
}

// called is what a method without arguments returns, or nothing where there is no
// such method.
func called(on reflect.Value, name string) reflect.Value {
	if !on.IsValid() {
		return reflect.Value{}
	}
	method := on.MethodByName(name)
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
		return reflect.Value{}
	}
	return method.Call(nil)[0]
}
