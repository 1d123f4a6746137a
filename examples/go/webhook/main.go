// Receives webhooks and accepts only what is signed: PORT=3000 WEBHOOK_SECRETS="whsec_…" go run ./webhook
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"example.com/fiscal-gateway/fiscal"
)

func main() {
	secrets := strings.Fields(os.Getenv("WEBHOOK_SECRETS"))
	// In earnest a table: the same event may come twice.
	var seen sync.Map
	handle := func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(io.LimitReader(request.Body, 1<<20))
		if err != nil {
			response.WriteHeader(http.StatusBadRequest)
			return
		}
		event, err := fiscal.VerifyWebhook(body, request.Header, secrets)
		if err != nil {
			fmt.Println("refused:", err)
			response.WriteHeader(http.StatusBadRequest)
			return
		}
		if _, known := seen.LoadOrStore(event.ID, true); !known {
			fmt.Println("event", event.Type, event.ID)
		}
		// Answer within ten seconds, once it is kept; then work on what the table has as not done.
		response.WriteHeader(http.StatusNoContent)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		panic(err)
	}
	fmt.Println("listening")
	panic(http.Serve(listener, http.HandlerFunc(handle)))
}
