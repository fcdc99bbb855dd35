package sqlledger

import (
	"context"
	"fmt"
	"strings"
)

// schemaVersion is the version of the schema that this release works with.
const schemaVersion = 1

// checkSchema creates the schema where it is missing and checks its version.
// A schema that stands is only read, so that a start never waits for writers.
func (l *Ledger) checkSchema(ctx context.Context) error {
	version, err := l.schemaVersion(ctx)
	if err != nil && !l.checking {
		if err := l.createSchema(ctx); err != nil {
			return fmt.Errorf("idemgen: create the ledger's schema: %w", err)
		}
		version, err = l.schemaVersion(ctx)
	}
	if err != nil {
		return fmt.Errorf("idemgen: read the version of the ledger's schema: %w", err)
	}
	if version != schemaVersion {
		return fmt.Errorf("idemgen: the ledger's schema has version %d; this release works with version %d: migrate the table, or use the release that fits it", version, schemaVersion)
	}
	return nil
}

func (l *Ledger) schemaVersion(ctx context.Context) (version int64, err error) {
	err = l.retry(ctx, "schema version", func(ctx context.Context, _ int) (err error) {
		version, err = l.statements.SchemaVersion(ctx, l.writer)
		return err
	})
	return version, err
}

// createSchema runs the schema's statements, each of which creates only what
// is missing.
func (l *Ledger) createSchema(ctx context.Context) error {
	for _, statement := range l.statements.Schema() {
		err := l.retry(ctx, "create schema", func(ctx context.Context, _ int) error {
			_, err := l.writer.ExecContext(ctx, statement)
			return err
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
