package ledgertest

import (
	"fmt"
	"strings"

	"github.com/idemgen/idemgen/runtime"
)

var keyCases = []testCase{
	{"tell apart what is not the same byte for byte", func(s *suite) {
		s.wantApart(
			key("a"), key("A"), key("k"), key("k "), key(" k"), key(" "), key("  "), key("0"), key("00"), key("0.0"),
			key("1"), key("1.0"), key("1e0"), key("01"), key("+1"), key("ss"), key("%"), key("_"), key("'"), key("\""),
			key("\\"), key("k;--"), key("NULL"), key("x'00'"),
		)
	}},
	{"may be any printable byte", func(s *suite) {
		var ids []runtime.ID
		var all strings.Builder
		for b := byte(0x20); b <= 0x7e; b++ {
			ids = append(ids, key(string([]byte{b})))
			all.WriteByte(b)
		}
		s.wantApart(append(ids, key(all.String()))...)
	}},
	{"belong to a principal of any bytes", func(s *suite) {
		var ids []runtime.ID
		for b := range 256 {
			ids = append(ids, runtime.ID{Principal: string([]byte{byte(b)}), Key: "k"})
		}
		for _, principal := range []string{
			"a\x00", "a\x00b", "a\x00c", "\x00\x00", "\x00a", "a\xff", "a\xfe", "\xff\xff", "\xff\xfe", "\xfe\xff",
			"\xc3\x28", "\xa0\xa1", "\xe2\x28\xa1", "\xed\xa0\x80", "\xed\xb0\x80", "\xef\xbf\xbd", "\xef\xbb\xbfa",
			"\xc3\xa9", "e\xcc\x81", "\xf0\x9f\x98\x80", "\xf0\x9f", "\xc0\x80", "ß", "ss", "İ", "i", "alice ", "alice", "Alice",
		} {
			id := runtime.ID{Principal: principal, Key: "k"}
			if principal != "i" {
				ids = append(ids, id)
			}
		}
		s.wantApart(ids...)
	}},
	{"belong to a scope", func(s *suite) {
		s.wantApart(
			runtime.ID{Principal: "p", Scope: "", Key: "k"},
			runtime.ID{Principal: "p", Scope: "POST /orders", Key: "k"},
			runtime.ID{Principal: "p", Scope: "POST /orders ", Key: "k"},
			runtime.ID{Principal: "p", Scope: "post /orders", Key: "k"},
			runtime.ID{Principal: "p", Scope: "k", Key: "k"},
			runtime.ID{Principal: "p", Scope: " ", Key: "k"},
		)
	}},
	{"do not run into each other's parts", func(s *suite) {
		s.wantApart(
			runtime.ID{Principal: "ab", Key: "c"}, runtime.ID{Principal: "a", Key: "bc"},
			runtime.ID{Principal: "a", Scope: "b", Key: "c"}, runtime.ID{Principal: "a", Scope: "bc", Key: "c"},
			runtime.ID{Principal: "ab", Scope: "c", Key: "c"}, runtime.ID{Principal: "a/b", Key: "c"},
			runtime.ID{Principal: "a", Key: "b/c"}, runtime.ID{Principal: "a\x00b", Key: "c"},
			runtime.ID{Principal: "a", Scope: "/b", Key: "c"}, runtime.ID{Principal: "c", Key: "a"},
		)
	}},
	{"may have 255 bytes in each part", func(s *suite) {
		long := func(b string) string { return strings.Repeat(b, 254) }
		var ids []runtime.ID
		for _, p := range []string{long("p") + "a", long("p") + "b", long("\xff") + "\x00", long("\x00") + "\xff", long("p")} {
			for _, k := range []string{long("k") + "a", long("k") + "b", long("k")} {
				ids = append(ids, runtime.ID{Principal: p, Scope: long("s"), Key: k})
			}
		}
		ids = append(ids, runtime.ID{Principal: long("p"), Scope: long("s") + "s", Key: long("k")})
		s.wantApart(ids...)
	}},
	{"are swept one by one", func(s *suite) {
		ids := []runtime.ID{
			key("k"), key("K"), key("k "), {Principal: "alice\x00", Key: "k"}, {Principal: "\xff", Key: "k"},
			{Principal: "\xfe", Key: "k"}, {Principal: "alice", Scope: "s", Key: "k"},
		}
		for i, id := range ids {
			s.completed(id)
			if i == 0 {
				s.age(far)
			}
		}
		s.sweep(100, 1)
		s.wantAbsent(ids[0])
		for _, id := range ids[1:] {
			s.read(id)
		}
		s.age(far)
		s.sweep(100, len(ids)-1)
		for _, id := range ids {
			s.wantAbsent(id)
		}
	}},
}

// wantApart claims every key and says that each has its own row, and that no
// write on one changes another.
func (s *suite) wantApart(ids ...runtime.ID) {
	s.Helper()
	claims := make([]runtime.Claim, len(ids))
	for i, id := range ids {
		claims[i] = s.claim(id)
		if _, won, err := s.ledger.Insert(ctx(), claims[i]); err != nil || !won {
			s.Fatalf("Insert(%+q) = %v, %v; want it won: no row holds this key", id, won, err)
		}
	}
	s.wantEach(claims, nil, 0)
	for i, id := range ids {
		f := fence(claims[i], 1)
		switch i % 3 {
		case 0:
			s.complete(completion(f, fmt.Sprintf("answer to %q", id)))
		case 1:
			s.release(f)
		case 2:
			s.endLease(f)
			s.takeOver(f, s.claim(id))
		}
	}
	s.wantEach(claims, ids, len(ids))
}

// wantEach says which row each claim has, after the first n were written to.
func (s *suite) wantEach(claims []runtime.Claim, ids []runtime.ID, n int) {
	s.Helper()
	for i, c := range claims {
		if i < n && i%3 == 1 {
			s.wantAbsent(ids[i])
			continue
		}
		row := s.read(c.ID)
		s.wantOf(row, c)
		if i < n && i%3 == 0 {
			s.wantAnswer(row, completion(runtime.Fence{}, fmt.Sprintf("answer to %q", c.ID)).Answer)
		} else if row.Completed {
			s.Fatalf("the row of %+q is completed", c.ID)
		}
	}
}
