/**
 * Runs tasks of the same key one after the other, those of different keys together. Refunds of one sale exclude each
 * other in the database anyway; here they wait without holding a connection each, which sales would then lack.
 */
export class OneAtATime {
  private readonly last = new Map<string, Promise<unknown>>();

  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.last.get(key) ?? Promise.resolve();
    const own = before.then(task, task);
    this.last.set(key, own);
    try {
      return await own;
    } finally {
      if (this.last.get(key) === own) this.last.delete(key);
    }
  }
}
