// Package penstock asks a Penstock decision service before a net/http handler runs.
//
// The client holds no limits and no counters: it describes the request to POST /v1/check, copies the
// fields of the answer and passes on, waits or refuses as it is told. Safe for concurrent use.
package penstock

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	defaultURL      = "http://127.0.0.1:8081"
	defaultDeadline = 50 * time.Millisecond
	connectionsMax  = 64      // to the service; requests above wait, within their deadline
	answerMax       = 1 << 20 // octets of an answer that are read
)

// Check describes one request, or names a limit and a key to be charged. Empty members are left out.
type Check struct {
	Method  string              `json:"method,omitempty"`
	Path    string              `json:"path,omitempty"` // with the query, as the client sent it
	Host    string              `json:"host,omitempty"`
	Address string              `json:"address,omitempty"` // who connected
	User    string              `json:"user,omitempty"`    // whom the caller has verified
	Headers map[string][]string `json:"headers,omitempty"`
	Cost    *int64              `json:"cost,omitempty"` // nil: as the limits say

	// In place of all above but Cost: what to charge. Key is as docs/openapi.yaml says, "user:42".
	Limit string `json:"limit,omitempty"`
	Key   string `json:"key,omitempty"`

	Peek bool `json:"peek,omitempty"` // decide as usual, but take nothing
}

// Decision is what the service says about a Check.
type Decision struct {
	Allowed    bool              `json:"allowed"`
	Outcome    string            `json:"outcome"` // allow, delay, deny, degraded_allow, degraded_deny
	Status     int               `json:"status"`  // for the client of the API
	DelayMS    int64             `json:"delay_ms"`
	Limit      string            `json:"limit"`
	RetryAfter int64             `json:"retry_after"` // seconds; 0: no wait helps
	Reason     string            `json:"reason"`
	Headers    map[string]string `json:"headers"` // to send to the client
}

type client struct {
	url      string
	token    string
	deadline time.Duration
	http     *http.Client
}

// newClient takes http://HOST:PORT or unix:PATH.
func newClient(url, token string, deadline time.Duration) (*client, error) {
	if url == "" {
		url = defaultURL
	}
	if deadline == 0 {
		deadline = defaultDeadline
	}
	transport := &http.Transport{
		MaxConnsPerHost:     connectionsMax,
		MaxIdleConnsPerHost: connectionsMax,
		IdleConnTimeout:     60 * time.Second, // the service closes after 75
		DisableCompression:  true,
	}
	if strings.HasPrefix(url, "unix:") {
		path := strings.TrimPrefix(url, "unix:")
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
		url = "http://penstock"
	} else if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return nil, fmt.Errorf("penstock: %q is neither http://HOST:PORT nor unix:PATH", url)
	}
	return &client{
		url:      strings.TrimRight(url, "/") + "/v1/check",
		token:    token,
		deadline: deadline,
		http: &http.Client{
			Transport: transport,
			// A redirect is no decision, and would carry the token elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// ask returns the decision, or an error when there is none: the service is away, late, or does not
// take the question. 503 with a decision is one: the store is away and the limit says deny.
func (c *client) ask(ctx context.Context, check Check) (Decision, error) {
	question, err := json.Marshal(check)
	if err != nil {
		return Decision{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.deadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(question))
	if err != nil {
		return Decision{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	// Not sent; tells the transport that it may ask again on a fresh connection when the kept one
	// turns out to be closed, as it is after a restart of the service.
	request.Header["Idempotency-Key"] = nil

	answer, err := c.http.Do(request)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return Decision{}, fmt.Errorf("no answer within %v", c.deadline)
		}
		return Decision{}, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, answerMax))
	if err != nil {
		return Decision{}, err
	}
	return read(answer.StatusCode, body)
}

func read(status int, body []byte) (Decision, error) {
	var said struct {
		Decision
		Allowed *bool  `json:"allowed"`
		Error   string `json:"error"`
	}
	if err := json.Unmarshal(body, &said); err != nil || said.Allowed == nil ||
		(status != http.StatusOK && status != http.StatusServiceUnavailable) {
		return Decision{}, fmt.Errorf("the service answers %d %s", status, said.Error)
	}
	said.Decision.Allowed = *said.Allowed
	return said.Decision, nil
}
