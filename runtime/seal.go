package runtime

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// A Sealer encrypts the headers and bodies of stored answers. binding names
// the row and its life, the status of the answer and the part: what was sealed
// under one binding must not open under another, so that an answer cannot be
// moved to another caller's key or to a later life of its own, and its status
// cannot be changed. Implementations must be safe for concurrent use.
type Sealer interface {
	Seal(ctx context.Context, binding, plain []byte) (sealed []byte, err error)
	Open(ctx context.Context, binding, sealed []byte) (plain []byte, err error)
}

// WithSealer seals stored answers. Answers that were stored without a sealer
// do not open with one, unless [AllowUnsealed] says so.
func WithSealer(s Sealer) Option {
	return func(settings *settings) error {
		if isNil(s) {
			return errors.New("idemgen: WithSealer: nil sealer")
		}
		if ours, ok := s.(*AESSealer); ok && len(ours.keys) == 0 {
			return errors.New("idemgen: WithSealer: an AESSealer without keys: NewAESSealer makes one")
		}
		settings.sealer = s
		return nil
	}
}

// AllowUnsealed lets answers that were stored without a sealer be replayed
// until then, by this process's clock: for switching a sealer on. The longest
// retention after the last server without the sealer has stopped is enough.
// Until then who can write to the table can put an answer of his own into it.
func AllowUnsealed(until time.Time) Option {
	return func(settings *settings) error {
		if until.IsZero() {
			return errors.New("idemgen: AllowUnsealed: the time until which unsealed answers are replayed is zero")
		}
		settings.unsealedUntil = until
		return nil
	}
}

// sealMark begins the headers of sealed answers: those of others never begin
// with a NUL. Its second byte is the version of the binding.
const sealMark = "\x00\x01"

// errUnsealed says that an answer is not sealed where all must be.
var errUnsealed = errors.New("idemgen: the stored answer is not sealed; AllowUnsealed lets those be replayed that were stored before there was a sealer")

var errNoSealer = errors.New("idemgen: the stored answer is sealed, and no sealer is given")

// sealBinding is, each length-prefixed, principal, scope, key, generation,
// owner, status and part.
func sealBinding(f Fence, status int, part string) []byte {
	var b []byte
	for _, s := range []string{f.Principal, f.Scope, f.Key, strconv.FormatInt(f.Generation, 10), string(f.Owner[:]), strconv.Itoa(status), part} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

// seal encrypts an answer for one claim of a row.
func (s *settings) seal(ctx context.Context, f Fence, a StoredAnswer) (StoredAnswer, error) {
	headers, err := s.sealer.Seal(ctx, sealBinding(f, a.Status, "headers"), a.Headers)
	if err != nil {
		return a, err
	}
	a.Headers = append([]byte(sealMark), headers...)
	a.Body, err = s.sealer.Seal(ctx, sealBinding(f, a.Status, "body"), a.Body)
	return a, err
}

// open reverses seal. f is the claim that the row carries.
func (s *settings) open(ctx context.Context, f Fence, a StoredAnswer) (StoredAnswer, error) {
	headers, sealed := bytes.CutPrefix(a.Headers, []byte(sealMark))
	switch {
	case s.sealer == nil && sealed:
		return a, errNoSealer
	case s.sealer == nil:
		return a, nil
	case !sealed:
		if !time.Now().Before(s.unsealedUntil) {
			return a, errUnsealed
		}
		return a, nil
	}
	if s.inline() {
		return s.unseal(ctx, f, a, headers)
	}
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	return beside(ctx, "the sealer", func() (StoredAnswer, error) { return s.unseal(ctx, f, a, headers) })
}

func (s *settings) unseal(ctx context.Context, f Fence, a StoredAnswer, headers []byte) (StoredAnswer, error) {
	var err error
	if a.Headers, err = s.sealer.Open(ctx, sealBinding(f, a.Status, "headers"), headers); err != nil {
		return a, err
	}
	a.Body, err = s.sealer.Open(ctx, sealBinding(f, a.Status, "body"), a.Body)
	return a, err
}

// inline reports whether the sealer is known to answer at once. Any other may
// be a call to a key service that hangs.
func (s *settings) inline() bool {
	_, ours := s.sealer.(*AESSealer)
	return ours
}

// sealing is an answer on its way to its sealed form, which is begun at most
// once at a time: attempts to store the answer wait for it while they have time.
type sealing struct{ call *besideCall[StoredAnswer] }

// seal is an answer as it is stored, if there is a sealer. What keeps it from
// being sealed may pass.
func (x *sealing) seal(ctx context.Context, s *settings, f Fence, stored StoredAnswer) (StoredAnswer, error) {
	if s.sealer == nil {
		return stored, nil
	}
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	var sealed StoredAnswer
	var err error
	if s.inline() {
		sealed, err = s.seal(ctx, f, stored)
	} else {
		if x.call == nil || x.call.failed() {
			x.call = startBeside("the sealer", func() (StoredAnswer, error) { return s.seal(ctx, f, stored) })
		}
		sealed, err = x.call.wait(ctx)
	}
	if err != nil {
		err = fmt.Errorf("%w: the answer could not be sealed: %w", ErrUnavailable, err)
	}
	return sealed, err
}

// AESKey is a key of an [AESSealer]. ID names it inside what it sealed.
type AESKey struct {
	ID  uint32
	Key []byte // 32 bytes
}

// AESSealer seals with AES-256-GCM (NIST SP 800-38D) under a random nonce of 96
// bits. The zero value has no key and is refused. Sealed text is the key's ID (4 bytes, big-endian), the nonce (12 bytes)
// and the ciphertext with its tag (16 bytes more than the text). Keys rotate:
// the first one seals, all of them open. One key must not seal more than 2^32
// texts.
type AESSealer struct {
	first   uint32
	keys    map[uint32]cipher.AEAD
	secrets [][]byte // for fingerprints, in the order of the keys
}

// NewAESSealer returns a sealer. At least one key is needed; IDs are unique.
func NewAESSealer(keys ...AESKey) (*AESSealer, error) {
	if len(keys) == 0 {
		return nil, errors.New("idemgen: NewAESSealer: no key")
	}
	s := &AESSealer{first: keys[0].ID, keys: map[uint32]cipher.AEAD{}}
	for _, k := range keys {
		if len(k.Key) != 32 {
			return nil, fmt.Errorf("idemgen: NewAESSealer: key %d has %d bytes: AES-256 takes 32", k.ID, len(k.Key))
		}
		if s.keys[k.ID] != nil {
			return nil, fmt.Errorf("idemgen: NewAESSealer: key %d is given twice", k.ID)
		}
		block, err := aes.NewCipher(k.Key)
		if err != nil {
			return nil, err
		}
		if s.keys[k.ID], err = cipher.NewGCM(block); err != nil {
			return nil, err
		}
		secret := hmacOf(k.Key, []byte("idemgen: secret of fingerprints"))
		s.secrets = append(s.secrets, secret[:])
	}
	return s, nil
}

// FingerprintSecrets implements [FingerprintSecreter]: they follow from the keys.
func (s *AESSealer) FingerprintSecrets() [][]byte { return s.secrets }

const (
	sealedID    = 4
	sealedNonce = 12
)

// Seal implements [Sealer].
func (s *AESSealer) Seal(_ context.Context, binding, plain []byte) ([]byte, error) {
	aead := s.keys[s.first]
	sealed := make([]byte, sealedID+sealedNonce, sealedID+sealedNonce+len(plain)+aead.Overhead())
	binary.BigEndian.PutUint32(sealed, s.first)
	rand.Read(sealed[sealedID:])
	return aead.Seal(sealed, sealed[sealedID:], plain, binding), nil
}

// Open implements [Sealer].
func (s *AESSealer) Open(_ context.Context, binding, sealed []byte) ([]byte, error) {
	if len(sealed) < sealedID+sealedNonce {
		return nil, errors.New("idemgen: a sealed answer is too short")
	}
	id := binary.BigEndian.Uint32(sealed)
	aead := s.keys[id]
	if aead == nil {
		return nil, fmt.Errorf("idemgen: a sealed answer needs key %d, which is not given", id)
	}
	rest := sealed[sealedID:]
	plain, err := aead.Open(nil, rest[:sealedNonce], rest[sealedNonce:], binding)
	if err != nil {
		return nil, errors.New("idemgen: a sealed answer does not open: it was changed, or belongs to another row, an earlier claim of it or another status")
	}
	return plain, nil
}
