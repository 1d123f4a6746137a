<?php
// Stand-ins for what examples/woocommerce calls of WordPress and WooCommerce. Run: php wordpress-stand-ins.php < orders.json
declare(strict_types=1);

$hooks = [];
$queue = [];
$later = [];
$routes = [];
$orders = [];

function add_action(string $name, callable $call, int $priority = 10, int $arguments = 1): void
{
    global $hooks;
    $hooks[$name][] = [$call, $arguments];
}

function do_action(string $name, mixed ...$given): void
{
    global $hooks;
    foreach ($hooks[$name] ?? [] as [$call, $arguments]) {
        $call(...array_slice($given, 0, $arguments));
    }
}

function register_rest_route(string $space, string $path, array $options): void
{
    global $routes;
    $routes[$space . $path] = $options;
}

function as_enqueue_async_action(string $hook, array $arguments, string $group): void
{
    global $queue;
    $queue[] = [$hook, $arguments];
}

function as_schedule_single_action(int $at, string $hook, array $arguments, string $group): void
{
    global $later;
    $later[] = ['hook' => $hook, 'arguments' => $arguments, 'in_seconds' => $at - time()];
    note_later();
}

/** What waits; one that runs at the moment goes on: as_unschedule_action() in Action Scheduler's functions.php asks for pending ones alone. */
function as_unschedule_all_actions(string $hook, array $arguments, string $group): void
{
    global $queue, $later;
    $queue = array_values(array_filter($queue, fn ($one) => $one !== [$hook, $arguments]));
    $later = array_values(array_filter($later, fn ($one) => [$one['hook'], $one['arguments']] !== [$hook, $arguments]));
    note_later();
}

/** What a process that dies leaves behind: Action Scheduler keeps its jobs in the shop's database. */
function note_later(): void
{
    global $later;
    $file = getenv('LATER_FILE');
    if ($file !== false) {
        file_put_contents($file, json_encode($later));
    }
}

function as_has_scheduled_action(string $hook, array $arguments, string $group): bool
{
    global $queue, $later;
    $waits = fn ($one) => [$one['hook'] ?? $one[0], $one['arguments'] ?? $one[1]] === [$hook, $arguments];
    return array_filter([...$queue, ...$later], $waits) !== [];
}

function wc_get_order(int $id): WC_Abstract_Order|false
{
    global $orders;
    return $orders[$id] ?? false;
}

function wc_get_orders(array $query): array
{
    global $orders;
    return array_values(array_filter(
        $orders,
        fn ($order) => $order instanceof WC_Order && $order->get_meta($query['meta_key']) === $query['meta_value'],
    ));
}

abstract class Has_Meta
{
    public function __construct(protected array $facts, private array $meta = [])
    {
    }

    public function get_id(): int
    {
        return $this->facts['id'];
    }

    public function get_meta(string $name): mixed
    {
        return $this->meta[$name] ?? '';
    }

    public function update_meta_data(string $name, mixed $value): void
    {
        $this->meta[$name] = $value;
    }

    public function delete_meta_data(string $name): void
    {
        unset($this->meta[$name]);
    }

    public function save(): int
    {
        return $this->get_id();
    }

    public function all_meta(): array
    {
        return $this->meta;
    }
}

final class WC_Product
{
    public function __construct(private readonly string $sku)
    {
    }

    public function get_sku(): string
    {
        return $this->sku;
    }
}

/** As WooCommerce does, money is text with decimals. */
final class WC_Order_Item extends Has_Meta
{
    public function is_type(string $type): bool
    {
        return $this->facts['type'] === $type;
    }

    public function get_name(): string
    {
        return $this->facts['name'];
    }

    public function get_quantity(): int|float
    {
        return $this->facts['qty'];
    }

    public function get_total(): string
    {
        return $this->facts['total'];
    }

    public function get_total_tax(): string
    {
        return $this->facts['tax'] ?? '0';
    }

    public function get_subtotal(): string
    {
        return $this->facts['subtotal'] ?? $this->facts['total'];
    }

    public function get_subtotal_tax(): string
    {
        return $this->facts['subtotal_tax'] ?? $this->get_total_tax();
    }

    public function get_product(): WC_Product|false
    {
        return isset($this->facts['sku']) ? new WC_Product($this->facts['sku']) : false;
    }
}

abstract class WC_Abstract_Order extends Has_Meta
{
    private array $items = [];

    public function __construct(array $facts)
    {
        parent::__construct($facts, $facts['meta'] ?? []);
        foreach ($facts['items'] as $item) {
            $this->items[$item['id']] = new WC_Order_Item($item, isset($item['of']) ? ['_refunded_item_id' => (string) $item['of']] : []);
        }
    }

    public function get_items(array $types): array
    {
        return array_filter($this->items, fn ($item) => array_filter($types, fn ($type) => $item->is_type($type)) !== []);
    }

    public function get_item(int $id): WC_Order_Item|false
    {
        return $this->items[$id] ?? false;
    }
}

final class WC_Order extends WC_Abstract_Order
{
    public array $notes = [];

    public function get_order_key(): string
    {
        return $this->facts['order_key'] ?? "wc_order_{$this->get_id()}";
    }

    /** @return list<WC_Order_Refund> */
    public function get_refunds(): array
    {
        global $orders;
        $isOurs = fn ($one) => $one instanceof WC_Order_Refund && ($one->parent() === $this->get_id());
        return array_values(array_filter($orders, $isOurs));
    }

    public function get_payment_method(): string
    {
        return $this->facts['payment_method'];
    }

    public function add_order_note(string $note): void
    {
        $this->notes[] = $note;
    }
}

final class WC_Order_Refund extends WC_Abstract_Order
{
    public function parent(): ?int
    {
        return $this->facts['parent'] ?? null;
    }
}

final class WP_REST_Request
{
    public function __construct(private readonly string $body)
    {
    }

    public function get_body(): string
    {
        return $this->body;
    }
}

final class WP_REST_Response
{
    public function __construct(public readonly mixed $data, public readonly int $status)
    {
    }
}

foreach (['URL', 'CLIENT_ID', 'CLIENT_SECRET', 'KEY_ID', 'KEY_FILE', 'CASHIER_ID', 'WEBHOOK_SECRETS', 'SHIPPING_NAME'] as $name) {
    $constant = $name === 'URL' ? 'FISCAL_GATEWAY_URL' : "FISCAL_$name";
    $value = getenv($constant);
    if ($value !== false) {
        define($constant, $value);
    }
}
require getenv('PLUGIN');
do_action('rest_api_init');

$input = json_decode(stream_get_contents(STDIN), true, 512, JSON_THROW_ON_ERROR);
foreach ($input['orders'] as $facts) {
    $orders[$facts['id']] = isset($facts['payment_method']) ? new WC_Order($facts) : new WC_Order_Refund($facts);
}
$answers = [];
foreach ($input['happens'] as $event) {
    if (isset($event['webhook'])) {
        foreach ($event['webhook']['headers'] as $name => $value) {
            $_SERVER['HTTP_' . strtoupper(strtr($name, '-', '_'))] = $value;
        }
        $call = $routes['fiscal-receipts/v1/events']['callback'];
        $answers[] = $call(new WP_REST_Request($event['webhook']['body']))->status;
    } else {
        do_action($event['hook'], ...$event['arguments']);
    }
    while ($queue !== []) {
        [$hook, $arguments] = array_shift($queue);
        do_action($hook, ...$arguments);
    }
}
echo json_encode([
    'orders' => array_map(fn ($order) => ['meta' => $order->all_meta(), 'notes' => $order->notes ?? []], $orders),
    'later' => $later,
    'answers' => $answers,
], JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES);
