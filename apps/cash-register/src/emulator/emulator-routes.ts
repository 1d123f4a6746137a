import type { FastifyInstance } from 'fastify';
import { errorBody } from '#fiscal-module';
import { readFaults, showRule, type FaultBoard } from './faults.js';

/**
 * POST /emulator/faults replaces the rules in force, GET lists them. Only on an emulator.
 *
 * @param all the boards of all registers of this process: `{registers: "all"}` replaces the rules of each
 */
export function addEmulatorRoutes(server: FastifyInstance, faults: FaultBoard, all: () => readonly FaultBoard[]): void {
  server.post('/emulator/faults', (request, reply) => {
    const reading = readFaults(request.body);
    if (reading.kind === 'invalid') {
      return reply.code(400).send(errorBody({ kind: 'refused', code: 'S-003', message: reading.message }));
    }
    for (const board of reading.isForAll ? all() : [faults]) board.replace(reading.rules);
    return { success: true, rules: faults.list().map(showRule) };
  });
  server.get('/emulator/faults', () => ({ success: true, rules: faults.list().map(showRule) }));
}
