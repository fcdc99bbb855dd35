package servers

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
)

// MariaDB is a MariaDB server in a folder of its own, on a unix socket and on a
// loopback port. Who connects gives a password that is made for the run.
type MariaDB struct {
	folder   string
	binary   string
	port     int
	password string // the administrator's
	options  []string
	process  *process
}

var mariadbFolders = []string{"/usr/sbin", "/usr/bin"}

// StartMariaDB makes a data folder and starts a server on it, with options of
// the command line. Call Stop at the end.
func StartMariaDB(options ...string) (*MariaDB, error) {
	s, err := newMariaDB(newPassword(), options...)
	if err != nil {
		return nil, err
	}
	if err := s.Start(); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// newMariaDB makes a data folder whose administrator has the password.
func newMariaDB(password string, options ...string) (_ *MariaDB, err error) {
	binary, err := install("mariadbd", mariadbFolders, "mariadb-server")
	if err != nil {
		return nil, err
	}
	installDB, err := install("mariadb-install-db", mariadbFolders, "mariadb-server")
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "mariadb-")
	if err != nil {
		return nil, err
	}
	s := &MariaDB{folder: folder, password: password, binary: binary, options: options}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	for _, dir := range []string{s.folder, s.data(), s.temporary()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		if err := own("mysql", dir); err != nil {
			return nil, err
		}
	}
	accounts, err := s.writeAccounts()
	if err != nil {
		return nil, err
	}
	return s, run("mysql", installDB, "--no-defaults", "--datadir="+s.data(), "--auth-root-authentication-method=normal", "--skip-test-db", "--extra-file="+accounts)
}

func (s *MariaDB) data() string      { return filepath.Join(s.folder, "data") }
func (s *MariaDB) temporary() string { return filepath.Join(s.folder, "tmp") }

// writeAccounts writes the statements that give the administrator his password,
// while nobody can connect yet, and leave no other account that needs none.
func (s *MariaDB) writeAccounts() (file string, err error) {
	if err := writeSecret("mysql", filepath.Join(s.folder, "password"), s.password); err != nil {
		return "", err
	}
	file = filepath.Join(s.folder, "accounts.sql")
	text := fmt.Sprintf(`UPDATE mysql.global_priv SET Priv = JSON_SET(Priv, '$.plugin', 'mysql_native_password', '$.authentication_string', PASSWORD('%s')) WHERE User = 'root';
DELETE FROM mysql.global_priv WHERE User = '';
`, s.password)
	return file, writeSecret("mysql", file, text)
}

// Socket is the path of the server's socket.
func (s *MariaDB) Socket() string { return filepath.Join(s.folder, "socket") }

// Address is where the server listens besides its socket.
func (s *MariaDB) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Start starts the server, also again after it was killed.
func (s *MariaDB) Start() error {
	if err := s.begin(s.options...); err != nil {
		return err
	}
	return s.Await()
}

func (s *MariaDB) begin(options ...string) (err error) {
	s.process, err = begin("mysql", s.binary, append([]string{
		"--no-defaults", "--datadir=" + s.data(), "--socket=" + s.Socket(), "--pid-file=" + filepath.Join(s.folder, "pid"),
		"--tmpdir=" + s.temporary(), // a server that starts clears it
		"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(s.port), "--skip-name-resolve",
		"--max-connections=700", "--innodb-buffer-pool-size=64M",
	}, options...)...)
	return err
}

// Await waits until the server answers.
func (s *MariaDB) Await() error {
	return s.process.await(func() error {
		db, err := sql.Open("mysql", s.DSN("mysql"))
		if err != nil {
			return err
		}
		defer db.Close()
		return db.Ping()
	})
}

// Kill ends the server and all its connections as a crash would.
func (s *MariaDB) Kill() { s.process.signal(syscall.SIGKILL) }

// Stop ends the server and removes its folder.
func (s *MariaDB) Stop() {
	if s.process != nil {
		s.Kill()
	}
	os.RemoveAll(s.folder)
}

// DSN is the data source name of a database over the socket. Options are
// further parameters, as in "clientFoundRows=true".
func (s *MariaDB) DSN(database string, options ...string) string {
	return s.dsn("unix("+s.Socket()+")", database, options)
}

// URL is a URL of a database over the socket, or over an address when it is not
// "". It holds the password: give it to another process by its environment,
// since everybody can read arguments.
func (s *MariaDB) URL(address, database string) string {
	u := &url.URL{Scheme: "mysql", User: url.UserPassword("root", s.password), Host: address, Path: "/" + database}
	if address == "" {
		u.RawQuery = url.Values{"socket": {s.Socket()}}.Encode()
	}
	return u.String()
}

// TCP is DSN over an address, such as the server's own or a proxy's.
func (s *MariaDB) TCP(address, database string, options ...string) string {
	return s.dsn("tcp("+address+")", database, options)
}

func (s *MariaDB) dsn(at, database string, options []string) string {
	return "root:" + s.password + "@" + at + "/" + database + "?" + strings.Join(options, "&")
}

// Create creates an empty database. A node of a cluster that is out of step for
// a moment is waited for.
func (s *MariaDB) Create(database string) error {
	for attempt := 1; ; attempt++ {
		err := s.Run("CREATE DATABASE `" + database + "`")
		var refused *mysql.MySQLError
		if !errors.As(err, &refused) || refused.Number != 1047 || attempt == 100 {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// Run runs statements as the administrator.
func (s *MariaDB) Run(statements ...string) error {
	db, err := sql.Open("mysql", s.DSN("mysql"))
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// freePort is a loopback port that nobody listened on a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// quiet is a logger that drops what the driver says of connections that tests
// break on purpose; what the driver returns as an error is not lost.
type quiet struct{}

func (quiet) Print(...any) {}

func init() { mysql.SetLogger(quiet{}) }

// LoadTimeZone makes a named time zone known to the server.
func (s *MariaDB) LoadTimeZone(name string) error {
	convert, err := install("mariadb-tzinfo-to-sql", mariadbFolders, "mariadb-server")
	if err != nil {
		return err
	}
	zone, err := install(filepath.Base(name), []string{filepath.Join("/usr/share/zoneinfo", filepath.Dir(name))}, "tzdata")
	if err != nil {
		return err
	}
	statements, err := exec.Command(convert, zone, name).Output()
	if err != nil {
		return fmt.Errorf("%s: %w", convert, err)
	}
	client, err := install("mariadb", mariadbFolders, "mariadb-client")
	if err != nil {
		return err
	}
	c := exec.Command(client, "--no-defaults", "--socket="+s.Socket(), "--user=root", "mysql")
	c.Env = append(os.Environ(), "MYSQL_PWD="+s.password)
	c.Stdin = bytes.NewReader(statements)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("load time zone %s: %w\n%s", name, err, out)
	}
	return nil
}

// status is a status variable of the server.
func (s *MariaDB) status(variable string) (value string, err error) {
	db, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		return "", err
	}
	defer db.Close()
	var name string
	err = db.QueryRow("SHOW GLOBAL STATUS LIKE '"+variable+"'").Scan(&name, &value)
	return value, err
}
