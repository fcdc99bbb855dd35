package main

import (
	"os"
	"testing"
)

func TestSchema(t *testing.T) {
	for _, engine := range engines {
		schema, err := os.ReadFile("../../queries/" + engine + "/schema.sql")
		if err != nil {
			t.Fatal(err)
		}
		stdout, _ := idemgen(t, 0, "schema", engine)
		want(t, engine, stdout, string(schema))
	}
	stdout, _ := idemgen(t, 0, "schema", "postgres", "-form", "goose", "-table", "shop.keys")
	wantIn(t, "goose", stdout, "-- +goose Up\n")
	wantIn(t, "goose", stdout, "CREATE TABLE IF NOT EXISTS shop.keys (\n")
	wantIn(t, "goose", stdout, "-- +goose Down\nDROP TABLE shop.keys;\nDROP TABLE shop.keys_schema;\n")
	for _, c := range []struct {
		args []string
		part string
	}{
		{[]string{"oracle"}, `engine "oracle": want one of sqlite, postgres, mysql`},
		{[]string{"mysql", "-form", "flyway"}, `there is no form "flyway": want one of up, down, goose`},
		{[]string{"mysql", "-table", "x; drop"}, `table "x; drop" is not an identifier`},
		{nil, "accepts 1 arg"},
	} {
		stdout, stderr := idemgen(t, 2, append([]string{"schema"}, c.args...)...)
		want(t, "stdout", stdout, "")
		wantIn(t, "stderr", stderr, c.part)
	}
}
