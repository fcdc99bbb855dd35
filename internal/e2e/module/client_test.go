package module_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"
)

// send sends a request.
func send(t *testing.T, r *http.Request) (int, http.Header, string) {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return opened(t, response)
}

// answered reads an answer as it was on the wire.
func answered(t *testing.T, wire []byte) (int, http.Header, string) {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(wire)), nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, wire)
	}
	return opened(t, response)
}

func opened(t *testing.T, response *http.Response) (int, http.Header, string) {
	t.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(body)
}
