import { readArguments } from './lib/arguments.mjs';
import { generate } from './lib/generate.mjs';
import { runProgram } from './lib/user-error.mjs';

await runProgram(async () => {
  readArguments('Usage: npm run generate');
  await generate();
});
