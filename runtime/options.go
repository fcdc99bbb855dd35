package runtime

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// Option configures an [Engine], a [Server] or a [Middleware].
type Option func(*settings) error

type settings struct {
	observer  Observer
	logger    *slog.Logger
	secret    []byte
	authorize AuthorizeFunc
	challenge string
	sealer    Sealer
	// unsealedUntil is when answers that are not sealed are refused.
	unsealedUntil   time.Time
	fingerprintKeys []fingerprintKey
	keyedRows       bool // new rows have the first of the keys
	saidKeyed       bool // by an option of its own

	problemBase   string
	renderProblem ProblemFunc

	callerLimit, callerStatus int // 0: none
	keptLimit, keptStatus     int // 0: none
}

// PrincipalFunc names the caller of a request: 1 to 255 bytes derived by the
// server, such as an account or tenant id, never text that the caller chose.
// An error with HTTPStatus() int is answered with that status (an outage of
// the identity service is not a 401); any other error, also one that wraps such
// an error, is 401.
type PrincipalFunc func(r *http.Request) (string, error)

// AuthorizeFunc says whether the principal may call the operation now. It runs
// before a key is looked up, so that a caller who lost its rights gets no
// replay. An error with HTTPStatus() int is answered with that status; any
// other error is 403.
type AuthorizeFunc func(r *http.Request, principal, operation string) error

// WithObserver tells o of every event.
func WithObserver(o Observer) Option {
	return func(s *settings) error {
		if isNil(o) {
			return errors.New("idemgen: WithObserver: nil observer")
		}
		s.observer = o
		return nil
	}
}

// WithLogger logs to l instead of slog.Default().
func WithLogger(l *slog.Logger) Option {
	return func(s *settings) error {
		if l == nil || isNil(l.Handler()) {
			return errors.New("idemgen: WithLogger: nil logger, or one without a handler")
		}
		s.logger = l
		return nil
	}
}

// minSecret is how many bytes a secret of key hashes has at least.
const minSecret = 16

// WithKeyHashSecret lets logs and events name keys by their HMAC under the
// secret, at least 16 bytes. Without it they do not name keys at all.
func WithKeyHashSecret(secret []byte) Option {
	return func(s *settings) error {
		if len(secret) < minSecret {
			return fmt.Errorf("idemgen: WithKeyHashSecret: a secret has at least %d bytes", minSecret)
		}
		s.secret = append([]byte(nil), secret...)
		return nil
	}
}

// WithAuthorize checks every request before its key is looked up.
func WithAuthorize(f AuthorizeFunc) Option {
	return func(s *settings) error {
		if f == nil {
			return errors.New("idemgen: WithAuthorize: nil function")
		}
		s.authorize = f
		return nil
	}
}

// WithChallenge is the WWW-Authenticate header of 401 answers (RFC 9110,
// section 11.6.1); the default is "Bearer".
func WithChallenge(challenge string) Option {
	return func(s *settings) error {
		if challenge == "" || !printable(challenge) {
			return errors.New("idemgen: WithChallenge: a challenge is printable ASCII and not empty")
		}
		s.challenge = challenge
		return nil
	}
}

// WithProblemBase makes the "type" of every problem document of base, put in
// front of the code as it stands: "https://shop.example/problems#" for one. The
// service describes all codes there, those of docs/problems.md too. Without it
// the runtime's codes point to that page, and the service's own have the type
// "about:blank".
func WithProblemBase(base string) Option {
	return func(s *settings) error {
		if u, err := url.Parse(base); base == "" || err != nil || !printable(base) || u.Scheme == "" {
			return errors.New("idemgen: WithProblemBase: a base is an absolute URI, such as https://shop.example/problems#")
		}
		s.problemBase = base
		return nil
	}
}

// WithProblemRenderer renders error answers with f instead of the form that
// policies say.
func WithProblemRenderer(f ProblemFunc) Option {
	return func(s *settings) error {
		if f == nil {
			return errors.New("idemgen: WithProblemRenderer: nil function")
		}
		s.renderProblem = f
		return nil
	}
}

func newSettings(opts []Option) (settings, error) {
	s := settings{logger: slog.Default(), challenge: "Bearer"}
	for _, opt := range opts {
		if err := opt(&s); err != nil {
			return s, err
		}
	}
	if s.sealer == nil && !s.unsealedUntil.IsZero() {
		return s, errors.New("idemgen: AllowUnsealed: there is no sealer: without WithSealer every answer is unsealed")
	}
	return s, s.takeFingerprintKeys()
}
