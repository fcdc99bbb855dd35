package sqlcore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// schemaVersion is the version of the schema that this release works with.
const schemaVersion = 1

const schemaAttempts = 5

// CheckSchema creates the schema where it is missing, unless it is managed by
// somebody else, and checks its version. A schema that stands is only read, so
// that a start never waits for writers.
func (l *Core[DB]) CheckSchema(ctx context.Context, managed bool) error {
	version, err := l.schemaVersion(ctx)
	for attempt := 1; err != nil && !managed && attempt <= schemaAttempts; attempt++ {
		// Two processes that create a table at once may both be told that it
		// exists, whatever "if not exists" says: so the whole is tried again.
		if err = l.createSchema(ctx); err == nil {
			version, err = l.schemaVersion(ctx)
		}
	}
	if err != nil && managed {
		return fmt.Errorf("idemgen: the ledger's schema cannot be read, and WithSchemaManaged leaves it to your migrations: if it is missing, apply schema.sql, or what idemgen schema prints, before the start: %w", err)
	}
	if err != nil {
		return fmt.Errorf("idemgen: the ledger's schema cannot be created or read: %w", err)
	}
	if version != schemaVersion {
		return fmt.Errorf("idemgen: the ledger's schema has version %d; this release works with version %d: migrate the table, or use the release that fits it", version, schemaVersion)
	}
	// A table of another shape under the ledger's name is told at the start,
	// and not by the first request.
	err = l.Retry(ctx, "read", func(ctx context.Context, _ int) error {
		_, err := l.Statements.Read(ctx, l.Writer, ReadParams{})
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("idemgen: the ledger's table cannot be read; is it another table of that name? %w", err)
	}
	return nil
}

func (l *Core[DB]) schemaVersion(ctx context.Context) (version int64, err error) {
	err = l.Retry(ctx, "schema version", func(ctx context.Context, _ int) (err error) {
		version, err = l.Statements.SchemaVersion(ctx, l.Writer)
		return err
	})
	return version, err
}

// createSchema runs the schema's statements, each of which creates only what
// is missing.
func (l *Core[DB]) createSchema(ctx context.Context) error {
	for _, statement := range l.Statements.Schema() {
		err := l.Retry(ctx, "create schema", func(ctx context.Context, _ int) error {
			return l.Exec(ctx, statement)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// SplitSchema splits a schema into its statements. A statement ends with a
// semicolon at the end of a line; "--" begins a comment.
func SplitSchema(schema string) []string {
	var statements []string
	var current strings.Builder
	for line := range strings.Lines(schema) {
		text, _, _ := strings.Cut(line, "--")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		current.WriteString(text + "\n")
		if strings.HasSuffix(text, ";") {
			statements = append(statements, current.String())
			current.Reset()
		}
	}
	return statements
}
