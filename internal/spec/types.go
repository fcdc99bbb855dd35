package spec

import (
	"go/token"
	"go/types"
	"strings"
)

// runtimePath is the import path of the package that generated code calls.
const runtimePath = "github.com/idemgen/idemgen/runtime"

// isNamed reports whether t, aliases seen through, is the type of that name.
func isNamed(t types.Type, path, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return false
	}
	obj := named.Obj()
	return obj.Name() == name && obj.Pkg() != nil && obj.Pkg().Path() == path
}

// isPointerTo reports whether t is a pointer to the type of that name.
func isPointerTo(t types.Type, path, name string) bool {
	pointer, ok := types.Unalias(t).(*types.Pointer)
	return ok && isNamed(pointer.Elem(), path, name)
}

// isError reports whether t is the predeclared error.
func isError(t types.Type) bool {
	return types.Identical(t, types.Universe.Lookup("error").Type())
}

// dereference returns what t points to, and whether it is a pointer. Aliases of
// what it returns are kept.
func dereference(t types.Type) (types.Type, bool) {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		return pointer.Elem(), true
	}
	return t, false
}

// structOf returns the struct that t is.
func structOf(t types.Type) (*types.Struct, bool) {
	s, ok := t.Underlying().(*types.Struct)
	return s, ok
}

// isInvalid reports whether t, or a part of its spelling, did not resolve. It
// does not look into the declarations of named types.
func isInvalid(t types.Type) bool {
	switch t := t.(type) {
	case *types.Basic:
		return t.Kind() == types.Invalid
	case *types.Alias:
		return anyInvalid(t.TypeArgs()) || isInvalid(t.Rhs())
	case *types.Named:
		return anyInvalid(t.TypeArgs()) || isInvalid(t.Underlying())
	case *types.Pointer:
		return isInvalid(t.Elem())
	case *types.Slice:
		return isInvalid(t.Elem())
	case *types.Array:
		return isInvalid(t.Elem())
	case *types.Map:
		return isInvalid(t.Key()) || isInvalid(t.Elem())
	case *types.Chan:
		return isInvalid(t.Elem())
	default:
		return false
	}
}

func anyInvalid(list *types.TypeList) bool {
	for t := range list.Types() {
		if isInvalid(t) {
			return true
		}
	}
	return false
}

// typeText writes a type as the source of the package would, with package
// names before the types of others.
func typeText(t types.Type, in *types.Package) string {
	return types.TypeString(t, func(other *types.Package) string {
		if other == in {
			return ""
		}
		return other.Name()
	})
}

// methodInterface is the interface of one method, such as
// encoding.TextUnmarshaler. Built here it is the same type as the library's,
// whether or not the user's package imports that.
func methodInterface(name string, params, results []types.Type) *types.Interface {
	signature := types.NewSignatureType(nil, nil, nil, tuple(params), tuple(results), false)
	t := types.NewInterfaceType([]*types.Func{types.NewFunc(token.NoPos, nil, name, signature)}, nil)
	return t.Complete()
}

func tuple(list []types.Type) *types.Tuple {
	vars := make([]*types.Var, len(list))
	for i, t := range list {
		vars[i] = types.NewVar(token.NoPos, nil, "", t)
	}
	return types.NewTuple(vars...)
}

var (
	errorType = types.Universe.Lookup("error").Type()
	bytesType = types.NewSlice(types.Typ[types.Byte])

	textUnmarshaler = methodInterface("UnmarshalText", []types.Type{bytesType}, []types.Type{errorType})
	textMarshaler   = methodInterface("MarshalText", nil, []types.Type{bytesType, errorType})
	jsonUnmarshaler = methodInterface("UnmarshalJSON", []types.Type{bytesType}, []types.Type{errorType})
	jsonMarshaler   = methodInterface("MarshalJSON", nil, []types.Type{bytesType, errorType})
)

// implements reports whether a variable of type t has the methods: those of t,
// and those of a pointer to it, which a variable's address gives.
func implements(t types.Type, methods *types.Interface) bool {
	return types.Implements(t, methods) || types.Implements(types.NewPointer(t), methods)
}

// isNameable reports whether code of the package in can write the type: its
// name is exported or the package's own, and its package may be imported.
func isNameable(t types.Type, in *types.Package) bool {
	var obj *types.TypeName
	var arguments *types.TypeList
	switch t := t.(type) {
	case *types.Alias:
		obj, arguments = t.Obj(), t.TypeArgs()
	case *types.Named:
		obj, arguments = t.Obj(), t.TypeArgs()
	case *types.Pointer:
		return isNameable(t.Elem(), in)
	default:
		return true
	}
	for argument := range arguments.Types() {
		if !isNameable(argument, in) {
			return false
		}
	}
	if obj.Pkg() == nil || obj.Pkg() == in {
		return true
	}
	return obj.Exported() && mayImport(in.Path(), obj.Pkg().Path())
}

// mayImport applies the rule of internal folders: only what shares the folder
// that holds one may import from it.
func mayImport(importer, imported string) bool {
	i := strings.LastIndex("/"+imported+"/", "/internal/")
	switch {
	case i < 0:
		return true
	case i == 0:
		return false // of the standard library
	}
	root := imported[:i-1]
	return importer == root || strings.HasPrefix(importer, root+"/")
}

// isDuration reports whether t is time.Duration, or declared as one.
func isDuration(t types.Type, declared func(*types.TypeName) types.Type) bool {
	for range 100 { // a declaration that leads back to itself does not compile
		named, ok := types.Unalias(t).(*types.Named)
		switch {
		case !ok || declared == nil:
			return false
		case isNamed(t, "time", "Duration"):
			return true
		}
		if t = declared(named.Obj()); t == nil {
			return false
		}
	}
	return false
}
