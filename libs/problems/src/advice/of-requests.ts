import { ask, change, read, repeat } from './advice.js';

/** What is wrong with the request itself, and what the server cannot do at the moment. */
export const OF_REQUESTS = {
  malformed_json: change('The body ends too early, or is no JSON in UTF-8.', 'Send what a JSON library writes.'),
  malformed_request: change(
    'The HTTP message itself cannot be read.',
    'Use an HTTP library; check what a proxy alters.',
  ),
  invalid_header: change('`detail` names the header and its fault.', 'Correct the header. The key stays free.'),
  not_found: read(
    'The path has no such thing, or it belongs to another merchant.',
    'Compare the id, the path and the merchant of your token.',
  ),
  method_not_allowed: change('The path has other methods.', 'Take one of the header `Allow`.'),
  not_acceptable: change(
    'No form that `Accept` allows exists here.',
    'Ask for another media type; a long receipt is PDF, text or page.',
  ),
  request_timeout: repeat(
    'The body arrived too slowly.',
    'Repeat it under the same key; check the network if it comes back.',
  ),
  conflict: read(
    'Something else has changed the same thing.',
    'Read it again, then decide whether your change still holds.',
  ),
  payload_too_large: change(
    'The body is longer than this path takes.',
    'Send less at once: pages, batches, a file import.',
  ),
  uri_too_long: change('The address is too long.', 'Use fewer or shorter parameters.'),
  unsupported_media_type: change(
    'The path takes another `Content-Type`.',
    'JSON is `application/json`; files name their own type.',
  ),
  headers_too_large: change(
    'All headers together are too long.',
    'Leave out cookies and headers that the API does not know.',
  ),
  too_many_requests: repeat(
    'The client, the merchant or the address sends faster than its limit.',
    'Wait for `Retry-After`, then repeat under the same key; spread the load.',
  ),
  quota_exceeded: repeat(
    'The receipts of the merchant for this day are used up.',
    'Repeat under the same key after `Retry-After`, or ask the operator of the gateway for a larger quota.',
  ),
  unknown_field: change(
    '`pointer` names a field that this operation does not have.',
    'Remove it or correct its spelling.',
  ),
  required: change('`pointer` names a field that must be there.', 'Add it.'),
  invalid_type: change('The value has another JSON type.', 'Money and counts are numbers, ids and codes are texts.'),
  invalid_format: change('The text has another form.', '`detail` shows the form: date, id, TIN, URL …'),
  invalid_text: change('Control characters or broken Unicode.', 'Remove them; send UTF-8.'),
  invalid_value: change('The value is none of those that are allowed.', 'Take one that `detail` lists.'),
  out_of_range: change(
    'The number is too small or too large.',
    'Keep within the bounds of `detail`; money is whole tiyin.',
  ),
  too_long: change('The text is longer than allowed.', 'Shorten it.'),
  too_short: change('The text is shorter than allowed.', 'Send the whole value.'),
  too_many: change('The list has too many entries.', 'Divide it over several requests; a sale stays one request.'),
  too_few: change('The list has too few entries.', 'Send at least as many as `detail` says.'),
  too_deep: change('Objects or lists stand too deep in each other.', 'Flatten `metadata`.'),
  duplicate: change(
    'An entry stands twice in the list.',
    'Send it once; add up the quantities of equal lines yourself.',
  ),
  precondition_failed: read(
    'It was changed after you read it (`If-Match`).',
    'Read it, apply your change again, send the new `ETag`.',
  ),

  internal: repeat(
    'A fault of the gateway. Whether something was stored is not known.',
    'Repeat under the same key. Give the operator of the gateway `request_id` if it stays.',
  ),
  outcome_unclear: repeat(
    'The database broke off during the commit.',
    'Repeat under the same key: it finds the receipt, or makes it once. Never use a new key.',
  ),
  database_unavailable: repeat('The database is away.', 'Repeat under the same key after `Retry-After`.'),
  shutting_down: repeat(
    'This gateway stops, another one takes over.',
    'Repeat under the same key, on a new connection.',
  ),
  service_unavailable: repeat(
    'The gateway is busy; nothing is known to have been stored.',
    'Repeat under the same key after `Retry-After`.',
  ),
  import_busy: repeat(
    'As many imports are running as may run.',
    'Repeat after `Retry-After`; import one file after the other.',
  ),
  import_unreadable: change(
    'The file is no CSV or XLSX as described, or is damaged.',
    'Export it again; `detail` names the place.',
  ),
  storage_limit_reached: ask(
    'No receipt can be stored any more.',
    'Ask the operator of the gateway for a larger quota; then repeat under the same key.',
  ),
};
