import type { Command } from 'commander';
import type { World } from '../session.js';
import { addTail } from './tail.js';

export function addEvents(program: Command, world: World): void {
  const events = program.command('events').description('everything that has happened, in order');
  addTail(events, world, { description: 'all events, as they happen', types: null });
}
