package penstock

import (
	"context"
	"encoding/json"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Options of a Limiter. The zero value asks 127.0.0.1:8081 and counts by address.
type Options struct {
	URL      string        // http://HOST:PORT or unix:PATH; "": http://127.0.0.1:8081
	Token    string        // the secret of decision.token_sha256; "": none
	Deadline time.Duration // longest wait for a decision; 0: 50 ms

	// FailClosed refuses with 503 what could not be decided. By default it passes, and is logged.
	FailClosed bool

	// Who sends the request. All that is found is told; the policy's key expression, for example
	// "api_key | user | address", says what counts.
	APIKeyHeader string                     // as identity.api_key.header in the policy; "": X-API-Key
	APIKey       func(*http.Request) string // nil: what stands in that field
	User         func(*http.Request) string // the user that your program has verified; nil: none
	Address      func(*http.Request) string // nil: the peer

	// Fields that the policy reads besides, as "Cookie" or "X-Tenant". X-Forwarded-For, Forwarded and
	// X-Real-IP are told always; client.trusted_proxies says from whom they are believed.
	Headers []string
	// What your program knows and the policy counts by, by the name of a field: {"X-Tenant": tenant}.
	Fields map[string]func(*http.Request) string

	Cost func(*http.Request) (int64, bool) // units; nil, false: as the limits say

	Log *log.Logger // nil: the standard one
}

// Fields in which a proxy names its client. The policy believes them only from trusted_proxies.
var forwarding = []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip"}

// Limiter is the middleware. Make it once with New and share it.
type Limiter struct {
	options Options
	client  *client
	told    []string // as the client wrote it
	fields  map[string]func(*http.Request) string

	lock     sync.Mutex
	logged   time.Time // when a failure was last logged …
	unlogged int       // … and how many were not since
}

// New checks the options. It does not connect: the service may start later.
func New(options Options) (*Limiter, error) {
	c, err := newClient(options.URL, options.Token, options.Deadline)
	if err != nil {
		return nil, err
	}
	if options.APIKeyHeader == "" {
		options.APIKeyHeader = "X-API-Key"
	}
	if options.Log == nil {
		options.Log = log.Default()
	}
	fields := map[string]func(*http.Request) string{}
	for name, field := range options.Fields {
		fields[http.CanonicalHeaderKey(name)] = field
	}
	if options.APIKey != nil {
		fields[http.CanonicalHeaderKey(options.APIKeyHeader)] = options.APIKey
	}
	l := &Limiter{options: options, client: c, fields: fields}
	for _, name := range append(append([]string{options.APIKeyHeader}, forwarding...), options.Headers...) {
		// A field that a function speaks for is not told as the client wrote it.
		if name = http.CanonicalHeaderKey(name); fields[name] == nil {
			l.told = append(l.told, name)
		}
	}
	return l, nil
}

// Handler runs next for requests that may pass. It has the shape that routers want of middleware.
func (l *Limiter) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		decision, err := l.Check(r.Context(), l.Describe(r))
		if err != nil {
			if r.Context().Err() != nil {
				return // the client has left
			}
			l.failed(err)
			if l.options.FailClosed {
				refuse(w, Decision{Outcome: "degraded_deny", Status: http.StatusServiceUnavailable, RetryAfter: 1,
					Headers: map[string]string{"Retry-After": "1", "Cache-Control": "no-store"}})
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		if !decision.Allowed {
			refuse(w, decision)
			return
		}
		for name, value := range decision.Headers {
			w.Header().Set(name, value)
		}
		if !hold(r.Context(), time.Duration(decision.DelayMS)*time.Millisecond) {
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Check asks about any request, for what does not come over net/http. An error means undecided.
func (l *Limiter) Check(ctx context.Context, check Check) (Decision, error) {
	return l.client.ask(ctx, check)
}

// Describe is what Handler tells the service about a request.
func (l *Limiter) Describe(r *http.Request) Check {
	check := Check{Method: r.Method, Path: r.RequestURI, Host: r.Host, Headers: map[string][]string{}}
	for _, name := range l.told {
		if values := r.Header.Values(name); len(values) > 0 {
			check.Headers[name] = values
		}
	}
	for name, field := range l.fields {
		if value := field(r); value != "" {
			check.Headers[name] = []string{value}
		}
	}
	if l.options.User != nil {
		check.User = l.options.User(r)
	}
	if l.options.Address != nil {
		check.Address = l.options.Address(r)
	} else if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		check.Address = host
	}
	if l.options.Cost != nil {
		if cost, ok := l.options.Cost(r); ok {
			check.Cost = &cost
		}
	}
	return check
}

// failed logs at most one line a second, so that an outage under load does not fill the disk.
func (l *Limiter) failed(err error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if time.Since(l.logged) < time.Second {
		l.unlogged++
		return
	}
	what := "passed (fail-open)"
	if l.options.FailClosed {
		what = "refused (fail-closed)"
	}
	l.options.Log.Printf("penstock: a request was %s undecided: %v; %d more since the last line", what, err, l.unlogged)
	l.logged, l.unlogged = time.Now(), 0
}

// hold waits as a queue says; false when the client left meanwhile.
func hold(ctx context.Context, delay time.Duration) bool {
	if delay <= 0 {
		return true
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// refuse answers as the gateway does.
func refuse(w http.ResponseWriter, decision Decision) {
	body := struct {
		Error      string `json:"error"`
		Limit      string `json:"limit,omitempty"`
		RetryAfter int64  `json:"retry_after,omitempty"`
		Reason     string `json:"reason,omitempty"`
	}{Limit: decision.Limit, RetryAfter: decision.RetryAfter}
	switch {
	case decision.Outcome == "degraded_deny":
		body.Error = "rate limiter unavailable"
	case decision.Limit != "" || decision.Status == http.StatusTooManyRequests:
		body.Error = "rate limit exceeded"
	case decision.Status == http.StatusBadRequest:
		body.Error = "bad request"
	default:
		body.Error = "forbidden"
	}
	if body.RetryAfter == 0 && body.Error != "forbidden" {
		body.Reason = decision.Reason
	}
	text, _ := json.Marshal(body) // strings and integers always encode
	text = append(text, '\n')
	for name, value := range decision.Headers {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(decision.Status)
	_, _ = w.Write(text) // the client may have left
}
