/** Nothing but the call of a procedure without arguments, under comments. */
const CALL = /^(?:--[^\n]*\n|\s)*(CALL (\w+)\(\));\s*$/;

/**
 * A migration that calls a procedure fills old rows in pieces: the procedure commits each, so it runs outside of any transaction. Killed, it is
 * called again by the next run, and has to go on from what it committed.
 * @param {import('pg').Client} client outside of any transaction
 * @param {{ sql: string }} migration
 * @returns {{ fate: string, apply: () => Promise<void> } | null} null for any other migration
 */
export function piecesOf(client, { sql }) {
  const [, call, procedure] = CALL.exec(sql) ?? [];
  if (call === undefined) return null;
  return {
    fate: `${procedure} did not come to its end: the next run goes on with it`,
    apply: async () => {
      // A bound for one statement is none for all the pieces that this one commits.
      await client.query('SET statement_timeout = 0');
      await client.query(call);
      await client.query('RESET statement_timeout');
    },
  };
}
