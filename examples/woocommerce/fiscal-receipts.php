<?php
/**
 * Plugin Name: Fiscal receipts
 * Description: Fiscal receipts of Uzbekistan for paid orders and refunds, by the fiscal receipt gateway.
 * Version: 0.1.0
 * Requires PHP: 8.1
 * Requires Plugins: woocommerce
 * License: Apache-2.0
 */
declare(strict_types=1);

require_once __DIR__ . '/FiscalGateway.php';
require_once __DIR__ . '/OrderToSale.php';
require_once __DIR__ . '/FiscalReceipts.php';

/** Settings are constants of wp-config.php: secrets do not belong into the database of a shop. */
function fiscal_receipts(): FiscalReceipts
{
    static $receipts = null;
    $receipts ??= new FiscalReceipts(
        new FiscalGateway(
            FISCAL_GATEWAY_URL,
            FISCAL_CLIENT_ID,
            FISCAL_CLIENT_SECRET,
            FISCAL_KEY_ID,
            file_get_contents(FISCAL_KEY_FILE),
        ),
        new OrderToSale(FISCAL_CASHIER_ID, defined('FISCAL_SHIPPING_NAME') ? FISCAL_SHIPPING_NAME : null),
        explode(' ', FISCAL_WEBHOOK_SECRETS),
    );
    return $receipts;
}

// Nothing is sent while a customer waits: Action Scheduler does it, and does it again after a crash.
add_action('woocommerce_payment_complete', fn ($order_id) => FiscalReceipts::schedule('fiscal_receipts_sell', (int) $order_id));
add_action('woocommerce_order_status_completed', fn ($order_id) => FiscalReceipts::schedule('fiscal_receipts_sell', (int) $order_id));
add_action(
    'woocommerce_order_refunded',
    fn ($order_id, $refund_id) => FiscalReceipts::schedule('fiscal_receipts_refund', (int) $order_id, (int) $refund_id),
    10,
    2,
);
add_action('fiscal_receipts_sell', fn ($order_id) => fiscal_receipts()->sell((int) $order_id));
add_action('fiscal_receipts_read', fn ($order_id) => fiscal_receipts()->read((int) $order_id));
add_action('fiscal_receipts_refund', fn ($order_id, $refund_id) => fiscal_receipts()->refund((int) $order_id, (int) $refund_id), 10, 2);

// The address of the webhook: https://shop.example/wp-json/fiscal-receipts/v1/events
add_action('rest_api_init', function (): void {
    register_rest_route('fiscal-receipts/v1', '/events', [
        'methods' => 'POST',
        // The signature decides who may call.
        'permission_callback' => '__return_true',
        'callback' => fn (WP_REST_Request $request) => fiscal_receipts()->receive($request->get_body(), $_SERVER),
    ]);
});
