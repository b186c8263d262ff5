// Polite retries with nothing but the standard library: go run retry.go URL [COUNT]
//
// Waits what Retry-After says, else twice as long after each attempt, and always a random part of
// that (full jitter), so that clients which were refused together do not return together.
package main

import (
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"strconv"
	"time"
)

const (
	attempts = 6
	base     = 500 * time.Millisecond // the first backoff …
	limit    = 60 * time.Second       // … and the longest wait that is worth it
)

var client = http.Client{Timeout: 30 * time.Second}

// Seeded here because Go before 1.20 begins every program with the same numbers, which is no jitter.
var random = rand.New(rand.NewSource(time.Now().UnixNano()))

// upTo is a random wait below the shorter of both.
func upTo(a, b time.Duration) time.Duration {
	if b < a {
		a = b
	}
	return time.Duration(random.Int63n(int64(a)))
}

// retryAfter reads a Retry-After field, which holds seconds or a date; false without a usable one.
func retryAfter(value string) (time.Duration, bool) {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if date, err := http.ParseTime(value); err == nil {
		if wait := time.Until(date); wait > 0 {
			return wait, true
		}
		return 0, true
	}
	return 0, false
}

// waitBefore says how long to wait before attempt 1, 2, …: never less than told, never in step.
func waitBefore(attempt int, told time.Duration, wasTold bool) time.Duration {
	if wasTold {
		return told + upTo(time.Second, told/10+100*time.Millisecond)
	}
	return upTo(limit, base<<attempt)
}

// get returns the answer, whose body the caller closes, or why there is none.
func get(url string) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		var told time.Duration
		wasTold := false
		answer, err := client.Get(url)
		if err != nil {
			if attempt == attempts {
				return nil, err
			}
		} else {
			// 429 and 503 ask for patience. Other errors do not get better by asking again.
			if answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusServiceUnavailable {
				return answer, nil
			}
			told, wasTold = retryAfter(answer.Header.Get("Retry-After"))
			// A 429 without the field says that this request can never pass.
			if attempt == attempts || (!wasTold && answer.StatusCode == http.StatusTooManyRequests) {
				return answer, nil
			}
			_, _ = io.Copy(io.Discard, answer.Body) // frees the connection
			_ = answer.Body.Close()
		}
		if wasTold && told > limit {
			return nil, fmt.Errorf("%s: free again in %v", url, told)
		}
		time.Sleep(waitBefore(attempt, told, wasTold))
	}
}

func main() {
	count := 1
	if len(os.Args) > 2 {
		count, _ = strconv.Atoi(os.Args[2])
	}
	for ; count > 0; count-- {
		answer, err := get(os.Args[1])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		_ = answer.Body.Close()
		fmt.Println(answer.StatusCode)
	}
}
