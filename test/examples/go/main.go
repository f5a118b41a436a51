// Answers every text that arrives, once. Settings: TIDINGS_URL, TIDINGS_API_KEY, WEBHOOK_SECRET, PORT.
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const tolerance = 5 * time.Minute

type event struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	ContactID string `json:"contactId"`
	Data      struct {
		Message struct {
			Message string `json:"message"`
		} `json:"message"`
	} `json:"data"`
}

// rejection is the error of a request that the gateway rejects for good. It would reject it again after another delivery.
type rejection struct{ error }

var client = &http.Client{Timeout: 10 * time.Second}

// isSigned checks a request by Standard Webhooks: HMAC-SHA256 over id, timestamp and body, one signature per valid secret.
func isSigned(header http.Header, body, secret []byte) bool {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, given := range strings.Split(header.Get("webhook-signature"), " ") {
		if hmac.Equal([]byte(expected), []byte(given)) {
			return true
		}
	}
	return false
}

// setting returns an environment variable, or its default.
func setting(name, byDefault string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return byDefault
}

func call(method, path string, body any, idempotencyKey string, reply any) error {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequest(method, setting("TIDINGS_URL", "http://127.0.0.1:3000")+path, content)
	if err != nil {
		return err
	}
	request.Header.Set("X-API-Key", os.Getenv("TIDINGS_API_KEY"))
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if idempotencyKey != "" {
		request.Header.Set("Idempotency-Key", idempotencyKey)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		err := fmt.Errorf("%s %s: %s", method, path, response.Status)
		switch response.StatusCode {
		case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
			return rejection{err}
		}
		return err
	}
	return json.NewDecoder(response.Body).Decode(reply)
}

func handle(received event) error {
	if received.Type != "message.received" || received.Data.Message.Message == "" {
		return nil
	}
	var contact struct {
		PhoneNumber string `json:"phoneNumber"`
	}
	if err := call("GET", "/v1/contacts/"+url.PathEscape(received.ContactID), nil, "", &contact); err != nil {
		return err
	}
	if contact.PhoneNumber == "" {
		return nil
	}
	answer := map[string]string{
		"phoneNumber": contact.PhoneNumber,
		"message":     "You wrote: " + received.Data.Message.Message,
	}
	// A repeated delivery of the event repeats this send, which then does nothing.
	return call("POST", "/v1/messages/send", answer, received.ID, &struct{}{})
}

func main() {
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_"))
	if err != nil || len(secret) == 0 {
		log.Fatal("WEBHOOK_SECRET must be the secret of the webhook, whsec_…")
	}
	http.HandleFunc("/", func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil || !isSigned(request.Header, body, secret) {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		var received event
		if err := json.Unmarshal(body, &received); err != nil {
			log.Print(err)
			response.WriteHeader(http.StatusBadRequest)
			return
		}
		err = handle(received)
		if err != nil {
			log.Print(err)
		}
		if _, isRejected := err.(rejection); err != nil && !isRejected {
			// After this status, the event comes again.
			response.WriteHeader(http.StatusInternalServerError)
			return
		}
		response.WriteHeader(http.StatusNoContent)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:"+setting("PORT", "8080"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("Listening on port %d.\n", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, nil))
}
