package runtime

// IsAtLeastVersion0_1_0 is named by generated code. If it is undefined, the
// runtime in go.mod is older than the generator that wrote the code: run
//
//	go get github.com/idemgen/idemgen@latest
//
// in that module, or generate again with the older generator.
const IsAtLeastVersion0_1_0 = true
