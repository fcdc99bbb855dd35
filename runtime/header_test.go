package runtime

import (
	"bytes"
	"net/http"
	"slices"
	"testing"
)

func TestHeaderRoundTrip(t *testing.T) {
	for _, h := range []Header{
		nil,
		{{"Content-Type", ""}},
		{{"Link", "<a>; rel=x"}, {"Link", "<b>, <c>"}},
		{{"Content-Disposition", `attachment; filename="a,b.txt"`}},
		{{"X-Bytes", "caf\xe9 \x80\xff: x"}},
	} {
		got, err := DecodeHeader(h.Encode())
		if err != nil || !slices.Equal(got, h) {
			t.Errorf("%q came back as %q, %v", h, got, err)
		}
	}
}

func TestHeaderEncodeKeepsLines(t *testing.T) {
	h := Header{{"X-A", "1\r\nSet-Cookie: x=1\x00"}}
	got, err := DecodeHeader(h.Encode())
	if err != nil || len(got) != 1 || got[0].Value != "1  Set-Cookie: x=1 " {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestDecodeHeaderRefuses(t *testing.T) {
	for _, stored := range []string{"A", "A: b", "A\n", ": b\n", "A b: c\n", "A: b\n\n", "A: b\rc\n", "A:b\n"} {
		if h, err := DecodeHeader([]byte(stored)); err == nil {
			t.Errorf("%q became %q", stored, h)
		}
	}
}

func FuzzDecodeHeader(f *testing.F) {
	f.Add([]byte("Content-Type: text/plain\nLink: a\nLink: b\n"))
	f.Add([]byte("A: \n"))
	f.Fuzz(func(t *testing.T, stored []byte) {
		h, err := DecodeHeader(stored)
		if err != nil {
			return
		}
		if !bytes.Equal(h.Encode(), stored) {
			t.Fatalf("%q became %q", stored, h.Encode())
		}
	})
}

func TestKeep(t *testing.T) {
	p := DefaultPolicy("POST /x")
	kept, dropped := p.keep(nil, 200, http.Header{
		"Content-Type": {"a"}, "Content-Encoding": {"gzip"}, "Location": {"1", "2\x00\r\n"},
		"Content-Length": {"3"}, "Date": {"now"}, "Connection": {"close"}, "Set-Cookie": {"a=b"}, "X-Other": {"y"},
	})
	want := Header{{"Content-Encoding", "gzip"}, {"Content-Type", "a"}, {"Location", "1"}, {"Location", "2   "}}
	slices.Sort(dropped)
	if !slices.Equal(kept, want) || !slices.Equal(dropped, []string{"Set-Cookie", "X-Other"}) {
		t.Errorf("kept %q, dropped %q", kept, dropped)
	}
}
