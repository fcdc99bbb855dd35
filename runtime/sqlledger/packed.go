package sqlledger

import (
	"fmt"
	"strconv"
	"strings"
)

// PackedReadRow is a [ReadRow] as SQLite's statements return it. Each column
// costs as much as half the search for the row, most of it in the driver, so
// that what is short comes as one text: see [PackedReadRow.Unpack].
type PackedReadRow struct {
	Operation       string
	Policy          string
	Fingerprint     []byte
	Owner           []byte
	Packed          string
	ResponseHeaders []byte
	ResponseBody    []byte
}

// Unpack returns the row. What is packed is its status and, each behind a
// space, generation, claimed_at, lease_until, expires_at, gone_at,
// response_status and the time at which it was read.
func (r PackedReadRow) Unpack() (ReadRow, error) {
	row := ReadRow{
		Operation: r.Operation, Policy: r.Policy, Fingerprint: r.Fingerprint, Owner: r.Owner,
		ResponseHeaders: r.ResponseHeaders, ResponseBody: r.ResponseBody,
	}
	status, rest, more := strings.Cut(r.Packed, " ")
	row.Status = status
	for _, number := range []*int64{
		&row.Generation, &row.ClaimedAt, &row.LeaseUntil, &row.ExpiresAt, &row.GoneAt, &row.ResponseStatus, &row.Now,
	} {
		var text string
		var err error
		text, rest, more = strings.Cut(rest, " ")
		if *number, err = strconv.ParseInt(text, 10, 64); err != nil {
			return ReadRow{}, fmt.Errorf("idemgen: a row of the ledger is corrupt: %q is not its status and seven numbers", r.Packed)
		}
	}
	if more {
		return ReadRow{}, fmt.Errorf("idemgen: a row of the ledger is corrupt: %q is not its status and seven numbers", r.Packed)
	}
	return row, nil
}
