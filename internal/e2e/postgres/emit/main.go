// Command emit writes the ledger packages under emitted, which the tests here
// run. A test says when they are not what idemgen emits today.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/idemgen/idemgen/queries"

	"github.com/idemgen/idemgen/internal/e2e/postgres/emitted"
)

//go:generate go run .

func main() {
	for goPackage, p := range emitted.Packages {
		files, err := queries.Emit("postgres", p.Driver, goPackage, p.Table)
		if err != nil {
			log.Fatal(err)
		}
		folder := filepath.Join("..", "emitted", goPackage)
		if err := os.RemoveAll(folder); err != nil {
			log.Fatal(err)
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			log.Fatal(err)
		}
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
				log.Fatal(err)
			}
		}
	}
}
