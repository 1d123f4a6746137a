<?php
// A client of the fiscal receipt gateway in one file: PHP 8.1 or newer with curl and sodium.
declare(strict_types=1);

/** The gateway's answer is a refusal. `problemCode` is for programs; `errors` names every fault with its place in the body. */
final class Refused extends RuntimeException
{
    public readonly string $problemCode;
    public readonly array $errors;

    public function __construct(public readonly int $status, array $problem, public readonly int $retryAfter)
    {
        $this->problemCode = $problem['code'] ?? "http_$status";
        $this->errors = $problem['errors'] ?? [];
        parent::__construct("$status {$this->problemCode}: " . ($problem['detail'] ?? ''));
    }

    public function mayBeRepeated(): bool
    {
        // A proxy in between may have sent the request twice (nonce_replayed): the key makes the repeat harmless.
        return in_array($this->status, [408, 425, 429, 500, 502, 503, 504], true)
            || in_array($this->problemCode, ['idempotency_in_progress', 'nonce_replayed'], true);
    }

    /** Whether it is about who asks, or when, and says nothing about the sale: that may have been made by an attempt before. */
    public function saysNothing(): bool
    {
        return $this->mayBeRepeated() || in_array($this->status, [401, 403], true);
    }
}

/** A sale may have been made: keep its key, and send the same sale with the same key later. */
final class NoAnswer extends RuntimeException
{
}

/** Not a webhook of the gateway, or an old one: answer with 400 and do nothing. */
final class NotOurs extends RuntimeException
{
}

final class FiscalGateway
{
    private const ATTEMPTS = 8;
    /** Who is to wait longer, as for a new day's quota, is asked again later by its caller. */
    private const LONGEST_PAUSE_S = 10;
    private const PENDING = ['accepted', 'sending', 'awaiting_payment'];
    private readonly string $secretKey;
    private ?string $token = null;
    private float $tokenUntil = 0.0;

    /** @param string $privateKeyPem Ed25519, PKCS #8 */
    public function __construct(
        private readonly string $url,
        private readonly string $clientId,
        private readonly string $clientSecret,
        private readonly string $keyId,
        string $privateKeyPem,
    ) {
        // The last 32 bytes of an Ed25519 key in PKCS #8 are its seed.
        $der = base64_decode(preg_replace('/-----[^-]+-----|\s/', '', $privateKeyPem));
        $this->secretKey = sodium_crypto_sign_secretkey(sodium_crypto_sign_seed_keypair(substr($der, -32)));
    }

    /** The receipt, perhaps still on its way: check its status. */
    public function sell(array $sale, string $key): array
    {
        return $this->call('POST', '/v1/receipts', $sale, $key);
    }

    public function refund(string $saleId, array $refund, string $key): array
    {
        return $this->call('POST', "/v1/receipts/$saleId/refunds", $refund, $key);
    }

    /** `unknown` ends the waiting too: a person decides what follows. */
    public function waitUntilFinal(array $receipt, int $seconds = 60): array
    {
        $deadline = microtime(true) + $seconds;
        while (in_array($receipt['status'], self::PENDING, true) && microtime(true) < $deadline) {
            usleep(random_int(200_000, 500_000));
            $receipt = $this->call('GET', "/v1/receipts/{$receipt['id']}");
        }
        return $receipt;
    }

    /** Repeats what may be repeated: reads, and writes under a key. Every attempt is signed anew. */
    private function call(string $method, string $path, ?array $value = null, ?string $key = null): array
    {
        $body = $value === null ? null : json_encode($value, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE);
        $mayBeDone = false;
        for ($attempt = 1; ; $attempt += 1) {
            $pause = mt_rand(0, (int) (1_000_000 * min(10, 0.25 * 2 ** $attempt)));
            try {
                return $this->attempt($method, $path, $body, $key);
            } catch (Refused $refused) {
                $mayBeDone = $mayBeDone || $refused->status === 408 || $refused->status >= 500;
                $isLast = $attempt === self::ATTEMPTS || $refused->retryAfter > self::LONGEST_PAUSE_S;
                if ($refused->status === 401 && $refused->problemCode === 'invalid_token' && !$isLast) {
                    $this->token = null;
                } elseif (!$refused->mayBeRepeated() || $isLast) {
                    throw $key !== null && $mayBeDone && $refused->saysNothing() ? new NoAnswer($refused->getMessage()) : $refused;
                }
                $pause += $refused->retryAfter * 1_000_000;
            } catch (NoAnswer $error) {
                // Nothing came back, or half of it. With the key the repeat finds what was done.
                $mayBeDone = true;
                if ($attempt === self::ATTEMPTS) {
                    throw $error;
                }
            }
            usleep($pause);
        }
    }

    private function attempt(string $method, string $path, ?string $body, ?string $key): array
    {
        $headers = ['authorization' => 'Bearer ' . $this->accessToken()];
        if ($body !== null) {
            $headers['content-type'] = 'application/json';
            $headers['content-digest'] = 'sha-256=:' . base64_encode(hash('sha256', $body, true)) . ':';
        }
        if ($key !== null) {
            $headers['idempotency-key'] = $key;
        }
        $headers += $this->signature($method, $path, $headers);
        // Without it the gateway waits for the register for ten seconds.
        $headers['prefer'] = 'respond-async';
        return $this->send($method, $path, $headers, $body);
    }

    private function signature(string $method, string $path, array $headers): array
    {
        $url = parse_url($this->url . $path);
        $authority = strtolower($url['host']) . (isset($url['port']) ? ":{$url['port']}" : '');
        $values = [
            '@method' => $method,
            '@authority' => $authority,
            '@path' => $url['path'],
            '@query' => '?' . ($url['query'] ?? ''),
        ] + $headers;
        $created = time();
        $params = '("' . implode('" "', array_keys($values)) . '")';
        $params .= ";created=$created;expires=" . ($created + 300) . ';nonce="' . bin2hex(random_bytes(16)) . '"';
        $params .= ";keyid=\"{$this->keyId}\";alg=\"ed25519\";tag=\"fgw-v1\"";
        $lines = [];
        foreach ($values + ['@signature-params' => $params] as $name => $text) {
            $lines[] = "\"$name\": $text";
        }
        $signature = base64_encode(sodium_crypto_sign_detached(implode("\n", $lines), $this->secretKey));
        return ['signature-input' => "fgw=$params", 'signature' => "fgw=:$signature:"];
    }

    private function accessToken(): string
    {
        if ($this->token === null || microtime(true) > $this->tokenUntil) {
            $headers = [
                'authorization' => 'Basic ' . base64_encode("{$this->clientId}:{$this->clientSecret}"),
                'content-type' => 'application/x-www-form-urlencoded',
            ];
            $answer = $this->send('POST', '/oauth/token', $headers, 'grant_type=client_credentials');
            $this->token = $answer['access_token'];
            $this->tokenUntil = microtime(true) + $answer['expires_in'] * 0.8;
        }
        return $this->token;
    }

    private function send(string $method, string $path, array $headers, ?string $body): array
    {
        $retryAfter = 0;
        $curl = curl_init($this->url . $path);
        curl_setopt_array($curl, [
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_TIMEOUT => 30,
            CURLOPT_HTTPHEADER => array_map(fn ($name) => "$name: {$headers[$name]}", array_keys($headers)),
            CURLOPT_HEADERFUNCTION => function ($_curl, string $line) use (&$retryAfter): int {
                if (preg_match('/^retry-after:\s*(\d+)/i', $line, $found)) {
                    $retryAfter = (int) $found[1];
                }
                return strlen($line);
            },
        ]);
        if ($body !== null) {
            curl_setopt($curl, CURLOPT_POSTFIELDS, $body);
        }
        $text = curl_exec($curl);
        $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
        if ($text === false) {
            throw new NoAnswer("$method $path: " . curl_error($curl));
        }
        $value = json_decode($text, true);
        if ($status >= 400) {
            throw new Refused($status, is_array($value) ? $value : [], $retryAfter);
        }
        return is_array($value) ? $value : throw new NoAnswer("$method $path: no JSON");
    }

    /**
     * The event, if it is signed with one of the secrets.
     * @param string $body as it came: file_get_contents('php://input')
     * @param array<string, string> $server $_SERVER
     */
    public static function verifyWebhook(string $body, array $server, array $secrets, int $tolerance = 300): array
    {
        $id = $server['HTTP_WEBHOOK_ID'] ?? '';
        $timestamp = $server['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
        if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > $tolerance) {
            throw new NotOurs('too old, or from the future');
        }
        foreach ($secrets as $secret) {
            if (preg_match('/^whsec_\S+$/', $secret) !== 1) {
                // With an empty key anyone could sign.
                continue;
            }
            $key = base64_decode(substr($secret, strlen('whsec_')));
            $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
            foreach (explode(' ', $server['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $signature) {
                if (hash_equals($expected, $signature)) {
                    return json_decode($body, true, 512, JSON_THROW_ON_ERROR);
                }
            }
        }
        throw new NotOurs('no signature fits');
    }
}
