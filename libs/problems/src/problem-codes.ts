import { LOCAL_RULES, type LocalRuleCode } from '#fiscal-domain';

/** One entry of the catalogue of problem codes. */
export interface ProblemKind {
  status: number;
  title: string;
  /** Whether the same request may succeed when it is repeated later, with the same Idempotency-Key. */
  retryable: boolean;
  /** Answered as `Retry-After` unless the problem carries its own. */
  retryAfterSeconds?: number;
  /** Name of the rule of the local fiscal API (facts of the E-codes); copied into `errors[].rule`. */
  rule?: string;
}

const never = (status: number, title: string): ProblemKind => ({ status, title, retryable: false });
const later = (status: number, title: string, retryAfterSeconds: number): ProblemKind => ({
  status,
  title,
  retryable: true,
  retryAfterSeconds,
});
const fiscal = (title: string, code: LocalRuleCode): ProblemKind => ({
  status: 422,
  title,
  retryable: false,
  rule: LOCAL_RULES[code],
});

/**
 * Every code that the API can answer, once. 400 is only for what cannot be parsed; everything else about the content
 * is 422 (docs/errors.md).
 */
export const PROBLEMS = {
  // Cannot be parsed.
  malformed_json: never(400, 'The body is not valid JSON'),
  malformed_request: never(400, 'The request is not valid HTTP for this API'),
  invalid_header: never(400, 'A header cannot be read'),
  invalid_request: never(400, 'The Authorization header is malformed'),

  // Who is calling.
  unauthenticated: never(401, 'Authentication is needed'),
  invalid_token: never(401, 'The access token is invalid or expired'),
  signature_missing: never(401, 'The request must be signed'),
  signature_invalid: never(401, 'The signature cannot be accepted'),
  signature_expired: never(401, 'The signature is too old, or from the future'),
  component_missing: never(401, 'The signature does not cover enough'),
  digest_mismatch: never(401, 'The body is not what was signed'),
  nonce_replayed: never(401, 'The signature was used before'),
  insufficient_scope: never(403, 'The access token lacks the scope'),
  merchant_suspended: never(403, 'The merchant is suspended'),
  forbidden: never(403, 'Not allowed'),
  ip_not_allowed: never(403, 'The address is not allowed for this client'),

  // People and their sessions.
  login_failed: never(401, 'The login was refused'),
  session_invalid: never(401, 'The session has ended'),
  session_needed: never(403, 'Only a person may do this'),
  csrf_header_missing: never(403, 'The header of the console is missing'),
  origin_refused: never(403, 'The request comes from another site'),
  login_needs_https: never(403, 'People log in over https only'),
  merchant_needed: never(400, 'The merchant has to be named'),
  merchant_refused: never(403, 'Not a merchant of this user'),
  step_up_needed: never(403, 'A second factor is needed now'),
  second_factor_refused: never(403, 'The second factor was refused'),
  password_weak: never(422, 'The password is too easy to guess'),
  invitation_invalid: never(404, 'The link is not valid'),
  login_first: never(409, 'The address has an account: log in first'),
  already_member: never(409, 'The user is a member already'),
  last_owner: never(409, 'The merchant would be left without an owner'),
  last_factor: never(409, 'The user would be left without a second factor'),
  approval_needed: never(409, 'A second user has to approve this'),
  approval_closed: never(409, 'The approval was decided or has expired'),
  own_request: never(409, 'A second user has to decide this'),

  // Where.
  not_found: never(404, 'Not found'),
  method_not_allowed: never(405, 'Method not allowed'),
  not_acceptable: never(406, 'No acceptable representation'),
  request_timeout: later(408, 'The request took too long to arrive', 1),
  conflict: never(409, 'Conflict with the present state'),
  payload_too_large: never(413, 'The body is too large'),
  uri_too_long: never(414, 'The path is too long'),
  unsupported_media_type: never(415, 'The media type is not supported'),
  quota_exceeded: later(429, 'The quota of the merchant is used up', 3_600),
  too_many_requests: later(429, 'Too many requests', 1),
  headers_too_large: never(431, 'The headers are too large'),

  // The shape of the body.
  unknown_field: never(422, 'Unknown field'),
  required: never(422, 'A required field is missing'),
  invalid_type: never(422, 'Wrong type'),
  invalid_format: never(422, 'Wrong format'),
  invalid_text: never(422, 'The text holds characters that are not allowed'),
  invalid_value: never(422, 'Value not allowed'),
  out_of_range: never(422, 'The number is out of range'),
  too_long: never(422, 'Too long'),
  too_short: never(422, 'Too short'),
  too_many: never(422, 'Too many entries'),
  too_few: never(422, 'Too few entries'),
  too_deep: never(422, 'Nested too deep'),
  duplicate: never(422, 'An entry is repeated'),

  // Idempotency.
  outcome_unclear: later(503, 'Whether the request was carried out is not known', 1),
  idempotency_key_missing: never(422, 'This client must send an Idempotency-Key'),
  idempotency_mismatch: never(422, 'The key or external_id belongs to another request'),
  idempotency_in_progress: later(409, 'The same request is still being written', 1),

  // The sale.
  goods_unknown: never(422, 'The goods are not in the catalogue'),
  goods_ambiguous: never(422, 'Several goods of the catalogue fit'),
  invalid_quantity: never(422, 'The quantity cannot be used'),
  line_total_negative: never(422, 'The discount exceeds the line'),
  total_too_large: never(422, 'The sum is too large'),
  payment_mismatch: never(422, 'Payment and total differ'),
  payment_method_unsupported: never(422, 'The payment method is not supported'),
  card_data_refused: never(422, 'Card numbers do not belong here'),
  provider_unknown: never(422, 'The payment provider is not set up'),
  no_provider_fits: never(422, 'No payment provider takes this payment'),
  payment_not_cancellable: never(409, 'The payment can no longer be cancelled'),
  payment_of_one_receipt: never(409, 'The payment is for one receipt'),
  payment_not_capturable: never(409, 'The payment does not wait for its capture'),
  payment_not_deliverable: never(409, 'The payment is not paid'),
  payment_not_confirmable: never(409, 'The payment does not wait for a code'),
  payment_not_settled: later(409, 'The money of the sale is still on its way', 5),
  refund_by_provider: never(409, 'Only the payment provider can give the money back'),
  partial_refund_unsupported: never(422, 'The payment provider gives back the whole sum only'),
  payment_changed: never(409, 'The payment has changed since it was read'),
  payment_not_manual: never(409, 'The payment does not wait for a person'),
  cashier_unknown: never(422, 'Unknown cashier'),
  branch_unknown: never(422, 'Unknown branch'),
  device_unknown: never(422, 'Unknown device'),
  callback_secret_missing: never(422, 'The secret that signs callbacks is not known yet'),
  field_unsupported: never(422, 'The cash register has no place for this in the fiscal document'),
  receipt_refused: never(422, 'The cash register refused the receipt'),
  no_device: later(503, 'No cash register is configured that could serve this', 30),

  // Receipts of years ago.
  receipt_archived: never(410, 'The receipt has left for an archive'),

  // Refunds and cancelling.
  refund_of_refund: never(409, 'A refund cannot be refunded'),
  fiscal_sign_missing: never(409, 'The receipt has no fiscal sign'),
  nothing_left: never(409, 'Nothing is left to refund'),
  terminal_gone: never(409, 'The fiscal module that sold is gone'),
  receipt_not_cancellable: never(409, 'The receipt can no longer be cancelled'),
  exceeds_left: never(422, 'More than is left to refund'),
  not_divisible: never(422, 'No part of the line is worth this sum'),
  line_unknown: never(422, 'The receipt has no such line'),
  label_not_left: never(422, 'The label is not among those that are left'),
  // The catalogue.
  differs_from_classifier: never(422, 'It differs from the classification register'),
  precondition_failed: never(412, 'It has changed since it was read'),
  sync_closed: never(409, 'The synchronisation is closed'),
  import_unreadable: never(422, 'The file cannot be read'),
  import_busy: later(503, 'Other imports are under way', 10),

  // Addresses and secrets.
  secret_required: never(422, 'A changed address needs its secret again, in the same call'),

  // The fleet.
  group_unknown: never(422, 'Unknown group'),
  address_not_allowed: never(422, 'The address lies outside the networks that may be called'),
  last_signing_key: never(409, 'It is the last signing key of the caller'),
  code_taken: never(409, 'The code belongs to another one'),
  in_use: never(409, 'Something still depends on it'),
  archived: never(409, 'It is archived'),
  device_limit_reached: never(422, 'No more registers can be registered'),
  client_limit_reached: never(422, 'No more clients can be made'),
  storage_limit_reached: never(422, 'The quota of stored receipts is used up'),
  device_key_refused: never(422, 'The cash register refused the API key'),
  device_not_activated: never(422, 'The cash register is not activated'),
  device_module_not_ready: never(422, 'The fiscal module of the cash register is not initialised'),
  device_subscription_expired: never(422, 'The subscription of the cash register has expired'),
  device_tin_mismatch: never(422, 'The cash register belongs to another taxpayer'),
  device_terminal_taken: never(422, 'The terminal is already a live device'),
  device_other_terminal: never(422, 'Another terminal answers than that of this device'),
  device_not_a_register: never(422, 'Nothing there speaks the local fiscal API'),
  device_refused: never(422, 'The cash register refused the call'),
  device_unreachable: later(503, 'The cash register does not answer', 30),
  device_call_pending: later(503, 'No relay could ask the cash register in time', 10),
  device_not_enrolled: never(409, 'The cash register has not dialled in yet'),
  device_replaced: never(409, 'The register counts as replaced'),
  device_disabled: never(409, 'The register is disabled'),
  device_claimed_elsewhere: never(409, 'Another merchant holds the terminal of the register'),
  terminal_not_claimed_elsewhere: never(409, 'No other merchant holds the terminal'),
  challenge_missing: never(409, 'No challenge of the terminal is open'),
  terminal_not_proven: never(422, 'The receipt at the OFD does not prove the terminal'),
  ofd_unavailable: later(503, 'The OFD does not answer', 60),
  terminal_still_watched: never(409, 'The register itself says what it has delivered'),
  device_not_at_rest: later(409, 'The register may still be given receipts', 10),
  device_lane_not_empty: later(409, 'Receipts still depend on the register', 30),

  // Webhooks.
  webhook_limit_reached: never(422, 'No more webhooks can be registered'),
  webhook_disabled: never(409, 'The webhook is disabled'),

  // Messages to buyers.
  channel_not_configured: never(422, 'The merchant has no account for this channel'),
  account_disabled: never(409, 'The account is disabled'),
  address_suppressed: never(409, 'No messages go to this address'),
  message_limit_reached: never(409, 'No more messages can be sent for this receipt'),

  // Clients of the API.
  scope_not_held: never(403, 'The calling token lacks a scope that this needs'),
  own_client: never(409, 'The change would shut the calling client out'),
  weak_key: never(422, 'Signatures of this public key prove nothing'),
  no_authentication_key: never(409, 'The client has no active key for private_key_jwt'),

  // Decisions of an operator.
  attempt_open: never(409, 'The attempt is still open'),
  attempt_closed: never(409, 'The attempt is no longer open'),
  already_resolved: never(409, 'The attempt has been resolved'),
  lane_unsettled: later(409, 'The request may still be on its way to the register', 60),
  sequence_taken: never(409, 'The sequence belongs to another receipt'),
  receipt_not_registered: never(409, 'The receipt is not registered'),
  fiscal_complete: never(409, 'The receipt has its fiscal sign'),
  device_not_replaced: never(409, 'The register does not count as replaced'),
  device_not_blocked: never(409, 'The register is not blocked'),
  device_not_linked: never(409, 'The register is called at its address'),
  contradicts_reading: never(422, 'It contradicts what the register counted'),
  contradicts_link: never(422, 'It contradicts the verification link'),

  // Rules of the local fiscal API.
  'E-003': fiscal('Cash is not allowed for these goods', 'E-003'),
  'E-004': fiscal('Marked goods need a label', 'E-004'),
  'E-005': fiscal('Unknown receipt type', 'E-005'),
  'E-006': fiscal('The receipt has no items', 'E-006'),
  'E-007': fiscal('A refund must name its sale', 'E-007'),
  'E-008': fiscal('The paid sum is below 0', 'E-008'),
  'E-009': fiscal('The paid sum exceeds the total', 'E-009'),
  'E-010': fiscal('The total VAT differs from the items', 'E-010'),
  'E-011': fiscal('The item has no name', 'E-011'),
  'E-012': fiscal('The price must be above 0', 'E-012'),
  'E-013': fiscal('The SPIC is not in the classification register', 'E-013'),
  'E-014': fiscal('The package code does not belong to the SPIC', 'E-014'),
  'E-015': fiscal('The VAT percent must be 0 or 12', 'E-015'),
  'E-016': fiscal('The VAT sum is wrong', 'E-016'),
  'E-017': fiscal('One label is needed for each piece', 'E-017'),
  'E-018': fiscal('Marked goods are sold by the piece', 'E-018'),
  'F-003': never(422, 'The fiscal module has no room for the sum'),
  'F-005': never(422, 'The fiscal module refused the document'),

  // Ours.
  internal: { status: 500, title: 'Internal error', retryable: true },
  database_unavailable: later(503, 'The database is not available', 5),
  shutting_down: later(503, 'The server is shutting down', 5),
  service_unavailable: later(503, 'The service is not available', 5),
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof PROBLEMS;

/** Whether the text is a code of the catalogue. */
export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code);
}
