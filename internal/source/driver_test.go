package source

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"golang.org/x/tools/go/packages"
)

// The test binary can stand in for the program that package packages asks about
// packages: what the tests say about loading is then said about real requests.
const (
	driverLog    = "IDEMGEN_TEST_DRIVER" // where each request is noted
	driverExport = "IDEMGEN_TEST_EXPORT" // what stands for all export data
)

func TestMain(m *testing.M) {
	if log := os.Getenv(driverLog); log != "" {
		if err := drive(log, os.Getenv(driverExport)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// driverEnv is the environment of a load that asks the test binary.
func driverEnv(t *testing.T, log, export string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append(moduleEnv(), "GOPACKAGESDRIVER="+self, driverLog+"="+log, driverExport+"="+export)
}

// drive answers one request as the go command would, with other export data.
func drive(log, export string) error {
	var request packages.DriverRequest
	if err := json.NewDecoder(os.Stdin).Decode(&request); err != nil {
		return err
	}
	file, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	what := "listed"
	switch {
	case request.Mode&packages.NeedDeps != 0:
		what = "loaded with sources"
	case request.Mode&packages.NeedTypes != 0:
		what = "loaded"
	}
	if _, err := fmt.Fprintln(file, os.Args[1:], what); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	roots, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedExportFile | packages.NeedModule,
		BuildFlags: request.BuildFlags, Overlay: request.Overlay,
		Env: append(os.Environ(), "GOPACKAGESDRIVER=off", driverLog+"="),
	}, os.Args[1:]...)
	if err != nil {
		return err
	}
	response := packages.DriverResponse{Compiler: "gc", Arch: "amd64"}
	for _, root := range roots {
		response.Roots = append(response.Roots, root.ID)
	}
	packages.Visit(roots, nil, func(p *packages.Package) {
		if export != "" {
			p.ExportFile = export
		}
		response.Packages = append(response.Packages, p)
	})
	return json.NewEncoder(os.Stdout).Encode(response)
}
