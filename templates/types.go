package templates

import (
	"fmt"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"
)

// typePrinter writes types as the source of one package would. It notes which
// packages and which identifiers of the package itself it mentions.
//
// Aliases stay aliases: what they stand for may be a type that the package
// must not import.
type typePrinter struct {
	pkg     *types.Package
	imports *imports
	own     map[string]bool
}

// print writes a type. The error says why the package cannot name it.
func (p *typePrinter) print(t types.Type) (*jen.Statement, error) {
	switch t := t.(type) {
	case *types.Basic:
		return p.basic(t)
	case *types.Alias:
		return p.alias(t)
	case *types.Named:
		return p.named(t.Obj(), t.TypeArgs())
	case *types.Pointer:
		return p.prefixed(jen.Op("*"), t.Elem())
	case *types.Slice:
		return p.prefixed(jen.Index(), t.Elem())
	case *types.Array:
		return p.prefixed(jen.Index(jen.Op(strconv.FormatInt(t.Len(), 10))), t.Elem())
	case *types.Map:
		key, err := p.print(t.Key())
		if err != nil {
			return nil, err
		}
		return p.prefixed(jen.Map(key), t.Elem())
	case *types.Chan:
		return p.channel(t)
	case *types.Signature:
		return p.prefixedSignature(jen.Func(), t)
	case *types.Struct:
		return p.structure(t)
	case *types.Interface:
		return p.interfaceType(t)
	default:
		return nil, fmt.Errorf("%s is not a type that can stand in generated code", t)
	}
}

func (p *typePrinter) prefixed(prefix *jen.Statement, elem types.Type) (*jen.Statement, error) {
	code, err := p.print(elem)
	if err != nil {
		return nil, err
	}
	return prefix.Add(code), nil
}

func (p *typePrinter) basic(t *types.Basic) (*jen.Statement, error) {
	if t.Kind() == types.UnsafePointer {
		p.imports.use("unsafe", "unsafe")
		return jen.Qual("unsafe", "Pointer"), nil
	}
	return p.universe(t.Name())
}

// universe names a predeclared type, which the package must not have hidden.
func (p *typePrinter) universe(name string) (*jen.Statement, error) {
	if p.pkg.Scope().Lookup(name) != nil {
		return nil, fmt.Errorf("the package declares %s, which hides the predeclared one", name)
	}
	return jen.Id(name), nil
}

// alias names an alias, or what it stands for where its own name is out of
// reach.
func (p *typePrinter) alias(t *types.Alias) (*jen.Statement, error) {
	code, err := p.named(t.Obj(), t.TypeArgs())
	if err != nil {
		if behind, err := p.print(t.Rhs()); err == nil {
			return behind, nil
		}
		return nil, err
	}
	return code, nil
}

// named names a declared type.
func (p *typePrinter) named(obj *types.TypeName, args *types.TypeList) (*jen.Statement, error) {
	name, err := p.object(obj)
	if err != nil {
		return nil, err
	}
	if args.Len() == 0 {
		return name, nil
	}
	var list []jen.Code
	for arg := range args.Types() {
		code, err := p.print(arg)
		if err != nil {
			return nil, err
		}
		list = append(list, code)
	}
	return name.Types(list...), nil
}

func (p *typePrinter) object(obj *types.TypeName) (*jen.Statement, error) {
	pkg := obj.Pkg()
	switch {
	case pkg == nil:
		return p.universe(obj.Name())
	case obj.Parent() != nil && obj.Parent() != pkg.Scope():
		return nil, fmt.Errorf("%s is declared inside a function", obj.Name())
	}
	return p.member(pkg, obj.Name())
}

// member names what a package declares.
func (p *typePrinter) member(pkg *types.Package, name string) (*jen.Statement, error) {
	path := withoutVendor(pkg.Path())
	switch {
	case p.isOwn(pkg):
		p.own[name] = true
		return jen.Id(name), nil
	case !token.IsExported(name):
		return nil, fmt.Errorf("%s of package %q is not exported", name, path)
	case pkg.Name() == "main":
		return nil, fmt.Errorf("%s belongs to package %q, which is a program and cannot be imported", name, path)
	case !mayImport(withoutVendor(p.pkg.Path()), path):
		return nil, fmt.Errorf("%s belongs to the internal package %q, which cannot be imported here: declare an alias for it where it can", name, path)
	}
	p.imports.use(path, pkg.Name())
	return jen.Qual(path, name), nil
}

// isOwn reports whether pkg is the package that is written for.
func (p *typePrinter) isOwn(pkg *types.Package) bool {
	return pkg == p.pkg || pkg.Path() == p.pkg.Path()
}

// withoutVendor is a path as an import declaration has it.
func withoutVendor(path string) string {
	if i := strings.LastIndex(path, "/vendor/"); i >= 0 {
		return path[i+len("/vendor/"):]
	}
	return strings.TrimPrefix(path, "vendor/")
}

// mayImport reports whether the rule of internal packages lets a package
// import another. For packages that are listed by file names the rule has no
// answer; they compile or they do not.
func mayImport(from, path string) bool {
	if from == "command-line-arguments" {
		return true
	}
	parent, found := "", false
	if i := strings.LastIndex(path, "/internal/"); i >= 0 {
		parent, found = path[:i], true
	} else if strings.HasSuffix(path, "/internal") {
		parent, found = strings.TrimSuffix(path, "/internal"), true
	} else if path == "internal" || strings.HasPrefix(path, "internal/") {
		return false
	}
	return !found || from == parent || strings.HasPrefix(from, parent+"/")
}

func (p *typePrinter) channel(t *types.Chan) (*jen.Statement, error) {
	elem, err := p.print(t.Elem())
	if err != nil {
		return nil, err
	}
	switch t.Dir() {
	case types.SendOnly:
		return jen.Chan().Op("<-").Add(elem), nil
	case types.RecvOnly:
		return jen.Op("<-").Chan().Add(elem), nil
	}
	if inner, ok := t.Elem().(*types.Chan); ok && inner.Dir() == types.RecvOnly {
		return jen.Chan().Parens(elem), nil // else the arrow would bind to the left
	}
	return jen.Chan().Add(elem), nil
}

// prefixedSignature writes the parameters and results behind func or a
// method's name.
func (p *typePrinter) prefixedSignature(prefix *jen.Statement, t *types.Signature) (*jen.Statement, error) {
	var params, results []jen.Code
	for i := range t.Params().Len() {
		param := t.Params().At(i).Type()
		dots := jen.Null()
		if slice, ok := param.(*types.Slice); ok && t.Variadic() && i == t.Params().Len()-1 {
			param, dots = slice.Elem(), jen.Op("...")
		}
		code, err := p.print(param)
		if err != nil {
			return nil, err
		}
		params = append(params, dots.Add(code))
	}
	for result := range t.Results().Variables() {
		code, err := p.print(result.Type())
		if err != nil {
			return nil, err
		}
		results = append(results, code)
	}
	prefix.Params(params...)
	switch len(results) {
	case 0:
		return prefix, nil
	case 1:
		return prefix.Add(results[0]), nil
	default:
		return prefix.Params(results...), nil
	}
}

func (p *typePrinter) structure(t *types.Struct) (*jen.Statement, error) {
	var fields []jen.Code
	for i := range t.NumFields() {
		field := t.Field(i)
		if !field.Exported() && !p.isOwn(field.Pkg()) {
			return nil, fmt.Errorf("it is a struct type without a name, and its field %s is not exported", field.Name())
		}
		code, err := p.print(field.Type())
		if err != nil {
			return nil, err
		}
		if !field.Embedded() {
			code = jen.Id(field.Name()).Add(code)
		}
		if tag := t.Tag(i); tag != "" {
			code.Op(tagLiteral(tag)) // verbatim: tags are part of the type's identity
		}
		fields = append(fields, code)
	}
	return jen.Struct(fields...), nil
}

func tagLiteral(tag string) string {
	if strconv.CanBackquote(tag) {
		return "`" + tag + "`"
	}
	return strconv.Quote(tag)
}

func (p *typePrinter) interfaceType(t *types.Interface) (*jen.Statement, error) {
	var elements []jen.Code
	for method := range t.ExplicitMethods() {
		if !token.IsExported(method.Name()) && !p.isOwn(method.Pkg()) {
			return nil, fmt.Errorf("it is an interface type without a name, and its method %s is not exported", method.Name())
		}
		code, err := p.prefixedSignature(jen.Id(method.Name()), method.Signature())
		if err != nil {
			return nil, err
		}
		elements = append(elements, code)
	}
	for embedded := range t.EmbeddedTypes() {
		code, err := p.print(embedded)
		if err != nil {
			return nil, err
		}
		elements = append(elements, code)
	}
	return jen.Interface(elements...), nil
}
