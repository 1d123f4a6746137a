<?php
declare(strict_types=1);

/** Sells and refunds once, however often WordPress runs a job, and keeps at the order what came of it. */
final class FiscalReceipts
{
    private const RECEIPT = '_fiscal_receipt_id';
    private const STATUS = '_fiscal_status';
    /** The body as it was first sent; its `external_id` is the key, too. */
    private const REQUEST = '_fiscal_request';
    private const PENDING = ['accepted', 'sending', 'awaiting_payment'];
    /** No answer: the same job, with the same key, after so many seconds. */
    private const LATER_S = 300;

    public function __construct(
        private readonly FiscalGateway $gateway,
        private readonly OrderToSale $orders,
        private readonly array $webhookSecrets,
    ) {
    }

    public static function schedule(string $job, int ...$ids): void
    {
        as_enqueue_async_action($job, $ids, 'fiscal-receipts');
    }

    public function sell(int $order_id): void
    {
        $order = wc_get_order($order_id);
        if (!$order || in_array($order->get_meta(self::STATUS), ['registered', 'unknown'], true)) {
            if ($order && $this->hasChanged($order)) {
                $order->add_order_note('The order has changed since its fiscal receipt was made. Compare them; the difference is not fiscalised.');
            }
            return;
        }
        $this->perform('fiscal_receipts_sell', [$order_id], $order, $order, function () use ($order): array {
            $sale = $this->once($order, function () use ($order): array {
                $sale = $this->orders->sale($order);
                $this->orders->numberLines($order);
                return $sale;
            });
            // A job that runs twice finds the same receipt.
            return $this->gateway->sell($sale, $sale['external_id']);
        });
    }

    /**
     * What is sent is made once. An order that was edited, or a product that was renamed, after a call whose answer was lost would be another
     * request under the same key, and refused, although the receipt exists.
     *
     * @param callable(): array $make
     */
    private function once(WC_Abstract_Order $holder, callable $make): array
    {
        $kept = $holder->get_meta(self::REQUEST);
        if (is_array($kept)) {
            return $kept;
        }
        $request = $make();
        $holder->update_meta_data(self::REQUEST, $request);
        $holder->save();
        return $request;
    }

    private function hasChanged(WC_Order $order): bool
    {
        $kept = $order->get_meta(self::REQUEST);
        try {
            return is_array($kept) && $kept['items'] != $this->orders->sale($order)['items'];
        } catch (DomainException) {
            return true;
        }
    }

    /** What became of the receipt meanwhile, also after a person decided. */
    public function read(int $order_id): void
    {
        $order = wc_get_order($order_id);
        $this->perform('fiscal_receipts_read', [$order_id], $order, $order, function () use ($order): array {
            return ['id' => $order->get_meta(self::RECEIPT), 'status' => 'accepted'];
        });
    }

    public function refund(int $order_id, int $refund_id): void
    {
        $order = wc_get_order($order_id);
        $refund = wc_get_order($refund_id);
        if (!$order || !$refund || in_array($refund->get_meta(self::STATUS), ['registered', 'unknown'], true)) {
            return;
        }
        if ($this->isUndecided($order)) {
            // What is not registered yet cannot be taken back: the job of the sale, or the person who decides about it, ends this waiting.
            as_schedule_single_action(time() + self::LATER_S, 'fiscal_receipts_refund', [$order_id, $refund_id], 'fiscal-receipts');
            if ($order->get_meta(self::STATUS) === 'unknown' && !as_has_scheduled_action('fiscal_receipts_read', [$order_id], 'fiscal-receipts')) {
                // A webhook that says what was decided may be lost.
                self::schedule('fiscal_receipts_read', $order_id);
            }
            return;
        }
        $sale = (string) $order->get_meta(self::RECEIPT);
        if ($sale === '') {
            // As soon as it has one, its refunds follow (keep).
            $order->add_order_note('The refund has no fiscal receipt: the order has none.');
            return;
        }
        $this->perform('fiscal_receipts_refund', [$order_id, $refund_id], $refund, $order, function () use ($order, $refund, $sale): array {
            $body = $this->once($refund, fn () => $this->orders->refund($order, $refund));
            return $this->gateway->refund($sale, $body, $body['external_id']);
        });
    }

    /** Whether the sale may still become a receipt: it has none yet and is to be asked for again, or what became of it is not known. */
    private function isUndecided(WC_Order $order): bool
    {
        return in_array($order->get_meta(self::STATUS), [...self::PENDING, 'unknown'], true)
            || ((string) $order->get_meta(self::RECEIPT) === ''
                && as_has_scheduled_action('fiscal_receipts_sell', [$order->get_id()], 'fiscal-receipts'));
    }

    /** A webhook of the gateway. Answers at once; what it says is at the order then. */
    public function receive(string $body, array $server): WP_REST_Response
    {
        try {
            $event = FiscalGateway::verifyWebhook($body, $server, $this->webhookSecrets);
        } catch (NotOurs $error) {
            return new WP_REST_Response(['error' => $error->getMessage()], 400);
        }
        $id = $event['data']['receipt_id'] ?? null;
        $orders = is_string($id) ? wc_get_orders(['meta_key' => self::RECEIPT, 'meta_value' => $id, 'limit' => 1]) : [];
        foreach ($orders as $order) {
            if (str_starts_with($event['type'], 'receipt.')) {
                // The receipt itself says what holds now: events may come twice, and late.
                self::schedule('fiscal_receipts_read', $order->get_id());
            }
        }
        return new WP_REST_Response(null, 204);
    }

    /**
     * @param WC_Abstract_Order $holder what the receipt belongs to: the order, or its refund
     * @param callable(): array $send
     */
    private function perform(string $job, array $ids, WC_Abstract_Order $holder, WC_Order $order, callable $send): void
    {
        // Action Scheduler calls a job whose process has died failed, and never runs it again: the next try stands there before the call.
        as_unschedule_all_actions($job, $ids, 'fiscal-receipts');
        as_schedule_single_action(time() + self::LATER_S, $job, $ids, 'fiscal-receipts');
        try {
            $this->keep($holder, $order, $this->gateway->waitUntilFinal($send(), 20));
            if (in_array($holder->get_meta(self::STATUS), self::PENDING, true)) {
                return;
            }
        } catch (NoAnswer $error) {
            $order->add_order_note('The gateway did not answer; it is asked again: ' . $error->getMessage());
            return;
        } catch (Refused $refused) {
            // The gateway is away or busy, or does not know this shop: that says nothing about the sale.
            if ($refused->saysNothing()) {
                $order->add_order_note('The gateway did not take the call; it is asked again: ' . $refused->getMessage());
                return;
            }
            if ((string) $holder->get_meta(self::RECEIPT) === '') {
                // Nothing was made of it: what is sent next is made anew, of the order as it is corrected.
                $holder->delete_meta_data(self::REQUEST);
                $holder->save();
            }
            $faults = array_map(fn ($one) => "{$one['pointer']} {$one['detail']}", $refused->errors);
            $order->add_order_note("No fiscal receipt ({$refused->problemCode}): " . implode('; ', $faults));
        } catch (DomainException $error) {
            $order->add_order_note('No fiscal receipt: ' . $error->getMessage());
        }
        as_unschedule_all_actions($job, $ids, 'fiscal-receipts');
    }

    private function keep(WC_Abstract_Order $holder, WC_Order $order, array $receipt): void
    {
        $before = $holder->get_meta(self::STATUS);
        $holder->update_meta_data(self::RECEIPT, $receipt['id']);
        $holder->update_meta_data(self::STATUS, $receipt['status']);
        $holder->save();
        if ($before === $receipt['status']) {
            return;
        }
        if ($holder === $order && $receipt['status'] === 'registered') {
            // What was given back before there was a receipt to take it from.
            foreach ($order->get_refunds() as $refund) {
                if ((string) $refund->get_meta(self::STATUS) === '') {
                    self::schedule('fiscal_receipts_refund', $order->get_id(), $refund->get_id());
                }
            }
        }
        $order->add_order_note(match ($receipt['status']) {
            'registered' => "Fiscal receipt: {$receipt['fiscal']['verification_url']}",
            'unknown' => "It cannot be proven whether the receipt {$receipt['id']} exists. A person decides; do not sell it again.",
            'rejected' => "The register refused the receipt {$receipt['id']}: {$receipt['rejection']['detail']}",
            default => "The receipt {$receipt['id']} is {$receipt['status']}.",
        });
    }
}
