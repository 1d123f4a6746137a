#!/bin/sh
# A sale, its refund, and what to do with errors, with curl and openssl 3: sh sell.sh SALE-NUMBER
set -eu
NUMBER=$1
FOLDER=$(mktemp -d)
trap 'rm -rf "$FOLDER"' EXIT

fetch_token() {
  TOKEN=$(curl -sS --max-time 30 --retry 5 --retry-connrefused -u "$CLIENT_ID:$CLIENT_SECRET" \
    -d grant_type=client_credentials "$GATEWAY_URL/oauth/token" | sed -n 's/.*"access_token":"\([^"]*\)".*/\1/p')
}

# attempt METHOD PATH KEY BODY: one signed request; STATUS is 000 when nothing came back, the answer is in $FOLDER/answer.
attempt() {
  AUTHORIZATION="Bearer $TOKEN"
  DIGEST="sha-256=:$(printf %s "$4" | openssl dgst -sha256 -binary | openssl base64 -A):"
  CREATED=$(date +%s)
  PARAMS='("@method" "@authority" "@path" "@query" "content-type" "content-digest" "authorization" "idempotency-key")'
  PARAMS="$PARAMS;created=$CREATED;expires=$((CREATED + 300));nonce=\"$(openssl rand -hex 16)\""
  PARAMS="$PARAMS;keyid=\"$KEY_ID\";alg=\"ed25519\";tag=\"fgw-v1\""
  # The signature base: one line for each component, no newline at the end.
  printf '%s' "\"@method\": $1
\"@authority\": ${GATEWAY_URL#*://}
\"@path\": $2
\"@query\": ?
\"content-type\": application/json
\"content-digest\": $DIGEST
\"authorization\": $AUTHORIZATION
\"idempotency-key\": $3
\"@signature-params\": $PARAMS" > "$FOLDER/base"
  SIGNATURE=$(openssl pkeyutl -sign -rawin -inkey "$SIGNING_KEY_FILE" -in "$FOLDER/base" | openssl base64 -A)
  STATUS=$(curl -sS --max-time 30 -X "$1" "$GATEWAY_URL$2" --data-binary "$4" -o "$FOLDER/answer" -D "$FOLDER/headers" \
    -w '%{http_code}' -H 'Content-Type: application/json' -H 'Prefer: respond-async' -H "Authorization: $AUTHORIZATION" \
    -H "Idempotency-Key: $3" -H "Content-Digest: $DIGEST" -H "Signature-Input: fgw=$PARAMS" \
    -H "Signature: fgw=:$SIGNATURE:" 2>/dev/null) || STATUS=000
}

# call METHOD PATH KEY BODY: repeats what may be repeated, under the same key and with a new signature each time.
call() {
  MAY_BE_DONE=no
  for TRY in 1 2 3 4 5 6 7 8; do
    attempt "$@"
    case $STATUS:$(text code) in
      2??:*) return 0 ;;
      401:invalid_token) fetch_token ;;
      000:* | 408:* | 5??:*) MAY_BE_DONE=yes ;; # with the key the repeat finds what was done
      # nonce_replayed: a proxy in between has sent the request twice.
      425:* | 429:* | 409:idempotency_in_progress | *:nonce_replayed) ;;
      401:* | 403:*) if [ "$MAY_BE_DONE" = yes ]; then break; else return 1; fi ;; # about who asks, not about the sale
      *) return 1 ;;
    esac
    PAUSE=$(sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]*\).*/\1/p' "$FOLDER/headers" 2>/dev/null | grep . || echo 1)
    [ "$PAUSE" -le 10 ] || break # as for a new day's quota: this program again, later
    sleep "$PAUSE"
  done
  # It may have been sold. Keep the number, and run this again with it later.
  echo "no answer" >&2
  exit 2
}

# The first text of this name in the answer. A program of any size uses jq.
text() { grep -o "\"$1\":\"[^\"]*\"" "$FOLDER/answer" 2>/dev/null | head -n 1 | cut -d '"' -f 4; }

wait_until_final() {
  ID=$(text id)
  for TRY in $(seq 120); do
    case $(text status) in
      accepted | sending | awaiting_payment) sleep 0.5 ;;
      *) return 0 ;; # unknown too: a person decides what follows
    esac
    curl -sS --max-time 30 -H "Authorization: Bearer $TOKEN" "$GATEWAY_URL/v1/receipts/$ID" -o "$FOLDER/read" &&
      grep -q '"status"' "$FOLDER/read" && mv "$FOLDER/read" "$FOLDER/answer"
  done
}

sale_at() {
  printf '{"items":[{"name":"%s","price":%s,"qty":2}],"payment":{"method":"cash"},"cashier_id":"%s"}' \
    "$PRODUCT_NAME" "$1" "$CASHIER_ID"
}

fetch_token

# The number of the sale in the ERP is its key: after a crash the same call finds the same receipt.
call POST /v1/receipts "sale-$NUMBER" "$(sale_at 450000)"
wait_until_final
SALE_ID=$(text id)
if [ "$(text status)" != registered ]; then
  # rejected, cancelled: no document exists. unknown: do not sell it again, a person decides.
  echo "sale $SALE_ID is $(text status)" >&2
  exit 1
fi
echo "sale $SALE_ID registered: $(text fiscal_sign) $(text verification_url)"

call POST "/v1/receipts/$SALE_ID/refunds" "refund-$NUMBER" '{"lines":[{"line":1,"qty":1}]}'
wait_until_final
echo "refund $(text id) $(text status)"

# A mistake of the caller's comes back with a place in the body for each fault.
if ! call POST /v1/receipts "wrong-$NUMBER" "$(sale_at -1)"; then
  echo "refused: $STATUS $(text code)"
  grep -o '{"pointer":"[^}]*}' "$FOLDER/answer" | sed 's/^/  /'
fi
