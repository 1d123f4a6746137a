import { generate } from './lib/generate.mjs';
import { runProgram } from './lib/user-error.mjs';

await runProgram(generate);
