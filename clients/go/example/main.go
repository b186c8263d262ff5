// An API behind Penstock: PENSTOCK_URL=http://127.0.0.1:8081 PORT=3000 go run ./example
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	penstock "penstock.example/client"
)

// Stands for your sessions or tokens: a user counts once the program has verified it.
var sessions = map[string]string{"token-of-alice": "alice", "token-of-bob": "bob"}

func user(r *http.Request) string {
	return sessions[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
}

func main() {
	deadline, _ := strconv.Atoi(os.Getenv("PENSTOCK_DEADLINE_MS")) // 0: the default
	limiter, err := penstock.New(penstock.Options{
		URL:        os.Getenv("PENSTOCK_URL"),
		Token:      os.Getenv("PENSTOCK_TOKEN"),
		Deadline:   time.Duration(deadline) * time.Millisecond,
		FailClosed: os.Getenv("PENSTOCK_FAIL_CLOSED") != "",
		User:       user,
	})
	if err != nil {
		log.Fatal(err)
	}
	api := http.NewServeMux()
	api.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s\n", user(r))
	})
	port := os.Getenv("PORT")
	if port == "" {
		port = "3000"
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, limiter.Handler(api)))
}
