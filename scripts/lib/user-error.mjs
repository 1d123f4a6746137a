/** Something the person at the keyboard can mend: the message is one clear sentence and is printed without a stack. */
export class UserError extends Error {
  /** @param {string} sentence */
  constructor(sentence) {
    super(sentence);
    this.name = 'UserError';
  }
}

/**
 * Runs a program's main function; a `UserError` becomes one sentence on stderr, anything else keeps its stack.
 * @param {() => Promise<unknown>} main
 */
export async function runProgram(main) {
  // Output cut off (`npm start | head`, a closed terminal) must not end us before the data is safe.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  try {
    await main();
  } catch (error) {
    if (error instanceof UserError) console.error(`\n✖ ${error.message}`);
    else console.error(error);
    process.exitCode = 1;
  }
}
