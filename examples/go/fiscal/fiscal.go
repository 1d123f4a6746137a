// Package fiscal is a client of the fiscal receipt gateway in one file. It needs the standard library only.
package fiscal

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const attempts = 8

// Who is to wait longer, as for a new day's quota, is asked again later by its caller.
const longestPause = 10 * time.Second

// Receipt holds what this example reads of a receipt.
type Receipt struct {
	ID     string  `json:"id"`
	Status string  `json:"status"`
	Fiscal *Fiscal `json:"fiscal"`
}

type Fiscal struct {
	Sign string `json:"fiscal_sign"`
	Link string `json:"verification_url"`
}

type Item struct {
	Name  string `json:"name"`
	Price int64  `json:"price"` // tiyin
	Qty   int    `json:"qty"`
}

type Payment struct {
	Method string `json:"method"`
}

type Sale struct {
	Items     []Item  `json:"items"`
	Payment   Payment `json:"payment"`
	CashierID string  `json:"cashier_id"`
}

type RefundLine struct {
	Line int `json:"line"`
	Qty  int `json:"qty"`
}

type Refund struct {
	Lines []RefundLine `json:"lines"`
}

type Fault struct {
	Pointer string `json:"pointer"`
	Code    string `json:"code"`
	Detail  string `json:"detail"`
}

// Refused is the gateway's answer when it refuses. Code is for programs; Errors names every fault with its place in the body.
type Refused struct {
	Status     int
	Code       string  `json:"code"`
	Detail     string  `json:"detail"`
	Errors     []Fault `json:"errors"`
	retryAfter time.Duration
}

func (refused *Refused) Error() string {
	return fmt.Sprintf("%d %s: %s", refused.Status, refused.Code, refused.Detail)
}

func (refused *Refused) mayBeRepeated() bool {
	switch refused.Status {
	case 408, 425, 429, 500, 502, 503, 504:
		return true
	}
	// A proxy in between may have sent the request twice (nonce_replayed): the key makes the repeat harmless.
	return refused.Code == "idempotency_in_progress" || refused.Code == "nonce_replayed"
}

// saysNothing: it is about who asks, or when, and not about the sale, which may have been made by an attempt before.
func (refused *Refused) saysNothing() bool {
	return refused.mayBeRepeated() || refused.Status == 401 || refused.Status == 403
}

// ErrNoAnswer: a sale may have been made. Keep its key, and send the same sale with the same key later.
var ErrNoAnswer = errors.New("no answer about the sale")

// Gateway shares one access token between its calls. It is not safe for concurrent use.
type Gateway struct {
	url, clientID, clientSecret, keyID string
	key                                ed25519.PrivateKey
	http                               *http.Client
	token                              string
	tokenUntil                         time.Time
}

// New takes an Ed25519 key as PKCS #8 in PEM.
func New(address, clientID, clientSecret, keyID string, privateKeyPEM []byte) (*Gateway, error) {
	block, _ := pem.Decode(privateKeyPEM)
	if block == nil {
		return nil, errors.New("the private key is no PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, isEd25519 := parsed.(ed25519.PrivateKey)
	if !isEd25519 {
		return nil, errors.New("the private key is not Ed25519")
	}
	// A connection that is closed without an answer is not repeated by itself: with the same signature it would be refused.
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	return &Gateway{url: strings.TrimRight(address, "/"), clientID: clientID, clientSecret: clientSecret, keyID: keyID, key: key, http: client}, nil
}

// Sell returns the receipt, perhaps still on its way: check its status.
func (gateway *Gateway) Sell(sale Sale, key string) (*Receipt, error) {
	return gateway.call("POST", "/v1/receipts", sale, key)
}

func (gateway *Gateway) Refund(saleID string, refund Refund, key string) (*Receipt, error) {
	return gateway.call("POST", "/v1/receipts/"+saleID+"/refunds", refund, key)
}

// WaitUntilFinal also ends with "unknown": a person decides what follows.
func (gateway *Gateway) WaitUntilFinal(receipt *Receipt, limit time.Duration) (*Receipt, error) {
	deadline := time.Now().Add(limit)
	for isPending(receipt.Status) && time.Now().Before(deadline) {
		time.Sleep(time.Duration(200+mathrand.Intn(300)) * time.Millisecond)
		read, err := gateway.call("GET", "/v1/receipts/"+receipt.ID, nil, "")
		if err != nil {
			return nil, err
		}
		receipt = read
	}
	return receipt, nil
}

func isPending(status string) bool {
	return status == "accepted" || status == "sending" || status == "awaiting_payment"
}

// call repeats what may be repeated: reads, and writes under a key. Every attempt is signed anew.
func (gateway *Gateway) call(method, path string, value any, key string) (*Receipt, error) {
	var body []byte
	if value != nil {
		encoded, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		body = encoded
	}
	mayBeDone := false
	for attempt := 1; ; attempt++ {
		receipt, err := gateway.attempt(method, path, body, key)
		if err == nil {
			return receipt, nil
		}
		pause := time.Duration(mathrand.Int63n(int64(250*time.Millisecond) << attempt))
		isLast := attempt == attempts
		var refused *Refused
		if !errors.As(err, &refused) {
			// Nothing came back, or half of it: with the key the repeat finds what was done.
			mayBeDone = true
			if isLast {
				return nil, err
			}
		} else {
			mayBeDone = mayBeDone || refused.Status == 408 || refused.Status >= 500
			isLast = isLast || refused.retryAfter > longestPause
			if refused.Code == "invalid_token" && !isLast {
				gateway.token = ""
			} else if !refused.mayBeRepeated() || isLast {
				if key != "" && mayBeDone && refused.saysNothing() {
					return nil, fmt.Errorf("%w: %v", ErrNoAnswer, err)
				}
				return nil, err
			}
			pause += refused.retryAfter
		}
		time.Sleep(pause)
	}
}

func (gateway *Gateway) attempt(method, path string, body []byte, key string) (*Receipt, error) {
	token, err := gateway.accessToken()
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(method, gateway.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	components := []string{"authorization"}
	request.Header.Set("authorization", "Bearer "+token)
	if body != nil {
		digest := sha256.Sum256(body)
		request.Header.Set("content-type", "application/json")
		request.Header.Set("content-digest", "sha-256=:"+base64.StdEncoding.EncodeToString(digest[:])+":")
		components = append(components, "content-type", "content-digest")
	}
	if key != "" {
		request.Header.Set("idempotency-key", key)
		components = append(components, "idempotency-key")
	}
	if err := gateway.sign(request, components); err != nil {
		return nil, err
	}
	// Without it the gateway waits for the register for ten seconds.
	request.Header.Set("prefer", "respond-async")
	receipt := &Receipt{}
	return receipt, gateway.send(request, receipt)
}

func (gateway *Gateway) sign(request *http.Request, components []string) error {
	values := [][2]string{
		{"@method", request.Method},
		{"@authority", request.URL.Host},
		{"@path", request.URL.EscapedPath()},
		{"@query", "?" + request.URL.RawQuery},
	}
	for _, name := range components {
		values = append(values, [2]string{name, request.Header.Get(name)})
	}
	var names, lines []string
	for _, value := range values {
		names = append(names, `"`+value[0]+`"`)
		lines = append(lines, `"`+value[0]+`": `+value[1])
	}
	nonce := make([]byte, 16)
	if _, err := rand.Read(nonce); err != nil {
		return err
	}
	created := time.Now().Unix()
	params := fmt.Sprintf(`(%s);created=%d;expires=%d;nonce="%s";keyid="%s";alg="ed25519";tag="fgw-v1"`,
		strings.Join(names, " "), created, created+300, hex.EncodeToString(nonce), gateway.keyID)
	base := strings.Join(append(lines, `"@signature-params": `+params), "\n")
	signature := base64.StdEncoding.EncodeToString(ed25519.Sign(gateway.key, []byte(base)))
	request.Header.Set("signature-input", "fgw="+params)
	request.Header.Set("signature", "fgw=:"+signature+":")
	return nil
}

func (gateway *Gateway) accessToken() (string, error) {
	if gateway.token != "" && time.Now().Before(gateway.tokenUntil) {
		return gateway.token, nil
	}
	form := url.Values{"grant_type": {"client_credentials"}}.Encode()
	request, err := http.NewRequest("POST", gateway.url+"/oauth/token", strings.NewReader(form))
	if err != nil {
		return "", err
	}
	request.SetBasicAuth(gateway.clientID, gateway.clientSecret)
	request.Header.Set("content-type", "application/x-www-form-urlencoded")
	var answer struct {
		AccessToken string  `json:"access_token"`
		ExpiresIn   float64 `json:"expires_in"`
	}
	if err := gateway.send(request, &answer); err != nil {
		return "", err
	}
	gateway.token = answer.AccessToken
	gateway.tokenUntil = time.Now().Add(time.Duration(answer.ExpiresIn*0.8) * time.Second)
	return gateway.token, nil
}

func (gateway *Gateway) send(request *http.Request, into any) error {
	response, err := gateway.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode < 400 {
		return json.Unmarshal(text, into)
	}
	refused := &Refused{}
	if json.Unmarshal(text, refused) != nil {
		// The page of a proxy in between.
		refused.Code = "http_" + strconv.Itoa(response.StatusCode)
	}
	refused.Status = response.StatusCode
	seconds, _ := strconv.Atoi(response.Header.Get("retry-after"))
	refused.retryAfter = time.Duration(seconds) * time.Second
	return refused
}

// Event is what a webhook carries.
type Event struct {
	ID   string          `json:"id"`
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// ErrNotOurs: not a webhook of the gateway, or an old one. Answer with 400 and do nothing.
var ErrNotOurs = errors.New("no signature fits, or it is too old")

const tolerance = 300

// VerifyWebhook returns the event if it is signed with one of the secrets. body: the bytes as they came.
func VerifyWebhook(body []byte, header http.Header, secrets []string) (*Event, error) {
	timestamp := header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if age := time.Now().Unix() - seconds; err != nil || age > tolerance || age < -tolerance {
		return nil, ErrNotOurs
	}
	signed := append([]byte(header.Get("webhook-id")+"."+timestamp+"."), body...)
	for _, secret := range secrets {
		if !strings.HasPrefix(secret, "whsec_") || len(secret) == len("whsec_") {
			// With an empty key anyone could sign.
			continue
		}
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			return nil, err
		}
		mac := hmac.New(sha256.New, key)
		mac.Write(signed)
		expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		for _, signature := range strings.Split(header.Get("webhook-signature"), " ") {
			if hmac.Equal([]byte(signature), []byte(expected)) {
				event := &Event{}
				return event, json.Unmarshal(body, event)
			}
		}
	}
	return nil, ErrNotOurs
}
