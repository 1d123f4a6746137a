import { runGatewayCommand } from './lib/gateway-command.mjs';
import { ROOT } from './lib/paths.mjs';
import { reportOnStandardError } from './lib/progress.mjs';
import { runProgram } from './lib/user-error.mjs';

/** npm run cli -- merchant create …: the gateway's command line, on the database that the programs of this folder use. */
await runProgram(() => {
  reportOnStandardError();
  const options = { defaults: { LOG_LEVEL: 'warn' }, cwd: ROOT };
  return runGatewayCommand('programs/cli/main.js', process.argv.slice(2), options);
});
