import { ask, change, read, renew } from './advice.js';

/** Who calls: tokens, signatures, people and their rights. */
export const OF_CALLERS = {
  invalid_request: change('`Authorization` has another form.', 'Send `Authorization: Bearer <token>`, once.'),
  unauthenticated: renew('The request carries no token.', 'Get a token at `/oauth/token` and send it.'),
  invalid_token: renew(
    'The token has expired, was revoked or is none of this gateway.',
    'Get a new token; repeat under the same key.',
  ),
  signature_missing: change('This client signs its writes.', 'Sign the request (RFC 9421), or use the SDK with a key.'),
  signature_invalid: change(
    'The signature does not fit the request or the key.',
    'Compare signature base, key id and algorithm; `fgw doctor` tries yours. Check what a proxy changes.',
  ),
  signature_expired: renew(
    '`created` is too old or lies ahead.',
    'Synchronise the clock, sign anew, repeat under the same key.',
  ),
  component_missing: change('The signature covers too little.', 'Cover the components that `detail` names.'),
  digest_mismatch: change(
    '`Content-Digest` belongs to other bytes.',
    'Compute it over the bytes that are sent, after serialising.',
  ),
  nonce_replayed: renew(
    'A signature counts once.',
    'Sign each repeat anew, with a new nonce, under the same Idempotency-Key.',
  ),
  insufficient_scope: ask(
    'The token lacks the scope that `detail` names.',
    'Ask for it with the token; else ask the merchant’s owner to give it to the client.',
  ),
  merchant_suspended: ask(
    'The merchant may read, not sell.',
    'Ask the operator of the gateway; keep the sales and their keys until it is lifted.',
  ),
  forbidden: ask('The caller may not do this.', 'Ask the owner of the merchant whether it should.'),
  ip_not_allowed: ask(
    'The client’s allow list does not have your address.',
    'Ask the merchant’s owner to add it; `detail` shows it.',
  ),

  login_failed: renew(
    'Address, password or code is wrong, or attempts were too many.',
    'Try again with care; after that the owner of the merchant invites or recovers.',
  ),
  session_invalid: renew('The session has ended.', 'Log in again, then repeat.'),
  session_needed: ask('Clients of the API may not do this.', 'A person does it in the console.'),
  csrf_header_missing: change(
    'A session changes something only with `Fgw-Console: 1`.',
    'Send the header; programs use a token instead.',
  ),
  origin_refused: change(
    'The request comes from a page that is not the console.',
    'Call the API from your server with a token.',
  ),
  login_needs_https: ask(
    'Passwords do not go over plain http.',
    'The operator of the gateway sets `CONSOLE_URL` to https.',
  ),
  merchant_needed: change('The user has several merchants.', 'Name one in the header `Fgw-Merchant`.'),
  merchant_refused: read('`Fgw-Merchant` is none of your merchants.', 'Read yours with `GET /v1/me`.'),
  step_up_needed: renew(
    'This needs a second factor that was shown just now.',
    '`POST /v1/session/step-up`, then the same request.',
  ),
  second_factor_refused: renew(
    'The code or passkey was wrong or used.',
    'Take the next code; check the clock of the telephone.',
  ),
  password_weak: change('The password is too easy to guess.', 'Take a longer one, best from a password manager.'),
  invitation_invalid: ask('The link was used, withdrawn, or is too old.', 'Ask its sender for a new one.'),
  login_first: renew('The address has an account already.', 'Log in, then open the invitation.'),
  already_member: read('The user belongs to the merchant.', 'Change the roles instead of inviting.'),
  last_owner: change('A merchant keeps at least one owner.', 'Make another owner first.'),
  last_factor: change('A user keeps at least one second factor.', 'Add another one first.'),
  approval_needed: ask(
    'Four eyes are set for this.',
    'A second user approves what `Location` names; then send the same request again.',
  ),
  approval_closed: read(
    'It was approved, refused, or is older than a day.',
    'Read it; make the request anew where it is still wanted.',
  ),
  own_request: ask('A user does not approve an own request.', 'A second user with the scopes does.'),

  scope_not_held: ask(
    'A client or key is given only scopes that its maker has.',
    'Leave the scope out, or let a user who has it do this.',
  ),
  own_client: change('The client would lock itself out.', 'Let another client or a person change it.'),
  client_limit_reached: ask(
    'The merchant has as many clients as it may have.',
    'Delete one that is not used, or ask the operator of the gateway.',
  ),
  weak_key: change('The key is of a weak or broken kind.', 'Make a new pair: Ed25519, or ECDSA P-256.'),
  last_signing_key: change(
    'The client must sign, and this is its last key.',
    'Add the next key, use it, then disable this one.',
  ),
  no_authentication_key: change(
    '`private_key_jwt` needs an active key.',
    'Register a key of use `authentication` first.',
  ),
};
