import { prepareWorkspace } from './lib/prepare.mjs';
import { runProgram } from './lib/user-error.mjs';

await runProgram(prepareWorkspace);
