package migrations_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/idemgen/idemgen/prove/servers"
)

// attackerTask is the variable that makes this binary the attacker: what it may
// try, in JSON.
const attackerTask = "IDEMGEN_TEST_ATTACKER"

// task is what an attacker has found out. He knows all but the passwords.
type task struct {
	Account int // whose rights he has
	// Names are data source names by driver.
	Names map[string][]string
	// Files are those that hold secrets.
	Files []string
	// Secrets are what must not be found among arguments.
	Secrets []string
}

// Every account of the machine reaches what listens on a loopback port, as the
// proxies of tests do. None but who started a server gets into it: whoever did
// could run programs as the server's account.
func TestAnotherAccount(t *testing.T) {
	proxy, err := servers.StartProxy("unix", filepath.Join(postgres.Socket(), ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	pooler, err := servers.StartPgBouncer(postgres, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pooler.Stop)
	sesame := func(dsn, start, end string) string {
		_, rest, _ := strings.Cut(dsn, start)
		password, _, _ := strings.Cut(rest, end)
		if len(password) < 20 {
			t.Fatalf("there is no password in %q", dsn)
		}
		return password
	}
	ofPostgres, ofMariaDB := sesame(postgres.DSN("postgres"), "password=", " "), sesame(mariadb.DSN("mysql"), ":", "@")
	without := func(dsn, secret string) []string {
		return []string{strings.ReplaceAll(dsn, secret, "''"), strings.ReplaceAll(dsn, secret, "postgres")}
	}
	to := task{
		Account: 65534, Secrets: []string{ofPostgres, ofMariaDB},
		Names: map[string][]string{
			"pgx": append(append(without(postgres.DSN("postgres"), ofPostgres), without(postgres.Through(proxy, "postgres"), ofPostgres)...),
				without(pooler.DSN("postgres"), ofPostgres)...),
			"mysql": {"root@tcp(" + mariadb.Address() + ")/mysql", "root:root@tcp(" + mariadb.Address() + ")/mysql", "root@unix(" + mariadb.Socket() + ")/mysql", "@tcp(" + mariadb.Address() + ")/mysql"},
		},
		Files: []string{
			filepath.Join(filepath.Dir(postgres.Socket()), "password"), filepath.Join(filepath.Dir(mariadb.Socket()), "password"),
			filepath.Join(filepath.Dir(mariadb.Socket()), "accounts.sql"),
		},
	}
	for _, file := range to.Files {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want a file of mode 0600", file, info, err)
		}
	}
	// With the passwords the same names lead in: the attack is not turned away
	// for another reason.
	for driver, name := range map[string]string{"pgx": postgres.Through(proxy, "postgres"), "mysql": mariadb.TCP(mariadb.Address(), "mysql")} {
		if err := enter(driver, name); err != nil {
			t.Error(err)
		}
	}
	said, err := json.Marshal(to)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	attacker := exec.Command(self)
	attacker.Env = append(os.Environ(), attackerTask+"="+string(said))
	if out, err := attacker.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// attack does what a task says and reports what should not have succeeded.
func attack() (code int) {
	var to task
	if err := json.Unmarshal([]byte(os.Getenv(attackerTask)), &to); err != nil {
		fmt.Println(err)
		return 2
	}
	if os.Getuid() == 0 {
		if err := become(to.Account); err != nil {
			fmt.Println(err)
			return 2
		}
		for _, file := range to.Files {
			if _, err := os.ReadFile(file); err == nil {
				fmt.Println("another account reads", file)
				code = 1
			}
		}
	}
	for driver, names := range to.Names {
		for _, name := range names {
			if enter(driver, name) == nil {
				fmt.Println("another account enters", name)
				code = 1
			}
		}
	}
	lines, _ := fs.Glob(os.DirFS("/proc"), "[0-9]*/cmdline")
	if len(lines) == 0 {
		fmt.Println("there are no processes to look at")
		code = 1
	}
	for _, line := range lines {
		text, _ := os.ReadFile(filepath.Join("/proc", line)) // a process may have ended
		for _, secret := range to.Secrets {
			if strings.Contains(string(text), secret) {
				fmt.Println("another account reads a password in the arguments of", line)
				code = 1
			}
		}
	}
	return code
}

// become gives up all rights but those of an account.
func become(account int) error {
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setgid(account); err != nil {
		return err
	}
	return syscall.Setuid(account)
}

// enter connects and does something.
func enter(driver, name string) error {
	db, err := sql.Open(driver, name)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec("SELECT 1")
	return err
}
