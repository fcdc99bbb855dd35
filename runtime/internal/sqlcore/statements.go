package sqlcore

import "context"

// Statements are the statements of an emitted ledger. The parameters and rows
// have the fields that sqlc gives them, so that the emitted code converts
// between the two, and does not compile when they drift apart. A statement
// whose condition does not hold returns sql.ErrNoRows or 0 rows. DB is what a
// statement runs on: a database, a connection or a transaction.
type Statements[DB any] interface {
	Insert(context.Context, DB, InsertParams) (Claimed, error)
	Read(context.Context, DB, ReadParams) (ReadRow, error)
	TakeOver(context.Context, DB, TakeOverParams) (Claimed, error)
	Reuse(context.Context, DB, ReuseParams) (Claimed, error)
	Renew(context.Context, DB, RenewParams) (Claimed, error)
	Complete(context.Context, DB, CompleteParams) (int64, error)
	Lock(context.Context, DB, FenceParams) (int64, error)
	Release(context.Context, DB, FenceParams) (int64, error)
	EndLease(context.Context, DB, FenceParams) (int64, error)
	// Confirm writes to the row of a claim.
	Confirm(context.Context, DB, FenceParams) (int64, error)
	SweepDue(context.Context, DB) (int64, error)
	SweepDrop(context.Context, DB, SweepParams) (int64, error)
	SweepDelete(context.Context, DB, SweepParams) (int64, error)
	Counts(context.Context, DB) ([]CountsRow, error)
	Erase(context.Context, DB, EraseParams) (int64, error)
	List(context.Context, DB, ListParams) ([]ListRow, error)
	Kept(context.Context, DB, KeptParams) (int64, error)
	SchemaVersion(context.Context, DB) (int64, error)
	// Table is the name of the ledger's table, behind its schema's where it has one.
	Table() string
	// Schema creates what is missing, one statement per element.
	Schema() []string
}

// Claimed is what statements that claim return.
type Claimed struct {
	Generation int64
	ClaimedAt  int64
	LeaseUntil int64
}

// InsertParams are a claim of an absent key. Durations are in milliseconds.
type InsertParams struct {
	Principal   string
	Scope       string
	Key         string
	Operation   string
	Policy      string
	Fingerprint []byte
	Owner       []byte
	LeaseMs     int64
	RetainMs    int64
	GoneMs      int64
}

// ReadParams are a primary key.
type ReadParams struct {
	Principal string
	Scope     string
	Key       string
}

// ReadRow is a row and the time at which it was read.
type ReadRow struct {
	Operation       string
	Policy          string
	Fingerprint     []byte
	Status          string
	Generation      int64
	Owner           []byte
	ClaimedAt       int64
	LeaseUntil      int64
	ExpiresAt       int64
	GoneAt          int64
	ResponseStatus  int64
	ResponseHeaders []byte
	ResponseBody    []byte
	Now             int64
}

// TakeOverParams are a claim of a row as it was seen.
type TakeOverParams struct {
	Owner          []byte
	LeaseMs        int64
	RetainMs       int64
	GoneMs         int64
	Principal      string
	Scope          string
	Key            string
	SeenGeneration int64
	SeenOwner      []byte
}

// ReuseParams are a claim that resets a row as it was seen.
type ReuseParams struct {
	Operation      string
	Policy         string
	Fingerprint    []byte
	Owner          []byte
	LeaseMs        int64
	RetainMs       int64
	GoneMs         int64
	Principal      string
	Scope          string
	Key            string
	SeenGeneration int64
	SeenOwner      []byte
}

// RenewParams are a fence and the terms of its new lease.
type RenewParams struct {
	LeaseMs    int64
	RetainMs   int64
	GoneMs     int64
	Principal  string
	Scope      string
	Key        string
	Generation int64
	Owner      []byte
}

// CompleteParams are a fence and the answer under it.
type CompleteParams struct {
	ResponseStatus  int64
	ResponseHeaders []byte
	ResponseBody    []byte
	RetainMs        int64
	GoneMs          int64
	Principal       string
	Scope           string
	Key             string
	Generation      int64
	Owner           []byte
}

// FenceParams are a fence.
type FenceParams struct {
	Principal  string
	Scope      string
	Key        string
	Generation int64
	Owner      []byte
}

// SweepParams bound a sweep.
type SweepParams struct {
	MaxRows int64
}

// CountsRow is a number of rows of one operation in one state.
type CountsRow struct {
	Operation string
	State     string
	RowCount  int64
}

// EraseParams bound the erasing of a principal.
type EraseParams struct {
	Principal string
	MaxRows   int64
}

// ListParams are the primary key behind which a page begins, and its length.
type ListParams struct {
	Principal string
	Scope     string
	Key       string
	MaxRows   int64
}

// ListRow is a row without its answer, and the time at which it was read.
type ListRow struct {
	Principal      string
	Scope          string
	Key            string
	Operation      string
	Policy         string
	Status         string
	Generation     int64
	Owner          []byte
	ClaimedAt      int64
	LeaseUntil     int64
	ExpiresAt      int64
	GoneAt         int64
	RecoveryPoint  string
	ResponseStatus int64
	AnswerBytes    int64
	Now            int64
}

// KeptParams bound the counting of a principal's rows.
type KeptParams struct {
	Principal string
	MaxRows   int64
}
