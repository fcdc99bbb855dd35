package mysql_test

import "github.com/idemgen/idemgen/internal/e2e/rig"

const (
	lease  = rig.Lease
	retain = rig.Retain
)

var (
	id         = rig.ID
	newClaim   = rig.NewClaim
	fence      = rig.Fence
	completion = rig.Completion
	insert     = rig.Insert
	insertFor  = rig.InsertFor
	read       = rig.Read
	newEngine  = rig.NewEngine
	newGuard   = rig.NewGuard
	call       = rig.Call
	status     = rig.Status
	together   = rig.Together
)
