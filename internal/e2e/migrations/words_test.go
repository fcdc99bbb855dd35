package migrations_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/idemgen/idemgen/internal/spec"
	"github.com/idemgen/idemgen/queries"
)

// A name that is accepted for a ledger's table works in every statement of the
// ledger: neither a word that the database keeps to itself, nor one that the
// statements use for something else. The databases say which words they keep.
func TestEveryAcceptedNameWorks(t *testing.T) {
	for engine, e := range map[string]struct {
		driver   string
		keywords func(t *testing.T, db *sql.DB) []string
		syntax   func(error) bool
	}{
		"sqlite": {"sqlite", sqliteKeywords, func(err error) bool { return strings.Contains(err.Error(), "syntax error") }},
		"postgres": {"pgx", listed("SELECT word FROM pg_get_keywords()"), func(err error) bool {
			var refused *pgconn.PgError
			return errors.As(err, &refused) && refused.Code == "42601"
		}},
		"mysql": {"mysql", listed("SELECT LOWER(word) FROM information_schema.keywords"), func(err error) bool {
			var refused *mysql.MySQLError
			return errors.As(err, &refused) && refused.Number == 1064
		}},
	} {
		t.Run(engine, func(t *testing.T) {
			db := ledgerDatabase(t, engine, e.driver)
			db.SetMaxOpenConns(1)
			keywords := e.keywords(t, db)
			if len(keywords) < 140 {
				t.Fatalf("the database has %d keywords", len(keywords))
			}
			own, accepted := ownWords(t, engine), 0
			for _, word := range keywords {
				if base, found := strings.CutSuffix(word, "_schema"); found {
					own = append(own, base) // the second table has the name
				}
			}
			for _, word := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(keywords, own)))) {
				if spec.CheckTable(word, engine) == nil {
					accepted++
					try := anyTable
					if slices.Contains(own, word) {
						try = everyStatement
					}
					if err := try(t.Context(), db, engine, word); err != nil {
						t.Errorf("table=%s: %v", word, err)
					}
				}
				if spec.CheckTable(word+".t", engine) == nil {
					if _, err := db.ExecContext(t.Context(), "SELECT 1 FROM "+word+".t"); err == nil || e.syntax(err) {
						t.Errorf("table=%s.t: %v", word, err)
					}
				}
			}
			if accepted < 20 {
				t.Errorf("%d words were accepted: nothing was tried", accepted)
			}
		})
	}
}

// What a statement names itself hides a table of that name, even where it does
// not fail at once.
func TestNamesOfTheStatements(t *testing.T) {
	own := regexp.MustCompile(`(?i)\b(?:WITH|AS)\s+([a-z_]+)\b|\b([a-z_]+) AS (?:NOT )?(?:MATERIALIZED )?\(`)
	for _, engine := range []string{"sqlite", "postgres", "mysql"} {
		found := map[string]bool{}
		for _, match := range own.FindAllStringSubmatch(withoutComments(emitted(t, engine, "idempotency_keys")["queries.sql"]), -1) {
			found[strings.ToLower(match[1]+match[2])] = true
		}
		for _, word := range slices.Sorted(maps.Keys(found)) {
			if spec.CheckTable(word, engine) == nil && !slices.Contains([]string{"integer", "text", "signed", "materialized", "bytea", "bigint"}, word) {
				t.Errorf("%s: table=%s is accepted, but the statements give the name", engine, word)
			}
		}
	}
}

func ledgerDatabase(t *testing.T, engine, driver string) *sql.DB {
	t.Helper()
	for _, d := range databases {
		if d.engine == engine {
			db, _ := d.create(t)
			return db
		}
	}
	t.Fatalf("there is no %s", engine)
	return nil
}

func listed(query string) func(*testing.T, *sql.DB) []string {
	return func(t *testing.T, db *sql.DB) (words []string) {
		t.Helper()
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var word string
			if err := rows.Scan(&word); err != nil {
				t.Fatal(err)
			}
			words = append(words, word)
		}
		return words
	}
}

// sqliteKeywords asks the library, which has no SQL for it.
func sqliteKeywords(t *testing.T, _ *sql.DB) (words []string) {
	tls := libc.NewTLS()
	defer tls.Close()
	space := libc.Xcalloc(tls, 2, 8)
	defer libc.Xfree(tls, space)
	for i := range sqlite3.Xsqlite3_keyword_count(tls) {
		if code := sqlite3.Xsqlite3_keyword_name(tls, i, space, space+8); code != sqlite3.SQLITE_OK {
			t.Fatalf("keyword %d: %d", i, code)
		}
		answer := libc.GoBytes(space, 16) // a pointer and a length
		name, length := binary.NativeEndian.Uint64(answer), binary.NativeEndian.Uint32(answer[8:])
		words = append(words, strings.ToLower(string(libc.GoBytes(uintptr(name), int(length)))))
	}
	return words
}

// ownWords are all words of an engine's statements.
func ownWords(t *testing.T, engine string) (words []string) {
	files := emitted(t, engine, "idempotency_keys")
	for _, word := range regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`).FindAllString(withoutComments(files["schema.sql"]+files["queries.sql"]), -1) {
		words = append(words, strings.ToLower(word))
	}
	return words
}

func withoutComments(text string) string {
	return regexp.MustCompile(`--[^\n]*`).ReplaceAllString(text, "")
}

func emitted(t *testing.T, engine, table string) map[string]string {
	t.Helper()
	files, err := emit(engine, table)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func emit(engine, table string) (map[string]string, error) {
	files, err := queries.Emit(engine, "sql", "ledger", table)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for name, content := range files {
		texts[name] = string(content)
	}
	return texts, nil
}

// anyTable does to a table of a name what the statements do.
func anyTable(ctx context.Context, db *sql.DB, _, table string) error {
	for _, text := range []string{
		"CREATE TEMPORARY TABLE T (x INTEGER)", "INSERT INTO T (x) VALUES (1)", "UPDATE T SET x = 2 WHERE T.x = 1",
		"INSERT INTO T (x) SELECT T.x + 1 FROM T", "DELETE FROM T WHERE x = 1", "DROP TABLE T",
	} {
		if _, err := db.ExecContext(ctx, regexp.MustCompile(`\bT\b`).ReplaceAllString(text, table)); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

// everyStatement makes the tables of a name and prepares each statement.
func everyStatement(ctx context.Context, db *sql.DB, engine, table string) (err error) {
	files, err := emit(engine, table)
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, files["schema.sql"]); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	defer func() {
		if _, dropped := db.ExecContext(ctx, "DROP TABLE "+table+"; DROP TABLE "+table+"_schema"); err == nil && dropped != nil {
			err = fmt.Errorf("drop: %w", dropped)
		}
	}()
	statements, err := constants(files["queries.sql.go"])
	if err != nil {
		return err
	}
	for name, text := range statements {
		prepared, err := db.PrepareContext(ctx, text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		prepared.Close()
	}
	return nil
}

// constants are the statements in sqlc's Go.
func constants(text string) (map[string]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "queries.sql.go", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if statement := textOf(spec.Values[0]); strings.HasPrefix(statement, "-- name:") {
			found[spec.Names[0].Name] = statement
		}
		return true
	})
	if len(found) < 10 {
		return nil, fmt.Errorf("%d statements were found", len(found))
	}
	return found, nil
}

// textOf is the text of a constant, which may be in several pieces.
func textOf(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(expr.Value)
		return text
	case *ast.BinaryExpr:
		return textOf(expr.X) + textOf(expr.Y)
	}
	return ""
}
