<?php
// A sale, its refund, and what to do with errors: php sell.php SALE-NUMBER
declare(strict_types=1);
require __DIR__ . '/FiscalGateway.php';

$number = $argv[1];
$gateway = new FiscalGateway(
    getenv('GATEWAY_URL'),
    getenv('CLIENT_ID'),
    getenv('CLIENT_SECRET'),
    getenv('KEY_ID'),
    file_get_contents(getenv('SIGNING_KEY_FILE')),
);
$saleAt = fn (int $price): array => [
    'items' => [['name' => getenv('PRODUCT_NAME'), 'price' => $price, 'qty' => 2]],
    'payment' => ['method' => 'cash'],
    'cashier_id' => getenv('CASHIER_ID'),
];

try {
    // The number of the sale in the ERP is its key: after a crash the same call finds the same receipt.
    $receipt = $gateway->waitUntilFinal($gateway->sell($saleAt(450_000), "sale-$number"));
    if ($receipt['status'] !== 'registered') {
        // rejected, cancelled: no document exists. unknown: do not sell it again, a person decides.
        fwrite(STDERR, "sale {$receipt['id']} is {$receipt['status']}\n");
        exit(1);
    }
    ['fiscal_sign' => $sign, 'verification_url' => $link] = $receipt['fiscal'];
    echo "sale {$receipt['id']} registered: $sign $link\n";
    $refund = $gateway->refund($receipt['id'], ['lines' => [['line' => 1, 'qty' => 1]]], "refund-$number");
    $refund = $gateway->waitUntilFinal($refund);
    echo "refund {$refund['id']} {$refund['status']}\n";
    // A mistake of the caller's comes back with a place in the body for each fault.
    $gateway->sell($saleAt(-1), "wrong-$number");
} catch (Refused $refused) {
    echo "refused: {$refused->status} {$refused->problemCode}\n";
    foreach ($refused->errors as ['pointer' => $pointer, 'code' => $code, 'detail' => $detail]) {
        echo "  $pointer $code: $detail\n";
    }
} catch (NoAnswer $error) {
    // It may have been sold. Keep the number, and run this again with it later.
    fwrite(STDERR, "no answer: {$error->getMessage()}\n");
    exit(2);
}
