import { runGatewayCommand } from './lib/gateway-command.mjs';
import { runProgram } from './lib/user-error.mjs';

/** npm run audit:verify [-- <file of heads>]: checks all audit trails of the database that the programs of this folder use. */
await runProgram(() => runGatewayCommand('programs/audit/main.js', process.argv.slice(2)));
