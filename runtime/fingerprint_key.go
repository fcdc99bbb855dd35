package runtime

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// WithFingerprintSecret keeps fingerprints as HMACs under a secret of at least
// 16 bytes, so that who reads the table cannot find a request by trying: a
// fingerprint without a secret confirms every guess. Secrets rotate: the first
// one is used for new rows, the others for rows that have them. A row is
// compared as it was written, with a secret or without, and a server that does
// not know its secret answers 409 idempotency_key_retry. With nil for the first
// one, new rows have none: so all servers can learn a secret before the first
// of them uses it. Sealers that have secrets to give, as [AESSealer] does, make
// this option needless.
func WithFingerprintSecret(secret []byte, others ...[]byte) Option {
	all := slices.Clone(others)
	if secret != nil {
		all = slices.Insert(all, 0, secret)
	}
	return func(s *settings) error {
		for _, other := range all {
			if len(other) < minFingerprintSecret {
				return fmt.Errorf("idemgen: WithFingerprintSecret: a secret has at least %d bytes", minFingerprintSecret)
			}
			s.fingerprintKeys = append(s.fingerprintKeys, newFingerprintKey(other))
		}
		s.keyedRows, s.saidKeyed = secret != nil, true
		return nil
	}
}

const minFingerprintSecret = 16

// A FingerprintSecreter is a [Sealer] that gives secrets for fingerprints, too:
// see [WithFingerprintSecret], whose order they have. They must be the same in
// every process, and at least 16 bytes long.
type FingerprintSecreter interface {
	FingerprintSecrets() [][]byte
}

// fingerprintKey is a secret under which fingerprints are kept, and its name
// in the rules of rows.
type fingerprintKey struct {
	name   string
	secret []byte
}

func newFingerprintKey(secret []byte) fingerprintKey {
	name := hmacOf(secret, []byte("idemgen: name of a fingerprint's key"))
	return fingerprintKey{hex.EncodeToString(name[:4]), slices.Clone(secret)}
}

func hmacOf(secret, text []byte) (sum [32]byte) {
	mac := hmac.New(sha256.New, secret)
	mac.Write(text)
	mac.Sum(sum[:0])
	return sum
}

// of is what a row keeps of a request's digest: an HMAC over principal, scope
// and key, each length-prefixed, and the digest. So equal requests of two rows
// are not told either.
func (k fingerprintKey) of(id ID, digest [32]byte) [32]byte {
	text := make([]byte, 0, 256)
	for _, s := range []string{id.Principal, id.Scope, id.Key} {
		text = binary.BigEndian.AppendUint64(text, uint64(len(s)))
		text = append(text, s...)
	}
	return hmacOf(k.secret, append(text, digest[:]...))
}

// keyedRule begins the rule of a row whose fingerprint is kept under a key:
// "hmac:NAME 1 raw content-type". Binaries that know no keys take it for an
// unknown rule.
const keyedRule = "hmac:"

// newRule is how new rows of a rule are written.
func (s *settings) newRule(rule Rule) string {
	if key := s.newRowsKey(); key != nil {
		return keyedRule + key.name + " " + rule.String()
	}
	return rule.String()
}

// newRowsKey is the key under which new rows keep their fingerprints, or nil.
func (s *settings) newRowsKey() *fingerprintKey {
	if !s.keyedRows {
		return nil
	}
	return &s.fingerprintKeys[0]
}

// ruleOf reads the rule of a row, and the key under which its fingerprint is
// kept: nil for none.
func (s *settings) ruleOf(stored string) (Rule, *fingerprintKey, error) {
	rest, keyed := strings.CutPrefix(stored, keyedRule)
	if !keyed {
		rule, err := ParseRule(stored)
		return rule, nil, err
	}
	name, rest, _ := strings.Cut(rest, " ")
	for i := range s.fingerprintKeys {
		if key := &s.fingerprintKeys[i]; key.name == name {
			rule, err := ParseRule(rest)
			return rule, key, err
		}
	}
	return Rule{}, nil, fmt.Errorf("%w: %q: its fingerprint is under a secret that is not given", ErrRuleUnknown, stored)
}

// takeFingerprintKeys adds the keys of the sealer and looks at all.
func (s *settings) takeFingerprintKeys() error {
	if with, ok := s.sealer.(FingerprintSecreter); ok {
		for _, secret := range with.FingerprintSecrets() {
			if len(secret) < minFingerprintSecret {
				return fmt.Errorf("idemgen: WithSealer: a secret for fingerprints has at least %d bytes", minFingerprintSecret)
			}
			s.fingerprintKeys = append(s.fingerprintKeys, newFingerprintKey(secret))
			s.keyedRows = s.keyedRows || !s.saidKeyed
		}
	} else if s.sealer != nil && !s.saidKeyed {
		s.logger.Warn("idemgen: answers are sealed, but fingerprints tell a request to who guesses it: give WithFingerprintSecret, too")
	}
	names := map[string]bool{}
	for _, key := range s.fingerprintKeys {
		if names[key.name] {
			return errors.New("idemgen: a secret for fingerprints is given twice")
		}
		names[key.name] = true
	}
	return nil
}
