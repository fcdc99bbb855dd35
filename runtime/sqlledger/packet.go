package sqlledger

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/idemgen/idemgen/runtime"
)

const (
	// smallPacket is what every server takes.
	smallPacket = 16 << 10
	// besidePacket is more than what a packet holds beside an answer.
	besidePacket = 8 << 10
)

// Complete implements [Statements]. An answer that is larger than the packets
// that the server takes is refused before it is sent: the server would close
// the connection, which cannot be told from one that broke by itself.
func (m *mysql) Complete(ctx context.Context, db DBTX, p CompleteParams) (int64, error) {
	plain := int64(len(p.ResponseHeaders) + len(p.ResponseBody))
	if plain <= smallPacket-besidePacket {
		return m.MySQLStatements.Complete(ctx, db, p)
	}
	quoted := plain + escapes(p.ResponseHeaders) + escapes(p.ResponseBody)
	limit := m.packet.Load()
	if quoted+besidePacket > limit {
		// The limit is not known yet, or may have been raised.
		if err := db.QueryRowContext(ctx, "SELECT @@max_allowed_packet").Scan(&limit); err != nil {
			return 0, err
		}
		m.packet.Store(limit)
	}
	switch {
	case plain+besidePacket > limit:
		return 0, fmt.Errorf("%w: the answer has %d bytes; the server takes packets of %d bytes (max_allowed_packet)", runtime.ErrRefused, plain, limit)
	case quoted+besidePacket > limit:
		db = prepared{db}
	}
	return m.MySQLStatements.Complete(ctx, db, p)
}

// escapes is how many bytes are added to a value when the driver writes it into
// the statement's text (interpolateParams).
func escapes(value []byte) (n int64) {
	for _, b := range value {
		switch b {
		case 0, '\n', '\r', 0x1a, '\'', '"', '\\':
			n++
		}
	}
	return n
}

// prepared sends values beside the statement, never within its text.
type prepared struct{ DBTX }

// ExecContext implements [DBTX].
func (p prepared) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	statement, err := p.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer statement.Close()
	return statement.ExecContext(ctx, args...)
}
