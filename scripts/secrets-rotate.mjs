import { runGatewayCommand } from './lib/gateway-command.mjs';
import { runProgram } from './lib/user-error.mjs';

/** npm run secrets:rotate: seals every secret of the database anew under the first key of SECRETS_KEY (docs/security.md). */
await runProgram(() => runGatewayCommand('programs/secrets/main.js', process.argv.slice(2)));
