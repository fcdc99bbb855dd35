// Package faults gives the suite of prove/faults servers of this repository to
// attack: three processes of the example's checkout (see server) on one
// PostgreSQL, and two on one SQLite file, some with a clock that jumps by an
// hour, with a payment service behind them.
package faults
