import { generateClient } from './lib/generate.mjs';
import { runProgram } from './lib/user-error.mjs';

await runProgram(generateClient);
