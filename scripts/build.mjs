import { readArguments } from './lib/arguments.mjs';
import { prepareWorkspace } from './lib/prepare.mjs';
import { runProgram } from './lib/user-error.mjs';

await runProgram(async () => {
  readArguments('Usage: npm run build');
  await prepareWorkspace();
});
