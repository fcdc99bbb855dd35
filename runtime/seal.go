package runtime

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
)

// A Sealer encrypts the headers and bodies of stored answers. binding names
// the row and the part: what was sealed under one binding must not open under
// another, so that an answer cannot be moved to another caller's key.
// Implementations must be safe for concurrent use.
type Sealer interface {
	Seal(ctx context.Context, binding, plain []byte) (sealed []byte, err error)
	Open(ctx context.Context, binding, sealed []byte) (plain []byte, err error)
}

// WithSealer seals stored answers. Rows that were stored without a sealer do
// not open with one: give new endpoints a sealer, or let old rows expire.
func WithSealer(s Sealer) Option {
	return func(settings *settings) error {
		if s == nil {
			return errors.New("idemgen: WithSealer: nil sealer")
		}
		settings.sealer = s
		return nil
	}
}

// sealBinding is the length-prefixed principal, scope, key and part.
func sealBinding(id ID, part string) []byte {
	var b []byte
	for _, s := range []string{id.Principal, id.Scope, id.Key, part} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

// seal encrypts an answer for a row, if the engine has a sealer.
func (e *Engine) seal(ctx context.Context, id ID, a StoredAnswer) (StoredAnswer, error) {
	return e.transform(id, a, func(binding, text []byte) ([]byte, error) { return e.settings.sealer.Seal(ctx, binding, text) })
}

// open reverses seal.
func (e *Engine) open(ctx context.Context, id ID, a StoredAnswer) (StoredAnswer, error) {
	return e.transform(id, a, func(binding, text []byte) ([]byte, error) { return e.settings.sealer.Open(ctx, binding, text) })
}

func (e *Engine) transform(id ID, a StoredAnswer, f func(binding, text []byte) ([]byte, error)) (_ StoredAnswer, err error) {
	if e.settings.sealer == nil {
		return a, nil
	}
	if a.Headers, err = f(sealBinding(id, "headers"), a.Headers); err != nil {
		return a, err
	}
	a.Body, err = f(sealBinding(id, "body"), a.Body)
	return a, err
}

// AESKey is a key of an [AESSealer]. ID names it inside what it sealed.
type AESKey struct {
	ID  uint32
	Key []byte // 32 bytes
}

// AESSealer seals with AES-256-GCM (NIST SP 800-38D) under a random nonce of 96
// bits. Sealed text is the key's ID (4 bytes, big-endian), the nonce (12 bytes)
// and the ciphertext with its tag (16 bytes more than the text). Keys rotate:
// the first one seals, all of them open. One key must not seal more than 2^32
// texts.
type AESSealer struct {
	first uint32
	keys  map[uint32]cipher.AEAD
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
	}
	return s, nil
}

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
		return nil, errors.New("idemgen: a sealed answer does not open: it was changed, or belongs to another key")
	}
	return plain, nil
}
