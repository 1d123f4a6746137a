import { ask, change, read, repeat } from './advice.js';

/** Sales, refunds, payments, goods. */
export const OF_SALES = {
  idempotency_key_missing: change(
    'A request of this client needs an `Idempotency-Key`.',
    'Send the number of the document in your system, and keep it over restarts.',
  ),
  idempotency_mismatch: change(
    'The key or `external_id` was used for a request with another content.',
    'Find the first one with `GET /v1/receipts?external_id=…`. A sale of its own needs a number of its own.',
  ),
  idempotency_in_progress: repeat(
    'The same request is being written at this moment.',
    'Repeat under the same key after `Retry-After`; it finds the receipt.',
  ),
  goods_unknown: change(
    'SKU, barcode or name is not in the catalogue, and the line names no SPIC.',
    'Import the product, or send `spic`, `package_code` and `vat_percent` with the line.',
  ),
  goods_ambiguous: change(
    'Several products of the catalogue fit the line.',
    'Name it by `sku`; `detail` lists the candidates.',
  ),
  invalid_quantity: change(
    'Quantities are above 0 and have at most three decimals.',
    'Correct the quantity or its unit.',
  ),
  line_total_negative: change(
    'The discount is larger than price × quantity.',
    'Correct the discount; it is a sum of the line, in tiyin.',
  ),
  total_too_large: change(
    'The sum is beyond what a fiscal document holds.',
    'Check whether so‘m were multiplied twice; divide the sale.',
  ),
  payment_mismatch: change(
    'What is paid does not add up to the total.',
    'Send sums that add up to `total`, in tiyin; round once, at the line.',
  ),
  payment_method_unsupported: change(
    'This operation does not take the payment method.',
    'Take one that `detail` names.',
  ),
  card_data_refused: change(
    'A text looks like the number of a card.',
    'Remove it, also from your logs. Cards are entered at the payment provider alone.',
  ),
  cashier_unknown: change(
    'The merchant has no such cashier.',
    'Make the cashier, or correct the code ([the fleet](fleet.md)).',
  ),
  branch_unknown: change('The merchant has no such branch.', 'Make the branch, or correct the code.'),
  device_unknown: change('The merchant has no such register.', 'Read `GET /v1/devices`.'),
  group_unknown: change('The merchant has no such group.', 'Read `GET /v1/groups`.'),
  callback_secret_missing: ask(
    'Callbacks are signed, and there is no secret yet.',
    'The merchant’s owner sets one; or leave out `callback_url` and use webhooks.',
  ),
  field_unsupported: change(
    'The register cannot put the seller, buyer or wallet into the fiscal document.',
    'Name another register; or the merchant sets `unsupported_fields` to `omit`, if its accountant agrees.',
  ),
  receipt_refused: change(
    'The register refused the document; `errors` has its code and sentence.',
    'Correct what it names. The refused receipt is stored (`Location`): the corrected one needs a new key.',
  ),
  no_device: repeat(
    'No register can take it: none is set up for this place, or it is drained or disabled.',
    'Repeat under the same key; ask who runs the registers if it stays.',
  ),

  receipt_archived: ask(
    'It is older than receipts are kept, and stands in an archive, which `detail` names.',
    'Ask the operator of the gateway to bring it back, or to read it out.',
  ),

  refund_of_refund: change('A refund is not refunded.', 'Sell again.'),
  fiscal_sign_missing: ask(
    'The sale has no fiscal sign that a refund could name.',
    'An operator completes it in the console; then repeat under the same key.',
  ),
  nothing_left: read('All of the sale has come back.', 'Read its refunds; a second refund is not needed.'),
  terminal_gone: ask(
    'The fiscal module that sold is gone, and no other one can refund.',
    'Ask the operator of the registers; the tax adviser says how to book it.',
  ),
  receipt_not_cancellable: read('It was sent, or has ended.', 'Read the receipt; refund it when it is `registered`.'),
  exceeds_left: change('More is asked for than is left.', 'Read `left` of `GET /v1/receipts/{id}/refunds`.'),
  not_divisible: change(
    'No quantity in steps of 0.001 is worth this sum.',
    'Refund another sum, a quantity, or all that is left.',
  ),
  line_unknown: change('The sale has no line of this number.', 'Take `items[].line` of the sale.'),
  label_not_left: change(
    'The label is of another line, or has come back.',
    'Read the labels under `left`; scan the piece again.',
  ),

  payment_not_cancellable: read(
    'The payment has ended or is being taken.',
    'Read the payment; refund the sale when it is paid.',
  ),
  payment_of_one_receipt: change(
    'The whole of a payment is given back where it is for several receipts.',
    'Refund its receipt: POST /v1/receipts/{id}/refunds.',
  ),
  payment_not_capturable: read('No money is held.', 'Read the payment: it was taken, released or declined.'),
  payment_not_deliverable: read('Only what is paid is delivered.', 'Wait until the payment is `captured`.'),
  payment_not_confirmable: read(
    'The payment waits for no code.',
    'Read the payment; begin another one if it has ended.',
  ),
  payment_not_settled: repeat(
    'The money of the sale is still on its way.',
    'Repeat the refund under the same key after `Retry-After`.',
  ),
  payment_changed: read(
    'Since the payment was read it has another status, or more of it is back: the decision may be about what came after it.',
    'Read the payment again; decide with the new `status_since` and `refunded` where something is still to be decided.',
  ),
  payment_not_manual: read('The payment goes on by itself.', 'Read the payment; nothing is to be decided.'),
  provider_unknown: ask(
    'The merchant has no account at this provider.',
    'The owner sets it up ([payments](payments.md)); or take another provider.',
  ),
  no_provider_fits: ask(
    'The provider is `auto`, and none of the merchant’s takes a payment of this sum, card and kind.',
    'The owner changes the rules or accounts, which `detail` names ([payments](payments.md)); or name a provider.',
  ),
  refund_by_provider: ask(
    'Only the provider starts this refund.',
    'Refund in its own cabinet; the receipt follows by itself.',
  ),
  partial_refund_unsupported: change(
    'The provider gives back all or nothing.',
    'Refund the whole sale, or return the part in another way.',
  ),

  differs_from_classifier: change(
    'The product contradicts the classification register.',
    'Take the value of the register, which `detail` names.',
  ),
  sync_closed: read('The synchronisation was committed or aborted.', 'Start another one.'),
  archived: change('It is archived.', 'Restore it first; a product comes back with a `PUT` of its SKU.'),

  'E-003': change(
    'Goods of this SPIC are not sold for cash.',
    'Take a card or a wallet; correct `cash_allowed` only if the register of goods says so.',
  ),
  'E-004': change('The goods are marked.', 'Scan the Data Matrix of each piece into `labels`.'),
  'E-005': change('The register does not know this type of receipt.', 'Sell and refund by the operations of this API.'),
  'E-006': change('A receipt has at least one line.', 'Do not send empty documents.'),
  'E-007': change(
    'A refund names number, sign and terminal of its sale.',
    'Refund by `POST /v1/receipts/{id}/refunds`, which fills them in.',
  ),
  'E-008': change('A paid sum is negative.', 'Send 0 or more; money that goes back is a refund.'),
  'E-009': change('More is paid than the receipt is worth.', 'Send what was paid without the change given.'),
  'E-010': change(
    'The VAT of the lines does not add up.',
    'Leave the VAT to the gateway; check `vat_percent` of the lines.',
  ),
  'E-011': change('The name is empty.', 'Send the name that the buyer reads.'),
  'E-012': change('The price is 0 or less.', 'Send the price in tiyin; gifts are a discount of a line with a price.'),
  'E-013': change(
    'The SPIC is wrong or no longer in force.',
    'Search for it at tasnif.soliq.uz; correct the catalogue.',
  ),
  'E-014': change(
    'The package code is of another SPIC.',
    'Take one of the codes that the SPIC has at tasnif.soliq.uz.',
  ),
  'E-015': change('There are 0 and 12 percent.', 'Send `vat_percent` 0 or 12; ask the accountant which.'),
  'E-016': change(
    'The VAT sum does not follow from the price.',
    'Leave the VAT to the gateway; else ask whether the register’s VAT profile fits the merchant.',
  ),
  'E-017': change('Labels and pieces differ in number.', 'One label for each piece.'),
  'E-018': change('Marked goods have whole quantities.', 'Sell by the piece.'),
  'F-003': change(
    'The sums of the module’s whole life have no room for this one. No Z-report empties them.',
    'Check the sum; else sell it at another register, with a new key, and have the module replaced.',
  ),
  'F-005': change(
    'The fiscal module refused the document; `details` has the reason.',
    'Correct the sums, or refund fewer, larger parts. The next try needs a new key.',
  ),
};
