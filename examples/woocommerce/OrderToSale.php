<?php
declare(strict_types=1);

/** An order of WooCommerce as a sale, a refund of it as a refund. Money becomes whole tiyin. */
final class OrderToSale
{
    /** On an order's item: its line of the receipt, from 1. Refunds name lines. */
    public const LINE = '_fiscal_line';

    public function __construct(
        private readonly string $cashierId,
        /** Product of the catalogue for delivery; null: orders with paid delivery are refused. */
        private readonly ?string $shippingName,
    ) {
    }

    /**
     * Key of the order's sale, and its name at the gateway. Numbers of orders come again in another shop of the merchant, and in one whose database
     * was put back; the order's own key does not, but it opens the order's page, so that a digest of it goes out.
     */
    private static function keyOf(WC_Order $order): string
    {
        return "wc-{$order->get_id()}-" . substr(hash('sha256', $order->get_order_key()), 0, 16);
    }

    /** @throws DomainException what the order cannot be sold for, in words for the shop */
    public function sale(WC_Order $order): array
    {
        return [
            'items' => array_map(fn ($item) => $this->line($item, self::totalOf($item)), self::soldItems($order)),
            'payment' => ['method' => $order->get_payment_method() === 'cod' ? 'cash' : 'card'],
            'cashier_id' => $this->cashierId,
            'external_id' => self::keyOf($order),
        ];
    }

    /** Keeps at each item its line of the sale that is sent now. */
    public function numberLines(WC_Order $order): void
    {
        foreach (self::soldItems($order) as $at => $item) {
            $item->update_meta_data(self::LINE, (string) ($at + 1));
            $item->save();
        }
    }

    /** @return list<WC_Order_Item> what costs something */
    private static function soldItems(WC_Order $order): array
    {
        return array_values(array_filter($order->get_items(['line_item', 'fee', 'shipping']), fn ($item) => self::totalOf($item) !== 0));
    }

    private static function totalOf(WC_Order_Item $item): int
    {
        return self::tiyin((float) $item->get_total() + (float) $item->get_total_tax());
    }

    public function refund(WC_Order $order, WC_Order_Refund $refund): array
    {
        $lines = [];
        foreach ($refund->get_items(['line_item', 'fee', 'shipping']) as $item) {
            $sum = abs(self::totalOf($item));
            if ($sum === 0) {
                continue;
            }
            $sold = $order->get_item((int) $item->get_meta('_refunded_item_id'));
            // By its sum: WooCommerce lets a shop give back money without goods.
            $lines[] = ['line' => (int) $sold->get_meta(self::LINE), 'sum' => $sum];
        }
        if ($lines === []) {
            throw new DomainException('The refund names no lines. Enter quantities or sums at the lines of the order.');
        }
        return ['lines' => $lines, 'external_id' => self::keyOf($order) . "-r{$refund->get_id()}"];
    }

    /** What coupons took off is the line's discount. A price that is no whole tiyin is rounded up, and the rest is discount, too. */
    private function line(WC_Order_Item $item, int $total): array
    {
        if ($item->is_type('shipping')) {
            $name = $this->shippingName ?? throw new DomainException('Delivery costs money, and FISCAL_SHIPPING_NAME is not set.');
            return ['name' => $name, 'price' => $total, 'qty' => 1];
        }
        if ($total < 0) {
            throw new DomainException("A line below 0 cannot be sold: {$item->get_name()}");
        }
        if (!$item->is_type('line_item')) {
            return ['name' => $item->get_name(), 'price' => $total, 'qty' => 1];
        }
        $qty = $item->get_quantity();
        $full = self::tiyin((float) $item->get_subtotal() + (float) $item->get_subtotal_tax());
        $price = (int) ceil(max($full, $total) / $qty);
        $sku = $item->get_product() ? $item->get_product()->get_sku() : '';
        // As the gateway reckons the line: thousandths of a piece, rounded half up to tiyin.
        $gross = intdiv($price * (int) round($qty * 1000) + 500, 1000);
        $line = ['name' => $item->get_name(), 'price' => $price, 'qty' => $qty, 'discount' => $gross - $total];
        return $sku === '' ? $line : $line + ['sku' => $sku];
    }

    private static function tiyin(float $som): int
    {
        return (int) round($som * 100);
    }
}
