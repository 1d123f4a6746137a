/** Payme signs its calls with HTTP Basic of `login:key`. */
export { basicAuthorization as paymeAuthorization, isBasicCaller as isPaymeCaller } from '../basic-auth.js';
