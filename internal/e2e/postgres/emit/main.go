// Command emit writes the ledger packages under emitted, which the tests here
// run. A test says when they are not what idemgen emits today.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/idemgen/idemgen/queries"
)

//go:generate go run .

func main() {
	for driver, goPackage := range map[string]string{"pgx": "native", "sql": "standard"} {
		files, err := queries.Emit("postgres", driver, goPackage, "idempotency_keys")
		if err != nil {
			log.Fatal(err)
		}
		folder := filepath.Join("..", "emitted", goPackage)
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
