import { Injectable } from '@nestjs/common';
import { HoldLanes, type Program } from '../../operator/restore/hold-lanes.js';
import { NothingLost } from '../../operator/restore/nothing-lost.js';
import { evidenceOf } from './decision-file.js';
import type { ReadCommand } from './read-arguments.js';
import { RestoreDecisions } from './restore-decisions.js';
import { RestoreLists } from './restore-lists.js';
import { reasonOf } from './restore-reason.js';
import { UsageError } from './usage-error.js';

/** After a copy of the database was put back (docs/backup.md): for all merchants, so only at the machine itself. */
@Injectable()
export class RestoreCommands {
  constructor(
    private readonly lanes: HoldLanes,
    private readonly lists: RestoreLists,
    private readonly decisions: RestoreDecisions,
    private readonly nothingLost: NothingLost,
  ) {}

  /** @returns what is printed @throws UsageError */
  async run({ verb, values }: ReadCommand, program: Program): Promise<unknown> {
    switch (verb) {
      case 'begin':
        return { ...(await this.lanes.begin(program, reasonOf(values))), ...(await this.lanes.status()) };
      case 'status':
        return this.lanes.status();
      case 'list':
        return this.lists.receipts(values);
      case 'gaps':
        return this.lists.gaps(values);
      case 'resolve':
        return this.decisions.resolve(values, program);
      case 'adopt':
        return this.decisions.adopt(values, program);
      case 'nothing-lost': {
        const grounds = { reason: reasonOf(values), evidence: await evidenceOf(values['evidence']) };
        const data = await this.nothingLost.execute(program, grounds);
        if (data === null)
          throw new UsageError('No relay has compared the database since restore begin: see restore status.');
        return { data };
      }
      default:
        return { released: await this.lanes.end(program, reasonOf(values)), ...(await this.lanes.status()) };
    }
  }
}
