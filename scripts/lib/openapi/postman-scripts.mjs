/** Scripts of the Postman collection. They run in Postman and in newman, in their sandbox. */

/** Before each request: a token, unless the present one still lives. */
export const FETCH_TOKEN = `
const isOurs = !pm.request.auth || pm.request.auth.type === 'bearer';
if (isOurs && Date.now() > Number(pm.collectionVariables.get('access_token_until') || 0)) {
  const pair = pm.variables.replaceIn('{{client_id}}:{{client_secret}}');
  pm.sendRequest({
    url: pm.variables.replaceIn('{{base_url}}/oauth/token'),
    method: 'POST',
    header: { Authorization: 'Basic ' + btoa(pair) },
    body: { mode: 'urlencoded', urlencoded: [{ key: 'grant_type', value: 'client_credentials' }] },
  }, (error, response) => {
    if (error || response.code !== 200) throw new Error('No access token: ' + (error || response.text()));
    const { access_token: token, expires_in: seconds } = response.json();
    pm.collectionVariables.set('access_token', token);
    pm.collectionVariables.set('access_token_until', Date.now() + seconds * 800);
  });
}`;

/** After each answer: the ids that it shows are those that other requests use. */
export const KEEP_IDS = `
const names = {
  rcp: 'receipt_id', pay: 'payment_id', dev: 'device_id', brn: 'branch_id', csh: 'cashier_id', cli: 'client_id_shown',
  whk: 'webhook_id', evt: 'event_id', key: 'key_id', att: 'attempt_id', grp: 'group_id', syn: 'sync_id',
  imp: 'import_id', mac: 'message_account_id', sup: 'suppression_id',
};
const type = pm.response.headers.get('Content-Type') || '';
if (pm.response.code < 300 && type.startsWith('application/json')) {
  const body = pm.response.json();
  const shown = body && Array.isArray(body.data) ? body.data[0] : body;
  const id = shown && typeof shown.id === 'string' ? shown.id : '';
  const name = names[id.split('_')[0]];
  if (name) pm.collectionVariables.set(name, id);
}`;

/** @param {number[]} statuses that the description names */
export function answersAsDescribed(statuses) {
  return `pm.test('answered as described', () => pm.expect([${statuses.join(', ')}]).to.include(pm.response.code));`;
}

export const SUCCEEDS = `pm.test('succeeds', () => pm.expect(pm.response.code).to.be.below(300));`;

/** Asked again until the gateway is done with it. */
export const UNTIL_FINAL = `
const { status } = pm.response.json();
const tries = Number(pm.variables.get('tries') || 0);
if (['accepted', 'sending', 'awaiting_payment'].includes(status) && tries < 60) {
  pm.variables.set('tries', tries + 1);
  setTimeout(() => {}, 500);
  pm.execution.setNextRequest(pm.info.requestName);
} else {
  pm.test('registered', () => pm.expect(status).to.equal('registered'));
}`;
