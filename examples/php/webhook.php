<?php
// Receives webhooks and accepts only what is signed: WEBHOOK_SECRETS="whsec_…" php -S 127.0.0.1:3000 webhook.php
declare(strict_types=1);
require __DIR__ . '/FiscalGateway.php';

try {
    // The bytes as they came: JSON that was read and written again has another signature.
    $event = FiscalGateway::verifyWebhook(file_get_contents('php://input'), $_SERVER, explode(' ', getenv('WEBHOOK_SECRETS')));
} catch (NotOurs $error) {
    file_put_contents('php://stdout', "refused: {$error->getMessage()}\n");
    http_response_code(400);
    exit();
}
// The same event may come twice: keep its id in a table, and do nothing when it is there already.
file_put_contents('php://stdout', "event {$event['type']} {$event['id']}\n");
// Answer first, within ten seconds; work on it afterwards.
http_response_code(204);
