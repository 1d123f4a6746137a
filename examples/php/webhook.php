<?php
// Receives webhooks and accepts only what is signed: WEBHOOK_SECRETS="whsec_…" php -S 127.0.0.1:3000 webhook.php
declare(strict_types=1);
require __DIR__ . '/FiscalGateway.php';

try {
    // The bytes as they came: JSON that was read and written again has another signature.
    $event = FiscalGateway::verifyWebhook(file_get_contents('php://input'), $_SERVER, preg_split('/\s+/', getenv('WEBHOOK_SECRETS')));
} catch (NotOurs $error) {
    file_put_contents('php://stdout', "refused: {$error->getMessage()}\n");
    http_response_code(400);
    exit();
}
// The same event may come twice: keep it whole in a table, by its id, as not done yet; where it is there already, nothing more.
file_put_contents('php://stdout', "event {$event['type']} {$event['id']}\n");
// Answer within ten seconds, once it is kept; then work on what the table has as not done.
http_response_code(204);
