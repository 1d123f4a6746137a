#!/bin/sh
# Whether a webhook is signed: WEBHOOK_SECRETS="whsec_…" sh verify-webhook.sh ID TIMESTAMP SIGNATURES < body
# A shell is no web server; this is what one has to do with the headers webhook-id, webhook-timestamp, webhook-signature and
# the body as it came.
set -eu
BODY=$(mktemp)
trap 'rm -f "$BODY"' EXIT
cat > "$BODY"

# Digits alone: a shell may execute what stands in an arithmetic expression, and these come from any caller.
case $2 in
  '' | 0* | *[!0-9]* | ????????????*)
    echo "refused: no timestamp"
    exit 1
    ;;
esac
AGE=$(($(date +%s) - $2))
if [ "$AGE" -gt 300 ] || [ "$AGE" -lt -300 ]; then
  echo "refused: too old, or from the future"
  exit 1
fi
for SECRET in $WEBHOOK_SECRETS; do
  KEY=$(printf %s "${SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')
  EXPECTED="v1,$( (printf '%s.%s.' "$1" "$2"; cat "$BODY") | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | openssl base64 -A)"
  for SIGNATURE in $3; do
    if [ "$SIGNATURE" = "$EXPECTED" ]; then
      echo "event $(grep -o '"type":"[^"]*"' "$BODY" | head -n 1 | cut -d '"' -f 4) $1"
      exit 0
    fi
  done
done
echo "refused: no signature fits"
exit 1
