import { Prisma } from './generated/client.js';
import { onBehalfOfAll, scopedMerchant } from './merchant-scope.js';
import { isRefusedByServer } from './sql-errors.js';

/** Timers that are due at the same moment ring within so long. */
const GATHERED_MS = 5;

type AskDatabase = (statement: Prisma.Sql) => Promise<Record<string, unknown>[]>;

interface Asked {
  place: number;
  question: Prisma.Sql;
}

interface Waiting extends Asked {
  resolve: (answer: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * What loops ask again and again while there is mostly nothing to do: questions that come within a few milliseconds are one statement. It is always
 * the same one, with a mark for each question that is asked now, so that its plan is kept; a question without a mark is not worked out.
 */
export class StandingQuestions {
  /** Of each text that was ever asked: a few. */
  private readonly places = new Map<string, number>();
  /** By their places: all that are asked together. */
  private readonly known = new Map<number, Prisma.Sql>();
  /** Places of those that were refused, or too slow: asked by themselves until they are answered. */
  private readonly apart = new Set<number>();
  private waiting: Waiting[] = [];

  constructor(private readonly askDatabase: AskDatabase) {}

  /** @param question an expression of one value, whose text is the same each time: only its values differ */
  async ask(question: Prisma.Sql): Promise<unknown> {
    if (scopedMerchant() !== null) throw new Error('a loop asks across merchants; a request does not');
    const place = this.places.get(question.sql) ?? this.places.size;
    this.places.set(question.sql, place);
    if (this.apart.has(place)) return this.answerAlone({ place, question });
    // With its values of the last time, where it is not asked.
    this.known.set(place, question);
    return new Promise((resolve, reject) => {
      if (this.waiting.length === 0) setTimeout(() => onBehalfOfAll(() => void this.answerAll()), GATHERED_MS);
      this.waiting.push({ place, question, resolve, reject });
    });
  }

  private async answerAll(): Promise<void> {
    const asked: Waiting[] = [];
    for (const one of this.waiting)
      // The same question with other values has a statement of its own.
      if (asked.some(({ place }) => place === one.place)) this.leaveAlone(one);
      else asked.push(one);
    this.waiting = [];
    try {
      const answers = await this.answersTo(asked);
      for (const { place, resolve } of asked) resolve(answers[String(place)]);
    } catch (error) {
      // One that the server refuses, or that is too slow, leaves the others their answers: also one that only stands beside them.
      if (isRefusedByServer(error)) for (const one of asked) this.leaveAlone(one);
      else for (const { reject } of asked) reject(error);
    }
  }

  private leaveAlone(asked: Waiting): void {
    this.answerAlone(asked).then(asked.resolve, asked.reject);
  }

  /** Its mere text may be what is refused (a right, a lock): the others are asked without it from then on. */
  private async answerAlone({ place, question }: Asked): Promise<unknown> {
    try {
      const [row] = await this.askDatabase(Prisma.sql`SELECT (${question}) AS answer`);
      if (!row) throw new Error('the database returned nothing');
      this.apart.delete(place);
      return row['answer'];
    } catch (error) {
      if (isRefusedByServer(error)) {
        this.apart.add(place);
        this.known.delete(place);
      }
      throw error;
    }
  }

  private async answersTo(asked: readonly Asked[]): Promise<Record<string, unknown>> {
    const now = new Map(asked.map(({ place, question }) => [place, question]));
    const inOrder = [...new Map([...this.known, ...now])].sort(([one], [other]) => one - other);
    const answers = inOrder.map(([place, question]) => {
      const marked = Prisma.sql`CASE WHEN ${now.has(place)}::bool THEN (${question}) END`;
      return Prisma.sql`${marked} AS ${Prisma.raw(`"${String(place)}"`)}`;
    });
    const [row] = await this.askDatabase(Prisma.sql`SELECT ${Prisma.join(answers)}`);
    if (!row) throw new Error('the database returned nothing');
    return row;
  }
}
