package penstock

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

const (
	admitted = `{"allowed":true,"outcome":"allow","status":200,"delay_ms":0,"limits":[],"headers":{"X-RateLimit-Remaining":"2"}}`
	refused  = `{"allowed":false,"outcome":"deny","status":429,"delay_ms":0,"limit":"l","retry_after":7,"limits":[],"headers":{"Retry-After":"7"}}`
)

// service answers every check alike and remembers the last one.
func service(t *testing.T, status int, answer string) (*httptest.Server, *Check) {
	asked := new(Check)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = Check{}
		_ = json.NewDecoder(r.Body).Decode(asked)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server, asked
}

// through sends a request past the middleware; the program behind it answers 204.
func through(t *testing.T, o Options, change func(*http.Request)) (*http.Response, string) {
	var logged bytes.Buffer
	o.Log = log.New(&logged, "", 0)
	if o.Deadline == 0 {
		o.Deadline = 10 * time.Second
	}
	limiter, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/a%20b?c=d", nil)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	limiter.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})).ServeHTTP(w, r)
	return w.Result(), logged.String()
}

// What is told decides who is counted: nothing more, and repeated fields stay repeated.
func TestARequestIsDescribed(t *testing.T) {
	server, asked := service(t, 200, admitted)
	through(t, Options{
		URL:     server.URL,
		User:    func(*http.Request) string { return "alice" },
		Headers: []string{"X-Tenant"},
		Cost:    func(*http.Request) (int64, bool) { return 0, true },
	}, func(r *http.Request) {
		r.Header = http.Header{"X-Api-Key": {"a", "b"}, "X-Tenant": {"t"}, "Cookie": {"secret"}, "X-User-Id": {"bob"}}
	})
	zero := int64(0)
	want := Check{Method: "POST", Path: "/a%20b?c=d", Host: "example.com", Address: "192.0.2.1", User: "alice",
		Headers: map[string][]string{"X-Api-Key": {"a", "b"}, "X-Tenant": {"t"}}, Cost: &zero}
	if !reflect.DeepEqual(*asked, want) {
		t.Errorf("asked %+v, want %+v", *asked, want)
	}
}

// A function takes the place of the field: what a client writes into it is not told then.
func TestAFunctionWinsOverTheField(t *testing.T) {
	server, asked := service(t, 200, admitted)
	through(t, Options{
		URL:     server.URL,
		APIKey:  func(*http.Request) string { return "from the cookie" },
		Address: func(*http.Request) string { return "198.51.100.1" },
		Headers: []string{"x-tenant"},
		Fields: map[string]func(*http.Request) string{
			"x-tenant": func(*http.Request) string { return "7" },
			"X-None":   func(*http.Request) string { return "" },
		},
	}, func(r *http.Request) {
		r.Header = http.Header{"X-Api-Key": {"forged"}, "X-Tenant": {"forged"}, "X-None": {"forged"}}
	})
	want := map[string][]string{"X-Api-Key": {"from the cookie"}, "X-Tenant": {"7"}}
	if asked.Address != "198.51.100.1" || !reflect.DeepEqual(asked.Headers, want) {
		t.Errorf("asked %+v", *asked)
	}
}

// Only a decision decides. All else passes, is logged, and says why.
func TestWhatTheServiceAnswers(t *testing.T) {
	rows := []struct {
		name   string
		status int
		answer string
		want   int
		logged string
	}{
		{"admitted", 200, admitted, 204, ""},
		{"refused", 200, refused, 429, ""},
		{"the store is away", 503, strings.Replace(refused, "429", "503", 1), 503, ""},
		{"a wrong token", 401, `{"error":"the check carries no valid token"}`, 204, "401 the check carries no valid token"},
		{"a question it does not take", 400, `{"error":"address: is not one"}`, 204, "address: is not one"},
		{"another server", 200, "<html>", 204, "200"},
		{"another JSON", 200, `{"ok":true}`, 204, "200"},
		{"another 503", 503, "", 204, "503"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			server, _ := service(t, row.status, row.answer)
			answer, logged := through(t, Options{URL: server.URL}, nil)
			if answer.StatusCode != row.want || !strings.Contains(logged, row.logged) || (row.logged == "" && logged != "") {
				t.Errorf("%d, logged %q", answer.StatusCode, logged)
			}
		})
	}
}

func TestARefusalIsComplete(t *testing.T) {
	server, _ := service(t, 200, refused)
	answer, _ := through(t, Options{URL: server.URL}, nil)
	body, _ := io.ReadAll(answer.Body)
	if string(body) != `{"error":"rate limit exceeded","limit":"l","retry_after":7}`+"\n" ||
		answer.Header.Get("Retry-After") != "7" || answer.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v %s", answer.Header, body)
	}
}

// A redirect would hand the token to whoever it names.
func TestARedirectIsNotFollowed(t *testing.T) {
	elsewhere, asked := service(t, 200, refused)
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	answer, logged := through(t, Options{URL: server.URL, Token: "t"}, nil)
	if answer.StatusCode != 204 || asked.Method != "" || !strings.Contains(logged, "307") {
		t.Errorf("%d, asked %+v, logged %q", answer.StatusCode, *asked, logged)
	}
}

func TestDefaults(t *testing.T) {
	limiter, err := New(Options{})
	if err != nil || limiter.client.deadline != 50*time.Millisecond || limiter.client.url != "http://127.0.0.1:8081/v1/check" {
		t.Errorf("%+v, %v", limiter, err)
	}
	if _, err := New(Options{URL: "127.0.0.1:8081"}); err == nil {
		t.Error("a URL without a scheme is taken")
	}
}
