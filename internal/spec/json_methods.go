package spec

import "go/types"

// jsontext is the package whose types the methods of encoding/json/v2 take. From
// Go 1.27 on, and before where GOEXPERIMENT says so, encoding/json calls them
// too, and prefers them.
const jsontext = "encoding/json/jsontext"

// readsJSON reports whether a variable of type t has a method that reads JSON,
// of either generation.
func readsJSON(t types.Type) bool {
	return implements(t, jsonUnmarshaler) || hasStreamMethod(t, "UnmarshalJSONFrom", "Decoder")
}

// writesJSON is readsJSON for writing.
func writesJSON(t types.Type) bool {
	return implements(t, jsonMarshaler) || hasStreamMethod(t, "MarshalJSONTo", "Encoder")
}

// hasStreamMethod reports whether a variable of type t has the method, which
// takes a pointer to a type of package jsontext and returns an error. Its
// interface cannot be built here, since not every Go has that package.
func hasStreamMethod(t types.Type, name, stream string) bool {
	if _, isPointer := t.Underlying().(*types.Pointer); !isPointer && !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	found := types.NewMethodSet(t).Lookup(nil, name)
	if found == nil {
		return false
	}
	signature, ok := found.Type().(*types.Signature)
	return ok && signature.Params().Len() == 1 && isPointerTo(signature.Params().At(0).Type(), jsontext, stream) &&
		signature.Results().Len() == 1 && isError(signature.Results().At(0).Type())
}
