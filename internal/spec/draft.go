package spec

import (
	"go/token"
	"go/types"
)

// Draft is a package as its source states it, before any rule is checked.
type Draft struct {
	// Package has everything but the APIs and the build constraint.
	Package *Package
	// Module is the directory of the package's module; "" when unknown.
	Module     string
	Interfaces []DraftInterface
	// Locate returns where an object is declared; the zero position for
	// objects of other packages, whose source the user may not own.
	Locate func(types.Object) token.Position
	// Declared returns the type in the declaration of a defined type of the
	// package, which is more than its underlying one; nil for other types.
	Declared func(*types.TypeName) types.Type
}

// DraftInterface is an interface with directives.
type DraftInterface struct {
	Name       string
	Pos        token.Position // of the name
	Constraint string         // of its file
	Directives []Directive
	TypeParams token.Position // of the type parameters; invalid without any
	Embedded   []DraftEmbedded
	Methods    []DraftMethod // in order of declaration
	// Spoilt says that a comment of the interface holds a broken directive,
	// which has been reported.
	Spoilt bool
}

// DraftEmbedded is an embedded type of an interface.
type DraftEmbedded struct {
	Text string // as in the source
	Pos  token.Position
}

// DraftMethod is a method that an interface declares.
type DraftMethod struct {
	Name       string
	Doc        string // without directives
	Pos        token.Position
	Directives []Directive
	// Spoilt says that its comment holds a broken directive, which has been
	// reported.
	Spoilt bool
	// Signature is nil when it could not be typed and that has been reported.
	Signature *types.Signature
	// Params and Results have the position of each one's type expression.
	Params, Results []DraftType
}

// DraftType is the type of a parameter or result as the source states it.
type DraftType struct {
	Text string // as in the source
	Pos  token.Position
	// Import is the path of the imported package that the type is from, for
	// the message when it does not resolve; "" for other types.
	Import string
}
